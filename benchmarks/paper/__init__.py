"""The AdaGrid paper, reproduced: its runs, its tables compared with ours, its gains tested."""
