"""A trigger for plateaus: a metric that has stopped improving."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

from dynhp._checks import require_count, require_number, require_whole, require_word
from dynhp.criteria.contract import metric_name, read_metric
from dynhp.records import Metrics
from dynhp.triggers.contract import Due, LineSoFar


class _Best(NamedTuple):
    value: float | None = None
    number: int = -1  # of the epoch after which it was measured


@dataclass(frozen=True, slots=True)
class OnPlateau:
    """A round when a metric has not improved for ``patience`` epochs.

    All of the main line counts for what is best, but epochs are counted anew after a round.

    Args:
        metric: its name.
        patience: how many epochs without an improvement are a plateau.
        min_delta: what counts as an improvement is more than this.
        cooldown: how many epochs after the tries of a round are not counted.
        better: whether "lower" or "higher" is better.

    >>> losses = [0.9, 0.5, 0.6, 0.5]
    >>> line = LineSoFar([(number, {"loss": loss}) for number, loss in enumerate(losses)], epoch=4)
    >>> OnPlateau("loss", patience=2)(line)
    Due(because='loss has not improved for 2 epochs', healthy=2, alarm=False)
    """

    metric: str
    _: KW_ONLY
    patience: int
    min_delta: float = 0.0
    cooldown: int = 0
    better: Literal["lower", "higher"] = "lower"

    def __post_init__(self) -> None:
        metric_name(self.metric)
        object.__setattr__(self, "patience", require_count("OnPlateau: patience", self.patience))
        cooldown = require_whole("OnPlateau: cooldown", self.cooldown, least=0)
        object.__setattr__(self, "cooldown", cooldown)
        require_number(
            "OnPlateau: min_delta",
            self.min_delta,
            "be a number from 0 on",
            lambda delta: 0 <= delta < math.inf,
        )
        require_word("OnPlateau: better", self.better, ("lower", "higher"))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The one it reads."""
        return (self.metric,)

    def __call__(self, line: LineSoFar) -> Due | None:
        """When neither an improvement nor a round is recent."""
        best = line.fold(self, _Best(), self._better_of)
        if best.value is None:
            return None
        measured = line.measured[-1][0] + 1  # what was not measured may have been an improvement
        waited = measured - max(best.number + 1, line.since + self.cooldown)
        if waited < self.patience:
            return None
        because = f"{self.metric} has not improved for {waited} epochs"
        return Due(because=because, healthy=best.number + 1)

    def _better_of(self, best: _Best, number: int, metrics: Metrics) -> _Best:
        value = read_metric(metrics, self.metric)
        gain = value if self.better == "higher" else -value
        improves = math.isfinite(gain) and (
            best.value is None or gain > best.value + self.min_delta
        )
        return _Best(gain, number) if improves else best
