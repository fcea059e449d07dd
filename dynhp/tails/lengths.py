"""How long tries and their tails are: whole numbers of epochs, or shares of the planned run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dynhp._checks import is_number, is_whole, plain_int
from dynhp.errors import SettingsError, shown
from dynhp.tails.contract import Tail, tail_length
from dynhp.triggers import Every

__all__ = ["HasLengths", "epochs_of", "require_length", "require_one_stage"]
__all__ += ["require_try_for", "restarts", "tail_epochs", "try_epochs"]


def require_length(what: str, value: Any) -> float:
    """A whole number of epochs, or a share of the run between 0 and 1; refused where it is neither.

    >>> require_length("try_for", 0.05)
    0.05
    """
    value = plain_int(value)
    if is_whole(value, least=1) or (is_number(value) and 0 < value < 1):
        return value
    raise SettingsError(
        f"{what} must be a whole number above 0, or a share of the run between 0 and 1, got "
        f"{shown(value)}"
    )


def require_try_for(value: Any, tail: object) -> float:
    """The length of a try, which may be 0 where there is a tail to judge it by."""
    if value == 0 and not isinstance(value, bool):
        if tail is None:
            raise SettingsError(
                "try_for must be a whole number above 0, or a share of the run between 0 and 1, "
                f"got {shown(value)}; only a tail can judge a try of no length"
            )
        return 0
    return require_length("try_for", value)


def epochs_of(what: str, length: float, planned: int | None, *, least: int = 1) -> int:
    """The epochs of a length: a share is rounded to the nearest whole number.

    >>> epochs_of("try_for", 0.05, 90), epochs_of("try_for", 0.05, 4), epochs_of("try_for", 7, 90)
    (4, 1, 7)
    """
    if isinstance(length, int):
        return length
    if planned is None:
        raise SettingsError(
            f"{what}: a share of the run needs its planned epochs; call run(n), or give epochs= to "
            "the adapter"
        )
    return max(least, round(length * planned))


class HasLengths(Protocol):
    """What says how long tries are: an adapter."""

    adapt_every: int | None
    when: Any
    try_for: float
    tail: Tail | None
    then: Any
    keep: Any
    randomness: Any
    epochs: int | None
    dry_run: bool


def try_epochs(adapter: HasLengths, planned: int | None = None) -> int:
    """The epochs of a try that are trained with its own value."""
    planned = adapter.epochs if planned is None else planned
    epochs = epochs_of(f"try_for={adapter.try_for}", adapter.try_for, planned)
    if adapter.adapt_every is not None and epochs > adapter.adapt_every:
        raise SettingsError(
            f"try_for must be at most adapt_every, got try_for={adapter.try_for} of {planned} "
            f"epochs, which is {epochs}, and adapt_every={adapter.adapt_every}"
        )
    period = None if isinstance(adapter.try_for, int) else _shortest_period(adapter.when)
    if period is not None and epochs > period:
        raise SettingsError(
            "try_for must be at most the epochs from one round to the next, got "
            f"try_for={adapter.try_for} of {planned} epochs, which is {epochs}, and "
            f"{Every(period)!r} in {shown(adapter.when)}; make the tries shorter, or n larger"
        )
    return epochs


def _shortest_period(trigger: object) -> int | None:
    """The epochs from one round to the next of the most frequent ``Every`` in it, however deep."""
    if isinstance(trigger, Every):
        return trigger.n
    periods = map(_shortest_period, getattr(trigger, "triggers", ()))
    return min((period for period in periods if period is not None), default=None)


def tail_epochs(adapter: HasLengths, planned: int | None = None) -> int:
    """The epochs of each tail."""
    return tail_length(adapter.tail, adapter.epochs if planned is None else planned)


def restarts(adapter: HasLengths) -> bool:
    """Whether the main line goes on from the round's origin, whichever try wins.

    Under common random numbers the way back to the origin would lead through the winner's copy
    again, so that is taken; not so where the winner's value is corrected.
    """
    if adapter.dry_run or adapter.try_for == 0:
        return True
    another = adapter.randomness == "independent" or adapter.then is not None
    return adapter.keep == "value" and another


def require_one_stage(stages: Sequence[object]) -> None:
    """Refuse tries that are judged on the way where they have a tail."""
    if len(stages) > 1:
        raise SettingsError(
            f"with a tail all tries are judged once, after it, but this selection judges them in "
            f"{len(stages)} stages; use Best() or BestByMargin(), or leave out the tail"
        )
