"""The command ``dynhp linkpred``, a file for each sub-command; imports all other folders."""
