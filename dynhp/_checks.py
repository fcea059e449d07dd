"""Checks of arguments: each refuses what cannot work, and says the rule, the value, the way out."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

from dynhp.errors import SettingsError

__all__ = ["require_count", "pickled_factory", "require_at_least", "require_time_limit"]


def require_count(what: str, value: object) -> None:
    """Refuse what is no whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingsError(f"{what} must be a whole number above 0, got {value!r}")


def require_at_least(least: int, what: str, value: Any) -> int:
    """Refuse what is no whole number, or one below ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise SettingsError(f"{what} must be a whole number of {least} or more, got {value!r}")
    return value


def require_time_limit(what: str, value: Any) -> float | None:
    """Refuse what is neither a number of seconds above 0 nor None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SettingsError(
            f"{what} must be a number of seconds above 0, or None for no limit, got {value!r}"
        )
    return value


def pickled_factory(
    executor: str,
    make_trainer: Any,
    *,
    dumps: Callable[[Any], bytes] = pickle.dumps,
    way_out: str = (
        "use a function or class of a module, or functools.partial of one, instead of a lambda or "
        "a closure"
    ),
) -> bytes:
    """Pickle what builds a trainer for the workers of an executor; refuse what cannot be sent."""
    if not callable(make_trainer):
        raise SettingsError(
            f"{executor}: make_trainer must be a function that builds a fresh trainer, got "
            f"{make_trainer!r}"
        )
    try:
        return dumps(make_trainer)
    except Exception as error:
        raise SettingsError(
            f"{executor}: make_trainer must be picklable, because workers are other processes, got "
            f"{make_trainer!r} ({type(error).__name__}: {error}); {way_out}"
        ) from error
