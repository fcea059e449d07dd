"""The AdaGrid paper, reproduced: its runs, its tables beside ours, and what they are worth."""
