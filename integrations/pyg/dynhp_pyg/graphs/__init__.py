"""Graphs: the form every graph takes, and the files it is read from; imports no other folder."""
