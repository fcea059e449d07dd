"""Arguments of executors with workers, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dynhp.errors import SettingsError

__all__ = ["named", "pickled", "seconds", "whole"]


def whole(who: str, name: str, value: Any, *, least: int) -> int:
    """A whole number that is large enough."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SettingsError(
            f"{who}: {name} must be a whole number of {least} or more, got {value!r}"
        )
    return value


def seconds(who: str, value: Any) -> float | None:
    """A limit of time, or none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SettingsError(
            f"{who}: time_limit must be a number of seconds above 0, or None for no limit, "
            f"got {value!r}"
        )
    return value


def pickled(who: str, make_trainer: Any, *, dumps: Callable[[Any], bytes], way_out: str) -> bytes:
    """What builds a trainer, as it is sent to the workers."""
    if not callable(make_trainer):
        raise SettingsError(
            f"{who}: make_trainer must be a function that builds a fresh trainer, "
            f"got {make_trainer!r}"
        )
    try:
        return dumps(make_trainer)
    except Exception as error:
        raise SettingsError(
            f"{who}: make_trainer must be picklable, for workers are other processes, got "
            f"{make_trainer!r} ({type(error).__name__}: {error}); {way_out}"
        ) from error


def named(make_trainer: Callable[[], object]) -> str:
    """What builds a trainer, in few words.

    >>> from dynhp.testing import NoisyQuadratic
    >>> named(NoisyQuadratic)
    'NoisyQuadratic'
    """
    return getattr(make_trainer, "__qualname__", None) or repr(make_trainer)
