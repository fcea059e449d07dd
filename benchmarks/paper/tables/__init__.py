"""The tables of the reproduction, a file for each kind."""
