"""Checks of arguments: each refuses what cannot work, and says the rule, the value, the way out."""

from __future__ import annotations

from collections.abc import Iterable

from dynhp.errors import SettingsError, nearest

__all__ = ["one_of", "whole"]


def one_of(
    name: str, value: object, known: Iterable[str], *, error: type[SettingsError] = SettingsError
) -> None:
    """Refuse a value that is not among the known ones, and name the nearest of them.

    >>> one_of("dataset", "coar", ["cora", "citeseer"])
    Traceback (most recent call last):
    dynhp.errors.SettingsError: dataset must be one of the known ones, got 'coar'; \
did you mean 'cora'? Known: 'citeseer', 'cora'
    """
    names = list(known)
    if value not in names:
        raise error(f"{name} must be one of the known ones, got {value!r}{nearest(value, names)}")


def whole(name: str, value: object, *, least: int) -> int:
    """Give a whole number that is large enough, or say what is wrong with it.

    >>> whole("seed", 3, least=0)
    3
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingsError(
            f"{name} must be a whole number, {least} or above, got {value!r}; pass one such as "
            f"{max(least, 1)}"
        )
    return value
