"""The command ``dynhp linkpred``, a file for each sub-command."""
