"""How far a run is, which criteria may look at."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is: main-line epochs done, and planned if that is known.

    ``tail`` says how many of a series' last entries were measured in a try's tail.

    >>> Progress(epoch=30, planned=40).share
    0.75
    """

    epoch: int
    planned: int | None = None
    tail: int = field(default=0, repr=False)

    @property
    def share(self) -> float | None:
        """The part of the planned epochs that is done, or None if no plan is known."""
        return None if self.planned is None else self.epoch / self.planned
