"""Checks of arguments: what cannot work is refused with the rule, the value and the way out."""

from __future__ import annotations

from typing import Any

from optuna.samplers import BaseSampler

from dynhp.errors import SettingsError, shown
from dynhp_optuna.quiet import quiet_optuna

__all__ = ["require_count", "require_sampler"]


def require_count(what: str, value: Any) -> int:
    """The value as an int, refused where it is not a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingsError(f"{what} must be a whole number above 0, got {shown(value)}")
    return value


def require_sampler(who: str, sampler: Any) -> None:
    """Refuse what does not make a sampler of a seed."""
    if isinstance(sampler, BaseSampler):
        raise SettingsError(
            f"{who}: sampler must be a class, or a function of seed that makes a sampler, got the "
            f"ready {shown(sampler)}, whose random numbers a resumed run could not repeat; write "
            f"{type(sampler).__name__}, or functools.partial({type(sampler).__name__}, ...)"
        )
    rule = f"{who}: sampler must be a class such as TPESampler, or a function of seed"
    if not callable(sampler):
        raise SettingsError(f"{rule}, got {shown(sampler)}")
    try:
        with quiet_optuna(who):
            made = sampler(seed=0)
    except Exception as error:
        raise SettingsError(
            f"{rule}, but {shown(sampler)} called with seed=0 raises {type(error).__name__}: "
            f"{error}"
        ) from error
    if not isinstance(made, BaseSampler):
        raise SettingsError(f"{rule}, but {shown(sampler)} called with seed=0 gives {shown(made)}")
