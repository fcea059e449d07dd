"""How far a run is, while it goes on: a bar in a terminal, a line per tenth elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from dynhp.adapter import Callback
from dynhp.records import Event, Round, RoundStarted, Try

__all__ = ["live"]

_Show = Callable[[int, str], None]


@contextmanager
def live(
    epochs: int, *, title: str, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callback]:
    """Give a callback that shows the epochs trained, tries included, of all that are planned.

    Unlike the core's ``progress`` it moves inside a round too: a complete search is one round.

    >>> from dynhp_pyg.runs.example import tiny_graph
    >>> from dynhp_pyg.runs.run import LinkRun, run
    >>> with live(18, title="seed 0", stream=sys.stdout) as show:
    ...     _ = run(LinkRun(method="complete", epochs=2, width=4, space={"dropout": [0, 0.2]}),
    ...             graph=tiny_graph(), callbacks=[show])  # doctest: +ELLIPSIS
    seed 0: 2 of 18 epochs, dropout=0.2, val_auc=...
    """
    out = stream or sys.stderr
    if quiet:
        yield _ignore
        return
    try:
        if not out.isatty():
            raise ImportError  # a bar that moves makes no sense in a file
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _Counter(_lines(epochs, title, out))
        return
    with Progress(console=Console(file=out), transient=True) as bar:
        task = bar.add_task(title, total=epochs)

        def move(done: int, what: str) -> None:
            bar.update(task, completed=done, description=f"{title}: {what}")

        yield _Counter(move)


class _Counter:
    """Counts the epochs of tries and stretches as their records come in."""

    def __init__(self, show: _Show) -> None:
        self._show = show
        self._done = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, RoundStarted):
            return
        if isinstance(event, Try):
            self._done += event.epochs
            self._show(self._done, _values(event, event.series[-1] if event.series else {}))
        else:
            self._done += event.epochs - event.winner.epochs
            self._show(self._done, _values(event, event.metrics))


def _lines(epochs: int, title: str, out: TextIO) -> _Show:
    shown = 0

    def show(done: int, what: str) -> None:
        nonlocal shown
        if 10 * done // epochs > shown:
            shown = 10 * done // epochs
            print(f"{title}: {done} of {epochs} epochs, {what}", file=out, flush=True)

    return show


def _values(event: Try | Round, metrics: Mapping[str, float]) -> str:
    values = [f"{name}={value}" for name, value in event.candidate.items()]
    measured = [f"val_auc={metrics['val_auc']:.4f}"] if "val_auc" in metrics else []
    return ", ".join(values + measured)


def _ignore(event: Event) -> None:
    """Show nothing."""
