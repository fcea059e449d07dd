"""The AdaGrid paper, reproduced: its runs, its tables compared with ours, and what the differences are worth."""
