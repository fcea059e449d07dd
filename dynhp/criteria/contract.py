"""The contract of a criterion, and what the algorithm does with one: ask it for a score."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from dynhp._checks import require_name, takes
from dynhp.errors import ContractError, DynhpError, MetricError, SettingsError, nearest, shown
from dynhp.records import Metrics, Progress


@runtime_checkable
class Criterion(Protocol):
    """Any callable like this; higher is better, and what is not finite is worst.

    It may have an attribute ``metrics``, the names it reads: they are then checked before the
    run and watched during tries, and a try in which one is not finite has failed.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> def slope(series, progress):  # how much the loss falls within the try
    ...     return series[0]["loss"] - series[-1]["loss"]
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.2, 0.9]}, criterion=slope,
    ...                              adapt_every=4, try_for=2)
    >>> adapter.step().candidate
    Candidate(lr=0.2)
    """

    def __call__(self, series: Sequence[Metrics], progress: Progress) -> float:
        """Score a try: ``series`` has the metrics after each of its epochs, oldest first."""
        ...


def require_criterion(criterion: object) -> None:
    """Refuse what cannot be called with a series and the progress."""
    rule = "a criterion must be a callable of (series, progress), got "
    if not callable(criterion) or isinstance(criterion, type):
        raise SettingsError(
            f"{rule}{shown(criterion)}; for a metric write highest('name') or lowest('name')"
        )
    if hasattr(criterion, "forward"):
        raise SettingsError(
            f"{rule}{shown(criterion)}; a loss function belongs into training: report what it "
            "gives, as in report(loss=...), and write minimize='loss' or lowest('loss')"
        )
    name = getattr(criterion, "__name__", "")
    makes_criteria = getattr(sys.modules["dynhp.criteria"], name, None)  # such as lowest
    if inspect.isfunction(criterion) and criterion is makes_criteria:
        raise SettingsError(f"{rule}the function {name} itself; call it, as in {name}('val_loss')")
    if not takes(criterion, 2):
        raise SettingsError(
            f"{rule}{shown(criterion)}, which takes other arguments; series has the metrics after "
            "each epoch of a try, the last ones in series[-1]"
        )


def score(criterion: Criterion, series: Sequence[Metrics], progress: Progress) -> float:
    """What the criterion makes of a series, as a float; an error says when it is at fault."""
    try:
        result = criterion(series, progress)
    except DynhpError:
        raise
    except Exception as failure:
        name = failure.args[0] if isinstance(failure, KeyError) and failure.args else None
        if name is not None and name not in series[-1]:
            raise MetricError(
                f"there is no metric {shown(name)}{nearest(name, series[-1])}"
            ) from None
        raise ContractError(
            f"the criterion {shown(criterion)} raised {type(failure).__name__}: "
            f"{str(failure)[:200]}; "
            "it gets the metrics after each epoch of a try, the last ones in series[-1]"
        ) from failure
    try:
        if isinstance(result, str):  # "0.5" is not a number, though float() reads it
            raise TypeError
        return float(result)
    except (TypeError, ValueError, OverflowError):
        raise ContractError(
            f"the criterion {shown(criterion)} must return a number, got {shown(result)}"
        ) from None


def metrics_of(criterion: Criterion) -> tuple[str, ...]:
    """The names a criterion says it reads; none if it says nothing."""
    names: Any = getattr(criterion, "metrics", ())
    if type(names) is tuple:  # asked for in every round
        return names
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise SettingsError(
            f"the attribute metrics of {shown(criterion)} must be a sequence of names, got "
            f"{shown(names)}"
        )
    return tuple(names)


def read_metric(metrics: Metrics, name: str) -> float:
    """A metric by its name, or an error that names the nearest one."""
    try:
        return metrics[name]
    except KeyError:
        raise MetricError(f"there is no metric {shown(name)}{nearest(name, metrics)}") from None


def metric_name(metric: object) -> str:
    """The name of a metric; refused if it is no string or empty."""
    return require_name("a metric's name", metric)
