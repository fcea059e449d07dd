"""The display that ``progress=True`` means: a run in a terminal, in a notebook, or as lines."""

from __future__ import annotations

import os
from typing import Any, TextIO

from dynhp.display import StretchBegins, TriesBegin
from dynhp.display.contract import Moment
from dynhp.records import Metrics
from dynhp.report.live.course import Course
from dynhp.report.live.picture import RunPicture
from dynhp.report.live.surfaces import Surface, surface_on

__all__ = ["LiveDisplay"]

SILENCE = 0.25
"""Seconds: before a longer silence the picture is brought up to date."""


class LiveDisplay:
    """Shows a run while it goes on: how far it is, its values, its tries, its cost, the time left.

    In a terminal (with rich) it is a picture of at most twelve lines that stays below what the
    program prints; in a notebook one output; elsewhere a line for each tenth of the run. Of the
    ranks of a distributed run the first one shows it.

    Args:
        title: what stands first.
        stream: where to write; standard error by default, or the notebook's cell.

    >>> import sys
    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=5, try_for=1, check="off")
    >>> history = adapter.run(25, progress=LiveDisplay(stream=sys.stdout))  # doctest: +ELLIPSIS
    training: epoch 5/25, lr=0.5, loss=0.0004883, best 0.0004883 at 5, cost 6 of 30 epochs, ...
    training: epoch 10/25, lr=0.5, loss=4.768e-07, best 4.768e-07 at 10, cost 12 of 30 epochs, ...
    training: epoch 15/25, lr=0.5, loss=4.657e-10, best 4.657e-10 at 15, cost 18 of 30 epochs, ...
    training: epoch 20/25, lr=0.5, loss=4.547e-13, best 4.547e-13 at 20, cost 24 of 30 epochs, ...
    training: epoch 25/25, lr=0.5, loss=4.441e-16, best 4.441e-16 at 25, cost 30 of 30 epochs, ...
    """

    def __init__(self, title: str = "training", *, stream: TextIO | None = None) -> None:
        self._title, self._stream = title, stream
        self._shown: tuple[Course, RunPicture, Surface] | None = None

    def open(self, adapter: Any, *, unit: str) -> None:
        """Begin to show a run."""
        if "WORLD_SIZE" in os.environ and os.environ.get("RANK", "0") != "0":
            return
        course = Course(adapter, unit=unit)
        self._shown = course, RunPicture(self._title, course), surface_on(self._stream)

    def __call__(self, moment: Moment) -> None:
        """Take in what happened, and show it where it is time."""
        if self._shown is not None:
            course, picture, surface = self._shown
            course.take(moment)
            eager = False
            if isinstance(moment, TriesBegin | StretchBegins):
                eager = course.seconds_for(moment.epochs) > SILENCE
            if surface.is_due(beat=False, eager=eager):
                surface.show(picture)

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """Take in how far it is, and show it where it is time."""
        if self._shown is not None:
            course, picture, surface = self._shown
            course.beat(place, epochs, metrics)
            if surface.is_due(beat=True):
                surface.show(picture)

    def close(self, failure: BaseException | None) -> None:
        """Show how it ended."""
        if self._shown is not None:
            _, picture, surface = self._shown
            self._shown = None
            picture.ended = _ending(failure)
            surface.close(picture)


def _ending(failure: BaseException | None) -> str:
    if failure is None:
        return "done in"
    left = isinstance(failure, KeyboardInterrupt | GeneratorExit)
    return "stopped after" if left else f"{type(failure).__name__} after"
