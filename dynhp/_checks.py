"""Checks of arguments: each refuses what cannot work, and says the rule, the value, the way out."""

from __future__ import annotations

from dynhp.errors import SettingsError

__all__ = ["require_count"]


def require_count(what: str, value: object) -> None:
    """Refuse what is no whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingsError(f"{what} must be a whole number above 0, got {value!r}")
