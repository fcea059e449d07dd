"""Weights averaged over the last epochs, which the recommended preset judges tries by."""

from __future__ import annotations

import torch
from torch import Tensor

from dynhp_pyg.checks import whole

__all__ = ["Average"]


class Average:
    """An exponential moving average of weights over about ``over`` epochs.

    >>> average = Average(torch.zeros(1), over=2)
    >>> average.update(torch.ones(1))
    >>> average.weights.tolist()
    [0.5]
    """

    def __init__(self, weights: Tensor, *, over: int) -> None:
        self.weights = weights.detach().clone()
        self._share = 1.0 / whole("averaged_over", over, least=1)

    def update(self, weights: Tensor) -> None:
        """Include the weights of one more epoch."""
        with torch.inference_mode():
            self.weights.lerp_(weights, self._share)
