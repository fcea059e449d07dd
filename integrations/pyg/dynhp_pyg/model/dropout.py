"""Dropout noise: drawn once for an epoch, shared by all tries that train this epoch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

__all__ = ["DropoutNoise", "RecentNoise"]

T = TypeVar("T")

_LEVELS = 1 << 16
_MOST_NUMBERS = 1 << 25  # of 2 to 8 bytes each
_MOST_EPOCHS = 1000


class DropoutNoise:
    """One epoch's dropout noise: a rate, and random numbers in the order they are asked for.

    The rate is rounded to a multiple of 2**-16, and the scale is that of the rounded rate, so
    that expectations are exact.

    >>> noise = DropoutNoise(0.5, np.random.SFC64(0), torch.device("cpu"))
    >>> noise.scale, noise.keep(torch.ones(4)).shape
    (2.0, torch.Size([4]))
    """

    __slots__ = ("_bits", "_device", "_dropped", "_made", "_place", "numbers", "scale", "whole")

    def __init__(self, rate: float, bits: np.random.BitGenerator, device: torch.device) -> None:
        self._bits = bits
        self._device = device
        self._dropped = min(round(rate * _LEVELS), _LEVELS - 1)
        self._made: list[Any] = []
        self._place = 0
        self.numbers = 0  # drawn so far
        self.whole = True  # False after numbers were drawn and an error lost what they were for
        self.scale = _LEVELS / (_LEVELS - self._dropped)

    def keep(self, values: Tensor) -> Tensor:
        """Give a copy of the values, each set to 0 with the rate's probability, *not* scaled.

        The caller multiplies by the scale where that costs least.
        """
        if self._dropped == 0:
            return values
        return self._masked(values, self.once(lambda: self._draw(values.numel())))

    def keep_anew(self, values: Tensor) -> Tensor:
        """Do as ``keep`` with numbers that are not remembered: for use inside ``once``."""
        return values if self._dropped == 0 else self._masked(values, self._draw(values.numel()))

    def once(self, make: Callable[[], T]) -> T:
        """Give what ``make`` makes of the next numbers; after ``rewind`` it is not made again.

        ``make`` must not call ``once`` or ``keep`` itself.
        """
        if self._place == len(self._made):
            assert self.whole, "once within once, or after an error"
            self.whole = False
            self._made.append(make())
            self.whole = True
        made: T = self._made[self._place]
        self._place += 1
        return made

    def rewind(self) -> DropoutNoise:
        """Go back to the first number: what was made is given again, in the same order."""
        self._place = 0
        return self

    def _draw(self, count: int) -> Tensor:
        self.numbers += count
        return torch.from_numpy(self._bits.random_raw((count + 3) // 4).view(np.int16)[:count])

    def _masked(self, values: Tensor, words: Tensor) -> Tensor:
        noise = words.to(self._device, torch.float32).view_as(values)
        # A random int16 has one of 2**16 levels; the lowest `dropped` of them mean 0. This is
        # the backward pass of a threshold: 0 where noise <= limit, else the value; one vector pass.
        limit = self._dropped - 1 - _LEVELS // 2
        kept: Tensor = torch.ops.aten.threshold_backward(values, noise, limit)
        return kept


class RecentNoise:
    """A memory of the noise of the epochs since the state that was set last.

    Tries of a round start from one state and share their random numbers, so all but the first
    find them here. A run that never goes back to a state remembers nothing. Noise depends on the
    seed, the epoch and the rate alone: what is forgotten is drawn again, and a trainer gives the
    same numbers with and without this memory.

    >>> recent = RecentNoise()
    >>> def noise(epoch):
    ...     return recent.of(0.5, seed=0, epoch=epoch, bits=np.random.SFC64, device="cpu")
    >>> noise(epoch=4) is noise(epoch=4)
    False
    >>> recent.since(epoch=4)
    >>> noise(epoch=4) is noise(epoch=4)
    True
    """

    def __init__(self, *, most: int = _MOST_NUMBERS) -> None:
        self._most = most
        self._open = False
        self._furthest = -1  # the last epoch that was drawn
        self._kept: dict[tuple[float, int, int, str], DropoutNoise] = {}

    def since(self, epoch: int) -> None:
        """Forget the noise before this epoch; a run that has gone back once may do so again."""
        self._open = self._open or epoch <= self._furthest
        self._kept = {key: noise for key, noise in self._kept.items() if key[2] >= epoch}

    def of(
        self,
        rate: float,
        *,
        seed: int,
        epoch: int,
        bits: Callable[[], np.random.BitGenerator],
        device: str,
    ) -> DropoutNoise:
        """Give an epoch's noise, at its first number; it is valid until it is given again."""
        key = (rate, seed, epoch, device)
        self._furthest = max(self._furthest, epoch)
        known = self._kept.get(key)
        if known is not None and known.whole:
            return known.rewind()
        self._kept.pop(key, None)  # an epoch that was interrupted is drawn again
        noise = DropoutNoise(rate, bits(), torch.device(device))
        # Without dropout there is nothing to remember, and nothing would ever fill the memory.
        if self._open and noise.scale > 1 and self._has_room():
            self._kept[key] = noise
        return noise

    def _has_room(self) -> bool:
        if len(self._kept) >= _MOST_EPOCHS:
            return False
        return sum(noise.numbers for noise in self._kept.values()) < self._most

    def __reduce__(self) -> tuple[Callable[[], RecentNoise], tuple[()]]:
        return partial(RecentNoise, most=self._most), ()  # a copy draws its own noise
