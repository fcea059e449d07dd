"""The laws of trainers, one file per law, and the experiments they are made of."""

from dynhp.testing.laws.check import (
    LAWS,
    LawReport,
    Verdict,
    check_trainer,
    trainer_checks,
    verdicts,
)
from dynhp.testing.laws.probe import Make

__all__ = ["LAWS", "LawReport", "Make", "Verdict", "check_trainer", "trainer_checks", "verdicts"]
