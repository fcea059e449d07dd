"""Where two arrays differ first, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dynhp.selfcheck.contents import shown

__all__ = ["Spare", "array_difference", "aspect_difference"]

Spare: TypeAlias = Callable[[Any, Any], bool]
"""Says of two unequal leaves that their difference does not count."""


def array_difference(a: Any, b: Any, path: str, spare: Spare) -> str | None:
    """Say where ``b`` differs from ``a``; equal leaves all over an array may be spared.

    >>> array_difference(np.ones(2), np.array([1.0, 2.0]), "w", lambda x, y: False)
    'w[1]: 1.0 and 2.0 (1 of 2 elements)'
    """
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{path}: {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}"
    if isinstance(a, np.ma.MaskedArray):
        masks = np.ma.getmaskarray(a), np.ma.getmaskarray(b)
        if np.any(masks[0] != masks[1]):
            return array_difference(*masks, f"{path}.mask", spare)
        a, b = a.filled(), b.filled()
    for name in a.dtype.names or ():
        place = array_difference(a[name], b[name], f"{path}[{name!r}]", spare)
        if place is not None:
            return place
    return None if a.dtype.names else _element_difference(a, b, path, spare)


def _element_difference(a: Any, b: Any, path: str, spare: Spare) -> str | None:
    unequal = ~_same_elements(a, b)
    if not unequal.any():
        return None
    index = tuple(int(i) for i in np.argwhere(unequal)[0])
    first, second = a[index].item(), b[index].item()
    alike = np.all(a[unequal] == first) and np.all(b[unequal] == second)
    if alike and spare(first, second):
        return None
    place = f"[{', '.join(map(str, index))}]" if index else ""
    count = f" ({np.sum(unequal)} of {unequal.size} elements)" if index else ""
    return f"{path}{place}: {shown(first)} and {shown(second)}{count}"


def _same_elements(a: Any, b: Any) -> Any:
    if a.dtype.kind == "c":
        return _same_elements(a.real, b.real) & _same_elements(a.imag, b.imag)
    same = np.asarray(a == b)
    if a.dtype.kind == "f":  # 0.0 == -0.0, but 1 divided by them is not the same
        same = same & (np.signbit(a) == np.signbit(b))
    return same | ((a != a) & (b != b))


def aspect_difference(a: Any, b: Any, path: str) -> str | None:
    """What a tensor's numbers do not show: bfloat16 and float32 may hold the same ones."""
    for aspect in ("dtype", "device"):
        kinds = str(getattr(a, aspect, "")), str(getattr(b, aspect, ""))
        if kinds[0] != kinds[1]:
            return f"{path}: {aspect} {kinds[0]} and {kinds[1]}"
    return None
