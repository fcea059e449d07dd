"""The progress of runs and campaigns, shown while they go on: in a terminal, or as lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from dynhp.adapter import Callback
from dynhp.records import Event, Round
from dynhp.records.text import label

if TYPE_CHECKING:
    from dynhp.campaign.progress import CampaignProgress

__all__ = ["Show", "display", "progress", "shown"]

Show: TypeAlias = Callable[[int, str, str], None]
"""Shows how much is done: as a number, in words, and what there is to say about it."""


@contextmanager
def display(total: int, *, title: str, stream: TextIO | None = None) -> Iterator[Show]:
    """Give what shows how much of ``total`` is done: a bar in a terminal, else a line per tenth.

    Args:
        total: how much there is to do.
        title: what stands first in every line.
        stream: where to write; standard error by default. A bar needs a terminal, and rich.

    >>> with display(20, title="copy", stream=sys.stdout) as show:
    ...     for done in range(0, 15, 3):
    ...         show(done, f"{done} of 20 files", "no error")
    copy: 3 of 20 files, no error
    copy: 6 of 20 files, no error
    copy: 9 of 20 files, no error
    copy: 12 of 20 files, no error
    """
    out = stream or sys.stderr
    try:
        if not out.isatty():
            raise ImportError  # a bar that moves makes no sense in a file
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        line = _lines(out, last=0)
        yield lambda done, words, text: line(10 * done // total, f"{title}: {words}, {text}")
        return
    with Progress(console=Console(file=out), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done, words, text: bar.update(
            task, completed=done, description=f"{title}: {text}"
        )


@contextmanager
def progress(
    epochs: int, *, title: str = "training", stream: TextIO | None = None
) -> Iterator[Callback]:
    """Give a callback that shows how far a run is.

    Args:
        epochs: how many epochs the main line will have.
        title: what stands first in every line.
        stream: where to write; standard error by default.

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
    with display(epochs, title=title, stream=stream) as show:

        def callback(event: Event) -> None:
            if isinstance(event, Round):
                done = event.start + event.epochs
                values = {**event.candidate, **event.metrics}
                text = ", ".join(f"{name}={label(value)}" for name, value in values.items())
                show(done, f"epoch {done}/{epochs}", text)

        yield callback


def shown(stream: TextIO | None = None) -> Callable[[CampaignProgress], None]:
    """Give what shows a campaign's progress: in one line of a terminal, else a line per percent.

    Args:
        stream: where to write; standard error by default.

    >>> from dynhp.campaign import CampaignProgress
    >>> show = shown(sys.stdout)
    >>> show(CampaignProgress(done=1, failed=0, total=2, share=0.5, left=None))
    1 of 2 runs, 50 % of the work
    """
    out = stream or sys.stderr
    line = _lines(out, last=-1)

    def show(progress: CampaignProgress) -> None:
        if out.isatty():
            end = "\n" if progress.over else ""
            print(f"\r\x1b[K{progress}", end=end, file=out, flush=True)
        else:
            line(progress.percent, str(progress))

    return show


def _lines(out: TextIO, *, last: int) -> Callable[[int, str], None]:
    """Print a line when the step differs from that of the line before."""

    def line(step: int, text: str) -> None:
        nonlocal last
        if step != last:
            last = step
            print(text, file=out, flush=True)

    return line
