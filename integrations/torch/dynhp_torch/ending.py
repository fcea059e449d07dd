"""Averaged weights as the ending of a training that a framework owns: scored, kept, delivered."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

import torch
from torch import nn

from dynhp.loops import Part
from dynhp.loops.parts import Parts, global_generators
from dynhp.tails.averaging import Averaged
from dynhp_torch.averaging import AveragedWeights, Feed
from dynhp_torch.parts.attributes import attributes_part
from dynhp_torch.parts.generators import torch_generators

__all__ = ["AverageEnding", "average_ending"]

_MEASURED = 16
"""On how many batches of the training data statistics are measured again."""


class AverageEnding:
    """The average of a training's weights, and what it takes to make it the model.

    Args:
        model: whose weights are averaged.
        share: over about which last share of all steps so far.
        batches: begins a pass over the training data.
        feed: lets the model see a batch as training does.
        drawn: what is drawn from for that, beside the global generators, as parts of a state.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> ending = AverageEnding(model, 0.5, batches=list)
    >>> for weight in (0.0, 1.0, 1.0, 2.0):
    ...     _ = nn.init.constant_(model.weight, weight); ending.weights.update()
    >>> with ending.as_model(): model.weight.item()
    1.5
    >>> model.weight.item(); ending.deliver(); model.weight.item()
    2.0
    1.5
    """

    def __init__(
        self,
        model: nn.Module,
        share: float,
        *,
        batches: Callable[[], Iterable[Any]],
        feed: Feed | None = None,
        drawn: Sequence[Part] = (),
    ) -> None:
        self.weights = AveragedWeights(model, share=share)
        self._batches = batches
        self._feed = feed
        own = attributes_part(lambda: model.modules(), name="attributes of the model")
        self._drawn = Parts([own, *global_generators(), *torch_generators(), *drawn])

    @contextmanager
    def as_model(self) -> Iterator[None]:
        """Let the model have the averaged weights, with statistics measured again."""
        if not self.weights.begun:
            yield
            return
        with ExitStack() as swapped:
            with torch.inference_mode(False):  # what is copied there could not be trained with
                batches = swapped.enter_context(self._measuring())
                swapped.enter_context(self.weights.swapped(batches=batches, feed=self._feed))
            try:
                yield
            finally:
                with torch.inference_mode(False):
                    swapped.close()

    def deliver(self) -> None:
        """Give the model the averaged weights for good."""
        if self.weights.begun:
            with self._measuring() as batches:
                self.weights.deliver(batches=batches, feed=self._feed)

    @contextmanager
    def _measuring(self) -> Iterator[Iterable[Any] | None]:
        """Batches to measure statistics on, if there are any; after the last, no trace of them."""
        if not self.weights.measures:
            yield None
            return
        batches = self._some()
        try:
            yield batches
        finally:
            batches.close()  # where one was refused

    def _some(self) -> Generator[Any, None, None]:
        before = self._drawn.get_state()
        try:
            yield from islice(self._batches(), _MEASURED)
        finally:
            self._drawn.set_state(before)


def average_ending(
    course: object,
    model: nn.Module,
    *,
    batches: Callable[[], Iterable[Any]],
    feed: Feed | None = None,
    drawn: Sequence[Part] = (),
) -> AverageEnding | None:
    """The ending that a policy's course asks for, if that is averaged weights.

    >>> average_ending(None, nn.Linear(1, 1), batches=list) is None
    True
    """
    if not isinstance(course, Averaged):
        return None
    return AverageEnding(model, course.share, batches=batches, feed=feed, drawn=drawn)
