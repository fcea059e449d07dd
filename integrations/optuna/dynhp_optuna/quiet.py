"""Optuna inside dynhp: nothing on the screen, and what it warns of in its log is a hint, once."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from optuna.exceptions import ExperimentalWarning

from dynhp.errors import advise

__all__ = ["quiet_optuna"]


class Collected(logging.Handler):
    """Keeps what is logged as a warning or worse."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message."""
        self.messages.append(record.getMessage())


@contextmanager
def quiet_optuna(who: str) -> Iterator[None]:
    """Optuna's log is not shown in here; its warnings become hints of ``who`` afterwards.

    That a part of Optuna is experimental is no news to a user who has chosen it by its name.

    >>> import optuna
    >>> with quiet_optuna("example"):
    ...     study = optuna.create_study()  # which would say so on standard error
    """
    logger, collected = logging.getLogger("optuna"), Collected()
    before = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [collected], False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            yield
    finally:
        logger.handlers, logger.propagate = before
    for message in collected.messages:
        # The same sentence about another trial is the same hint.
        about = "".join(letter for letter in message if not letter.isdigit())
        advise(f"{who}: Optuna says: {message}", about=("optuna", who, about))
