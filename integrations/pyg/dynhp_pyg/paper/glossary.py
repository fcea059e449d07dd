"""What a stranger must know to read the tables: the paper, its words, and where we differ."""

from __future__ import annotations

__all__ = ["DEVIATIONS", "GLOSSARY", "PAPER", "PLACEBO"]

PAPER = (
    "Tim Poštuvan, Jiaxuan You, Mohammadreza Banaei, Rémi Lebret, Jure Leskovec: AdaGrid: Adaptive "
    "Grid Search for Link Prediction Training Objective, 2022, arXiv:2203.16162"
)

GLOSSARY = (
    "AdaGrid 10/1: adapt epochs α = 10, try epochs β = 1. Every α epochs one copy of the model is "
    "trained for β epochs with each of nine edge message ratios, 0.1 to 0.9 (the share of the "
    "training edges that pass messages; the others are to be predicted); the best copy goes on.",
    "Validation and gap: the criterion for the best copy, by its mean over the try epochs: the "
    "highest validation AUC, or the smallest difference between training and validation AUC.",
    "Complete search: nine runs with a fixed ratio each, of which the one that validates best "
    "counts. Random search: one run, the ratio drawn anew every epoch. Fixed 0.5: one run with "
    "this ratio, nothing adapted.",
    "Placebo: as many copies as AdaGrid tries, all with the same value; what it gains is the luck "
    "of choosing among copies.",
    "Relative epochs: all epochs trained, those of losing copies included, against one plain run. "
    "±: half of Student's 95 % interval over seeds.",
)
"""The words of the report, a line each."""

DEVIATIONS = (
    "Known deviations from the authors' code: our tries of a round all start from the same random "
    "state, theirs continue the global stream one after the other; and a losing try never supplies "
    "our reported checkpoint, in theirs it can, as it takes the best validation AUC seen anywhere."
)

PLACEBO = (
    "The placebo's copies draw random numbers of their own, while AdaGrid's tries share theirs; "
    "and the placebo chooses its luckiest copy by validation, also where it is the rival of the "
    "gap criterion."
)
"""How far a placebo is a fair rival."""
