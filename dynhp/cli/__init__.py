"""The command ``dynhp``, one file for each sub-command; imports all other folders."""
