"""The cost of a run as a record: the epochs of each kind, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynhp.records.units import EPOCHS, Unit

__all__ = ["Cost", "Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Epochs trained: those of the final model, and the overhead of tries that were not kept.

    What was trained on the main line and left behind, because a round started from an earlier
    state, is ``abandoned``.

    >>> cost = Cost(main_line=500, overhead=400, candidates=9)
    >>> cost.total, cost.runs, cost.of_complete_search
    (900, 1.8, 0.2)
    """

    main_line: int
    overhead: int
    abandoned: int = 0
    candidates: int | None = field(default=None, compare=False)  # of a complete search
    unit: Unit = field(default=EPOCHS, repr=False, compare=False)  # or steps

    @property
    def total(self) -> int:
        """All epochs trained."""
        return self.main_line + self.overhead + self.abandoned

    @property
    def runs(self) -> float:
        """The cost in runs of one model."""
        return self._runs(None)

    @property
    def of_complete_search(self) -> float | None:
        """The share of a complete search, which trains one model per grid value; None: unknown."""
        return self.runs / self.candidates if self.candidates else None

    def in_runs(self, planned: int | None = None) -> str:
        """The runs as text: of one that has not ended, in runs of the length that was planned.

        >>> Cost(main_line=10, overhead=15).in_runs(), Cost(main_line=10, overhead=15).in_runs(100)
        ('2.50 runs', '0.25 runs so far')
        """
        under_way = planned is not None and planned > self.main_line
        return f"{self._runs(planned):.2f} runs" + " so far" * under_way

    def _runs(self, planned: int | None) -> float:
        length = max(self.main_line, planned or 0)
        return self.total / length if length else 0.0

    def text(self, planned: int | None = None) -> str:
        """All of it as text, of a run that was planned for so many epochs.

        >>> Cost(main_line=10, overhead=15).text(100)
        '10 epochs on the main line + 15 overhead = 25: 0.25 runs so far'
        """
        left = f" + {self.abandoned} abandoned" if self.abandoned else ""
        text = (
            f"{self.main_line} {self.unit} on the main line + {self.overhead} overhead{left} = "
            f"{self.total}: {self.in_runs(planned)}"
        )
        if not self.candidates:
            return text
        share = self._runs(planned) / self.candidates
        return f"{text}, {share:.0%} of a complete search of {self.candidates}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cost of a run before it starts, at least and at most; mostly they are the same.

    They differ where the number of candidates depends on the course of the run (neighbours at an
    end of an axis, a peak that lies inside or not, a value that ``then`` leads off the grid), or
    where that of rounds does (``OnPlateau``).

    >>> from dynhp import DynamicGridAdapter, Neighbors, lowest, plan_for
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.2, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, proposer=Neighbors())
    >>> plan = plan_for(adapter, 20)
    >>> plan.exact, plan.least.total, plan.most.total
    (False, 26, 30)
    """

    least: Cost
    most: Cost

    @property
    def exact(self) -> bool:
        """Whether the cost is known to the epoch."""
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.most) if self.exact else f"at least {self.least}; at most {self.most}"
