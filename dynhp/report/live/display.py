"""The display that ``progress=True`` means: a run in a terminal, in a notebook, or as lines."""

from __future__ import annotations

import math
import os
from typing import NamedTuple, TextIO

from dynhp.middleware.display import Moment, RunBegins, StretchBegins, TriesBegin
from dynhp.records import Metrics, Round, RoundStarted, Try
from dynhp.report.live.course import Course
from dynhp.report.live.picture import RunPicture
from dynhp.report.live.surfaces import Surface, surface_on

__all__ = ["LiveDisplay"]

SILENCE = 0.25
"""Seconds: before a longer silence the picture is brought up to date."""


class _Shown(NamedTuple):
    """A run that is shown: what is known of it, its picture, and where that is."""

    course: Course
    picture: RunPicture
    surface: Surface


class _Beat(NamedTuple):
    """How far a try or the main line was, and what was measured."""

    place: int | None
    epochs: int
    metrics: Metrics | None


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
        self._title = title
        self._stream = stream
        self._shown: _Shown | None = None
        # What happened since the last picture. Between two epochs of a model all of this code has
        # left the processor's caches, so it is looked at in one go, when a picture is drawn.
        self._waiting: list[Moment | _Beat] = []
        self._pace = math.inf  # seconds of an epoch, as they were at the last picture
        self._long_round = False  # one that is worth lines of its own
        self._soon_over = False  # such a round is drawn once all of its tries have scores

    def open(self, run: RunBegins) -> None:
        """Begin to show a run."""
        if "WORLD_SIZE" in os.environ and os.environ.get("RANK", "0") != "0":
            return
        course = Course(run)
        self._shown = _Shown(course, RunPicture(self._title, course), surface_on(self._stream))

    @property
    def quiet_until(self) -> float:
        """When the next picture comes; never, if there are lines for whole rounds only."""
        if self._shown is not None and self._long_round:
            return 0.0
        if self._shown is None or self._shown.surface.pause is None:
            return math.inf
        return self._shown.surface.pause.until

    def __call__(self, moment: Moment) -> None:
        """Take in what happened, and show it if it is time."""
        if self._shown is None or isinstance(moment, Try):  # whose score comes next
            return
        self._waiting.append(moment)
        eager = False
        if isinstance(moment, RoundStarted):
            self._long_round = self._shown.course.is_long(moment.epochs)
            self._soon_over = self._pace * moment.epochs < SILENCE
        elif isinstance(moment, TriesBegin | StretchBegins):
            eager = self._pace * moment.epochs > SILENCE
        if not self._soon_over or isinstance(moment, StretchBegins | Round):
            self._show_if_due(line=self._long_round or isinstance(moment, Round), eager=eager)

    def beat(self, place: int | None, epochs: int, metrics: Metrics | None) -> None:
        """Take in how far it is, and show it if it is time."""
        if self._shown is not None:
            last = self._waiting[-1] if self._waiting else None
            if isinstance(last, _Beat) and last.place == place:
                self._waiting.pop()  # only the newest counts: a round may last for days
            self._waiting.append(_Beat(place, epochs, metrics))
            self._show_if_due(line=False)

    def close(self, failure: BaseException | None) -> None:
        """Show how it ended."""
        if self._shown is None:
            return
        shown = self._shown
        try:
            self._catch_up(shown.course)
        finally:
            self._shown = None
            if failure is None:
                shown.picture.ended = "done in"
            elif isinstance(failure, KeyboardInterrupt | GeneratorExit):
                shown.picture.ended = "stopped after"
            else:
                shown.picture.ended = f"{type(failure).__name__} after"
            shown.surface.close(shown.picture)

    def _show_if_due(self, *, line: bool, eager: bool = False) -> None:
        """Show the run, if it is time for a picture, or if this is worth a line."""
        assert self._shown is not None
        course, picture, surface = self._shown
        if line if surface.pause is None else surface.pause.is_over(eager=eager):
            self._catch_up(course)
            self._pace = course.seconds_for(1)
            surface.show(picture)

    def _catch_up(self, course: Course) -> None:
        """Look at all that happened since the last picture."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if isinstance(each, _Beat):
                course.beat(*each)
            else:
                course.take(each)
