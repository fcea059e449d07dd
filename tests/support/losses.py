"""A trainer whose loss is written down for every way to train it, and runs of that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynhp import DynamicGridAdapter, lowest
from dynhp.records import Candidate, Round
from dynhp.triggers import At
from tests.support.reference import Diary

OTHER = 9.0  # the loss after all that no table names


class LossTable(Diary):
    """After two epochs with x=1 and one with x=2, its loss is that of "112" in the table."""

    def __init__(self, table: Mapping[str, float]) -> None:
        super().__init__(dict.fromkeys((1, 2, 3), 0.0))
        self.table = table

    def metrics(self) -> dict[str, float]:
        return {"loss": self.table.get("".join(map(str, self.diary)), OTHER)}


class Thirds:
    """A tail of two epochs with x=3."""

    def length(self, planned: int | None, unit: str) -> int:
        return 2

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        return candidate.but({"x": 3})


# Two epochs with x=1; then x=2 is kept, whose first epoch of three is the best of all. So it is
# with a tail, whose epochs are better still and no part of the main line.
FIRST_IS_BEST = {"1": 5.0, "11": 4.0, "112": 1.0, "1122": 2.0, "11222": 3.0, "112111": 5.5}
FIRST_IS_BEST |= {"112223": 0.01, "1122233": 0.02}
BEST = {"try_for": 3, "when": At([2, 6]), "start_from": "best", "max_rounds": 2}


def settings_of(**changes: Any) -> dict[str, Any]:
    """The settings of a run with rounds after two epochs and after six, from the best state."""
    known = {"space": {"x": [1, 2]}, "initial": {"x": 1}, "record_every": 50, "check": "off"}
    return {"criterion": lowest("loss"), **known, **BEST, **changes}


def table_adapter(table: Mapping[str, float] = FIRST_IS_BEST, **changes: Any) -> DynamicGridAdapter:
    """The adapter of such a run."""
    return DynamicGridAdapter(LossTable(table), **settings_of(**changes))


def trainer_of(adapter: DynamicGridAdapter) -> LossTable:
    """Its trainer."""
    assert isinstance(adapter.trainer, LossTable)
    return adapter.trainer


def tried(history: Any) -> list[Round]:
    """The rounds with tries."""
    return [round_ for round_ in history if round_.tries]


def starts(history: Any) -> list[tuple[int, int]]:
    """Where the rounds with tries started, and how many epochs each left behind."""
    return [(round_.start, round_.abandoned) for round_ in tried(history)]


def starts_inside(history: Any) -> int:
    """How many rounds started from an epoch before the end of a try that was kept."""
    rounds, inside = list(history), 0
    for place, round_ in enumerate(rounds):
        for before in rounds[:place] if round_.abandoned else ():
            if before.tries and not before.restarted:
                inside += before.start < round_.start < before.start + before.winner.own.epochs
    return inside
