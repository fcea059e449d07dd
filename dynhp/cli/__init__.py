"""The sub-commands of ``dynhp``, one file each, with a function ``register(subparsers)``."""
