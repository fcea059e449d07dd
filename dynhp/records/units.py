"""What the passes of a run are called: epochs, or the steps of a loop over steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

__all__ = ["EPOCHS", "HasUnit", "Unit", "one_of", "read_unit", "unit_of"]

Unit: TypeAlias = Literal["epochs", "steps"]
"""What the passes of a run are called wherever a run is shown: "epochs" or "steps"."""
EPOCHS: Unit = "epochs"


class HasUnit(Protocol):
    """What was trained for a number of epochs or steps: a round."""

    @property
    def unit(self) -> Unit:
        """Which of the two it was."""
        ...


def unit_of(rounds: Sequence[HasUnit]) -> Unit:
    """What the passes of these rounds are called; epochs if there is no round yet.

    >>> unit_of([])
    'epochs'
    """
    return rounds[-1].unit if rounds else EPOCHS


def read_unit(word: object) -> Unit:
    """A word of a file as one of the two, or an error.

    >>> read_unit("steps")
    'steps'
    """
    if word == "steps" or word == EPOCHS:
        return "steps" if word == "steps" else EPOCHS
    raise ValueError(f"a unit is 'epochs' or 'steps', not {str(word)[:80]!r}")


def one_of(unit: Unit) -> str:
    """The word for one of them.

    >>> one_of("epochs"), one_of("steps")
    ('epoch', 'step')
    """
    return unit.removesuffix("s")
