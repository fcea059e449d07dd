"""The laws of trainers, one file per law; may import the core and ``difference``."""

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
