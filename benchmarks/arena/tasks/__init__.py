"""The tasks: small models on real data, each a trainer of steps whose rate is called ``lr``."""
