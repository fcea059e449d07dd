"""How far a run is, while it goes on, with the epochs of its tries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from dynhp.adapter import Callback
from dynhp.records import Event, RoundStarted, Try
from dynhp.report.progress import display

__all__ = ["live"]


@contextmanager
def live(
    epochs: int, *, title: str, quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callback]:
    """Give a callback that shows the epochs trained, tries included, of all that are planned.

    Unlike the core's ``progress`` it moves inside a round too: a complete search is one round.

    >>> import sys
    >>> from dynhp_pyg.runs.example import tiny_graph
    >>> from dynhp_pyg.runs.run import LinkRun, run
    >>> with live(18, title="seed 0", stream=sys.stdout) as show:
    ...     _ = run(LinkRun(method="complete", epochs=2, width=4, space={"dropout": [0, 0.2]}),
    ...             graph=tiny_graph(), callbacks=[show])  # doctest: +ELLIPSIS
    seed 0: 2 of 18 epochs, dropout=0.2, val_auc=...
    """
    if quiet:
        yield lambda event: None
        return
    done = 0
    with display(epochs, title=title, stream=stream) as show:

        def callback(event: Event) -> None:
            nonlocal done
            if isinstance(event, RoundStarted):
                return
            if isinstance(event, Try):
                done += event.epochs
                metrics = event.series[-1] if event.series else {}
            else:
                tried = sum(try_.epochs for try_ in event.tries)  # counted already
                done += event.epochs + event.overhead - tried
                metrics = event.metrics
            parts = [f"{name}={value}" for name, value in event.candidate.items()]
            if "val_auc" in metrics:
                parts.append(f"val_auc={metrics['val_auc']:.4f}")
            show(done, f"{done} of {epochs} epochs", ", ".join(parts))

        yield callback
