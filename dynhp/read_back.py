"""What a trainer says about itself, checked: the values in force, and its metrics."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any

from dynhp.errors import ContractError, MetricError, ValueNotInForce, nearest, shown
from dynhp.records import Candidate, Metrics, Value
from dynhp.trainer import Trainer

__all__ = ["check_in_force", "check_value", "not_finite", "plain_metrics", "read_metrics"]
__all__ += ["same_value"]


def check_in_force(trainer: object, candidate: Candidate) -> None:
    """Read the values back if the trainer reports them, and stop if one is not in force."""
    # Called after every epoch: isinstance(trainer, ReadsBack) could cost more than training.
    read_back = getattr(trainer, "hyperparameters", None)
    if read_back is None:
        return
    in_force: object = read_back()
    if not isinstance(in_force, Mapping):
        raise ContractError(f"hyperparameters() must map names to values, got {shown(in_force)}")
    missing = [name for name in candidate if name not in in_force]
    for name, wanted in candidate.items():
        if name in in_force:
            check_value(name, wanted, in_force[name], "after training with it")
    _require_still_read(trainer, candidate, missing)


# The names that each trainer has reported so far.
_reported: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


def _require_still_read(trainer: object, candidate: Candidate, missing: list[str]) -> None:
    """Stop the run if a name was read back before and is not any more."""
    try:
        before = _reported.setdefault(trainer, set())
    except TypeError:  # a trainer without a hash, or without room for a weak reference
        return
    for name in missing:
        if name in before:
            raise ValueNotInForce(
                f"{name} is no longer read back after training with it, though it was before; let "
                "hyperparameters() report the same names at all times"
            )
    before.update(name for name in candidate if name not in missing)


def same_value(value: Value, other: Value) -> bool:
    """Whether two values are the same: a float32 holds 0.1 only nearly, and that is in force.

    No more is forgiven than the rounding of float32, and none of it to whole numbers.

    >>> same_value(0.1, 0.10000000149011612), same_value(10_000_000, 10_000_005.0)
    (True, False)
    """
    if value == other:
        return True
    try:
        if isinstance(value, int) or isinstance(other, int):
            return math.isclose(value, other, rel_tol=0, abs_tol=1e-9)  # type: ignore[arg-type]
        return math.isclose(value, other, rel_tol=2**-23)  # type: ignore[arg-type]
    except TypeError:
        return False


def check_value(name: str, wanted: Value, in_force: Value, when: str) -> None:
    """Stop the run if the value in force is not the value wanted."""
    if same_value(in_force, wanted):
        return
    raise ValueNotInForce(
        f"{name} should be {shown(wanted)} but is {shown(in_force)} {when}; something overwrote "
        "it (a "
        "scheduler, a restore, a cached copy of the optimiser's groups) or the setter has no "
        "effect. Remove the scheduler, adapt a scale on top of it, or fix the setter"
    )


def read_metrics(trainer: Trainer) -> Metrics:
    """The trainer's metrics as plain floats, or an error that names the one that is not."""
    metrics = trainer.metrics()
    if type(metrics) is not dict and not isinstance(metrics, Mapping):  # the first one is fast
        raise MetricError(
            f"metrics() must return a mapping of names to floats, got {shown(metrics)}"
        )
    return plain_metrics(metrics)


def plain_metrics(metrics: Mapping[str, Any]) -> Metrics:
    """Metrics as plain floats, or an error that names the one that is not."""
    # The tests for what most metrics are stand here, because a call costs more than they do.
    return {
        name if type(name) is str else _name(name): (
            value if type(value) is float and value == value else _number(name, value)
        )
        for name, value in metrics.items()
    }


def not_finite(metrics: Metrics, watch: tuple[str, ...], epoch: int) -> str | None:
    """Which of these metrics is not finite, in words; None if all are."""
    for name in watch:
        if name not in metrics:
            raise MetricError(f"there is no metric {shown(name)}{nearest(name, metrics)}")
        if not math.isfinite(metrics[name]):
            return f"{name} is {metrics[name]} after epoch {epoch}"
    return None


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise MetricError(
        f"a metric's name must be a string, got {shown(name)}; rename it in metrics()"
    )


def _number(name: str, value: Any) -> float:
    if type(value) is not float:
        value = _float(name, value)
    # The one nan that all records have: those that hold the same object are equal.
    return value if value == value else math.nan


def _float(name: str, value: Any) -> float:
    try:
        if not isinstance(value, str):  # "0.5" is not a number, though float() reads it
            return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last one is a tensor's
        pass
    text = " ".join(shown(value, 80).split())
    raise MetricError(
        f"metric {shown(name)} must be a number, got {text}; give one number, such as the mean "
        "of many"
    )
