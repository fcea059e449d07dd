"""Progress shown while a run goes on: a bar where rich is installed, plain lines where not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from dynhp.adapter import Callback
from dynhp.records import Event, Round
from dynhp.report.text import label

__all__ = ["progress"]


@contextmanager
def progress(
    epochs: int, *, title: str = "training", stream: TextIO | None = None
) -> Iterator[Callback]:
    """Give a callback that shows how far a run of that many epochs is.

    >>> import io
    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> text = io.StringIO()
    >>> with progress(10, stream=text) as show:
    ...     _ = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                            adapt_every=5, try_for=1, callbacks=[show]).run(10)
    >>> print(text.getvalue().splitlines()[-1])
    training: epoch 10/10, lr=0.5, loss=4.768e-07
    """
    out = stream or sys.stderr
    try:
        if not out.isatty():
            raise ImportError  # a bar that moves makes no sense in a file
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _Lines(epochs, title, out)
        return
    with Progress(console=Console(file=out), transient=True) as bar:
        task = bar.add_task(title, total=epochs)

        def show(event: Event) -> None:
            if isinstance(event, Round):
                done = event.start + event.epochs
                bar.update(task, completed=done, description=f"{title}: {_values(event)}")

        yield show


class _Lines:
    """A line per tenth of the run."""

    def __init__(self, epochs: int, title: str, out: TextIO) -> None:
        self._epochs = epochs
        self._title = title
        self._out = out
        self._shown = 0

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Round):
            return
        done = event.start + event.epochs
        if 10 * done // self._epochs > self._shown:
            self._shown = 10 * done // self._epochs
            print(
                f"{self._title}: epoch {done}/{self._epochs}, {_values(event)}",
                file=self._out,
                flush=True,
            )


def _values(round_: Round) -> str:
    shown = {**round_.candidate, **round_.metrics}
    return ", ".join(f"{name}={label(value)}" for name, value in shown.items())
