"""When to stop: a metric whose best value lies so far back that no better one is to be expected."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

from dynhp._checks import require_count, require_number, require_word
from dynhp.criteria import Criterion, highest, lowest
from dynhp.criteria.contract import metric_name
from dynhp.errors import MetricError, nearest, shown
from dynhp.records import Metrics
from dynhp.triggers.contract import Due, LineSoFar

_LATEST = 0.1
"""After this share of the longest run the metric must have been there, and ..."""
_PATIENCE = 10
"""... not before so many epochs: what is measured so seldom cannot end a run in time."""


class _Course(NamedTuple):
    """What came of the metric so far; it may be measured every few epochs only."""

    value: float | None = None  # the best, as a gain
    epochs: int = 0  # those of the best
    measured: int = 0  # those of the newest measurement
    since: int = 0  # how often it was measured since the best


@dataclass(frozen=True, slots=True)
class Settled:
    """Ends a run (``until=``) once twice the time of the best value has passed without a better.

    A run that was best after 40 epochs ends after 80. How long it waits grows with the run, so that
    nobody has to know its length beforehand.

    Args:
        metric: its name; a validation loss is the usual one, that of averaged weights the best.
        factor: how many times the time of the best value must have passed.
        least: how often the metric must have been measured since the best value.
        better: whether "lower" or "higher" is better.

    >>> losses = [0.9, 0.5, 0.6, 0.7, 0.6, 0.8, 0.9]
    >>> line = LineSoFar([(number, {"loss": loss}) for number, loss in enumerate(losses)], epoch=7)
    >>> Settled("loss")(line).because
    'loss was best after 2, and 7 have passed without a better one'
    >>> Settled("loss").ends_after(line), Settled("loss", factor=4)(line)
    (7, None)
    """

    metric: str
    _: KW_ONLY
    factor: float = 2.0
    least: int = 5
    better: Literal["lower", "higher"] = "lower"

    def __post_init__(self) -> None:
        metric_name(self.metric)
        require_number(
            "Settled: factor",
            self.factor,
            "be a number above 1",
            lambda factor: 1 < factor < math.inf,
        )
        object.__setattr__(self, "least", require_count("Settled: least", self.least))
        require_word("Settled: better", self.better, ("lower", "higher"))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The one it reads."""
        return (self.metric,)

    @property
    def criterion(self) -> Criterion:
        """By which the best epoch of the run is kept, unless another rule is given for that."""
        return (lowest if self.better == "lower" else highest)(self.metric)

    @property
    def least_epochs(self) -> int:
        """No run that it ends is shorter; one whose metric is never finite may be as short."""
        return self.least

    def __call__(self, line: LineSoFar) -> Due | None:
        """When the best value lies so far back; or if it was never a number, which none follows."""
        course = self._course(line)
        if course.value is None and not course.since:
            self._require_measured(line)
            return None
        ends = self.ends_after(line)
        if course.since < self.least or (ends is not None and course.measured < ends):
            return None
        if course.value is None:
            return Due(because=f"{self.metric} was never finite")
        best = f"{self.metric} was best after {course.epochs}"
        because = f"{best}, and {course.measured} have passed without a better one"
        return Due(because=because, healthy=course.epochs)

    def _require_measured(self, line: LineSoFar) -> None:
        """Refuse a metric that is never there: the run would go on to its limit unsaid."""
        waited = line.measured[-1][0] + 1 if line.measured else 0
        if waited > max(_PATIENCE, (line.planned or 0) * _LATEST):
            raise MetricError(
                f"the run ends by {shown(self.metric)}, and nothing of that name was reported in "
                f"the first {waited}{nearest(self.metric, line.measured[-1][1])}; report it more "
                "often, or end the run by a metric that is there"
            )

    def ends_after(self, line: LineSoFar) -> int | None:
        """After how many epochs the run ends if nothing better comes; None: that is not known.

        If it is measured every few epochs, it ends with the first measurement from there on.
        """
        course = self._course(line)
        if course.value is None:
            return None
        left = max(0, self.least - course.since)
        return max(math.ceil(self.factor * course.epochs), course.measured + left)

    def _course(self, line: LineSoFar) -> _Course:
        return line.fold(self, _Course(), self._further)

    def _further(self, course: _Course, number: int, metrics: Metrics) -> _Course:
        if self.metric not in metrics:
            return course  # what is measured every few epochs is not in all of them
        value = metrics[self.metric]
        gain = value if self.better == "higher" else -value
        if math.isfinite(gain) and (course.value is None or gain > course.value):
            return _Course(gain, number + 1, number + 1)
        return course._replace(measured=number + 1, since=course.since + 1)
