"""Graphs: the one form every graph takes, and the files it is read from."""
