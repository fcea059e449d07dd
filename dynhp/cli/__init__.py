"""The command ``dynhp``, one file for each sub-command."""
