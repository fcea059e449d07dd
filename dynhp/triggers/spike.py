"""A trigger for spikes: a metric that jumps away from its recent values, or is not finite."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from dynhp._checks import require_number, require_whole, require_word
from dynhp.criteria.contract import metric_name, read_metric
from dynhp.errors import SettingsError, shown
from dynhp.records import Metrics
from dynhp.triggers.contract import Due, LineSoFar

_LEAST_DEVIATION = 1e-3  # of the mean


@dataclass(frozen=True, slots=True)
class OnSpike:
    """A round when a metric jumps far above its recent values; one that is not finite always does.

    With ``factor``, a spike is more than ``factor`` times the median of the last ``window`` values
    (of fewer at the beginning). With ``sigmas``, it is that many standard deviations above their
    mean, once there are ``window`` of them. A standard deviation counts as a thousandth of the mean
    at least, so that not every rise is a spike after values that hardly vary; after zeros alone
    none is. If higher is better, a spike goes down: below the median divided by ``factor``.

    Args:
        metric: its name.
        window: with how many values before it a value is compared.
        factor: how many times the median is too much; above 1.
        sigmas: in its place, how many standard deviations are too much.
        better: whether "lower" or "higher" is better.
        lag: by how many epochs the metric is behind the state: 1 for a loss that was measured
            before the last update, 0 for one that is measured after the epoch.

    >>> line = LineSoFar([(0, {"loss": 0.5}), (1, {"loss": 0.4}), (2, {"loss": 2.0})], epoch=3)
    >>> OnSpike("loss", factor=3)(line)
    Due(because='loss is 2 after 0.45', healthy=2, alarm=True)
    """

    metric: str
    _: KW_ONLY
    window: int = 10
    factor: float | None = None
    sigmas: float | None = None
    better: Literal["lower", "higher"] = "lower"
    lag: int = 0

    def __post_init__(self) -> None:
        metric_name(self.metric)
        window = require_whole("OnSpike: window", self.window, least=2)
        object.__setattr__(self, "window", window)
        require_word("OnSpike: better", self.better, ("lower", "higher"))
        object.__setattr__(self, "lag", require_whole("OnSpike: lag", self.lag, least=0))
        if (self.factor is None) == (self.sigmas is None):
            raise SettingsError(
                "OnSpike needs one limit, factor=3.0 (times the median) or "
                f"sigmas=6.0 (standard deviations), got factor={shown(self.factor)} and "
                f"sigmas={shown(self.sigmas)}"
            )
        if self.factor is not None:
            rule = "be a number above 1"
            require_number("OnSpike: factor", self.factor, rule, lambda x: 1 < x < math.inf)
        else:
            rule = "be a number above 0"
            require_number("OnSpike: sigmas", self.sigmas, rule, lambda x: 0 < x < math.inf)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The one it reads."""
        return (self.metric,)

    def __call__(self, line: LineSoFar) -> Due | None:
        """When the newest value is too far from those before it."""
        if line.now is None:
            return None
        value = read_metric(line.now, self.metric)
        if not math.isfinite(value):
            return _alarm(line, f"{self.metric} is {value}", self.lag)

        recent = line.measured[-1 - self.window : -1]
        known = [metrics.get(self.metric, math.nan) for _, metrics in recent]
        usual = self._usual([each for each in known if math.isfinite(each)])
        if usual is None:
            return None
        middle, far = usual
        away = value - middle if self.better == "lower" else middle - value
        if not away > far:
            return None
        return _alarm(line, f"{self.metric} is {value:.4g} after {middle:.4g}", self.lag)

    def _usual(self, known: list[float]) -> tuple[float, float] | None:
        """What is usual, and how far from it is too far; None if there is too little to say."""
        if self.sigmas is not None:
            if len(known) < self.window:
                return None
            mean = math.fsum(known) / len(known)
            variance = math.fsum((value - mean) ** 2 for value in known) / len(known)
            deviation = max(math.sqrt(variance), _LEAST_DEVIATION * abs(mean))
            return (mean, self.sigmas * deviation) if deviation else None
        if not known:
            return None

        ordered = sorted(known)
        half = len(known) // 2
        median = ordered[half] if len(known) % 2 else (ordered[half - 1] + ordered[half]) / 2
        assert self.factor is not None
        share = self.factor - 1 if self.better == "lower" else 1 - 1 / self.factor
        return median, share * abs(median)


@dataclass(frozen=True, slots=True)
class NotFinite:
    """A rescue when the main line raised, or when one of these metrics is not finite.

    >>> NotFinite(("loss",))(LineSoFar([(0, {"loss": math.inf})], epoch=1)).because
    'loss is inf'
    """

    metrics: tuple[str, ...]

    def __call__(self, line: LineSoFar) -> Due | None:
        """When the newest epoch failed."""
        if line.failure is not None:
            return Due(because=line.failure, healthy=line.epoch, alarm=True)
        measured: Metrics = line.now or {}
        for name in self.metrics:
            if not math.isfinite(measured.get(name, 0.0)):
                return _alarm(line, f"{name} is {measured[name]}")
        return None


def _alarm(line: LineSoFar, because: str, lag: int = 0) -> Due:
    return Due(because=because, healthy=max(0, line.epoch - 1 - lag), alarm=True)
