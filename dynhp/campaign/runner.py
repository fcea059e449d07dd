"""The campaign itself: which runs are missing, who carries them out, what is written when."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from dynhp.campaign.ledger import Ledger, ended_in
from dynhp.campaign.progress import CampaignProgress, Watch
from dynhp.campaign.request import Function, Settings, costs_of, name_of, runs_of
from dynhp.campaign.results import CampaignResults, Finished
from dynhp.campaign.task import Runs, finished
from dynhp.errors import SettingsError
from dynhp.executors.pool.processes import Processes
from dynhp.records import Candidate
from dynhp.rounds.jobs import UNKNOWN_STATE, CompletesAnyOrder, Executor, Job, Outcome
from dynhp.trainer import Trainer

__all__ = ["MakeExecutor", "campaign_so_far", "run_campaign"]

MakeExecutor: TypeAlias = Callable[[Callable[[], Trainer]], Executor]
"""What makes an executor, such as ``functools.partial(Processes, workers=4)``."""


def run_campaign(
    function: Function,
    runs: Iterable[Settings],
    *,
    folder: str | os.PathLike[str],
    name: str | None = None,
    workers: int | None = None,
    executor: MakeExecutor | None = None,
    cost: Callable[[Settings], float] | None = None,
    progress: Callable[[CampaignProgress], None] | None = None,
) -> CampaignResults:
    """Call ``function(**settings)`` for every run that ``folder`` has no result of.

    Runs are carried out by ``workers`` processes (default: one per core), or by the executor
    that ``executor`` makes, and must depend on nothing but their settings: then the results do
    not depend on workers, order or interruptions. Each is appended to ``folder/results.jsonl``
    as it ends; when all have, they are written to ``folder/results.csv``, in the order of
    ``runs``. A run that raises, or loses its worker again and again, is recorded as failed and
    the others go on; the next call tries it once more. ``cost`` tells how long a run takes
    against others: long ones are begun first, and the time left is estimated by it.

    The function must be importable and return a mapping of names to plain data.
    ``docs/campaigns.md`` is the guide. ``folder`` belongs to one function, which it knows by
    ``name`` (default: its import path): give one to a function that may move or be renamed later.

    >>> import tempfile
    >>> from dynhp.campaign import product
    >>> from dynhp.testing.toys.quadratic import divided
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run_campaign(divided, product(a=[6], b=[3, 0]), folder=folder, workers=1)
    >>> print(found.csv(), end="")
    a,b,quotient,error
    6,3,2.0,
    6,0,,ZeroDivisionError: division by zero
    """
    # Whatever cannot work is told before anything is written.
    ledger_name, asked = name_of(function, name), runs_of(function, runs)
    costs = costs_of(asked, cost)
    with (
        _executor(workers, executor, partial(Runs, function)) as crew,
        Ledger.opened(Path(folder), ledger_name) as ledger,
    ):
        watch = Watch(costs, ledger.done(), progress)
        watch.look()
        for key, run in _carried_out(function, _missing(asked, costs, ledger), crew):
            ledger.add(key, run)
            watch.ended(key, failed=run.error is not None)
        results = _in_order(asked, ledger.ended)
        ledger.tabulate(results.csv())
    return results


def campaign_so_far(
    function: Function,
    runs: Iterable[Settings],
    *,
    folder: str | os.PathLike[str],
    name: str | None = None,
) -> CampaignResults:
    """Give the results that ``folder`` has of these runs, while others go on or before they do.

    Nothing is carried out or written. Runs that have not ended are left out. ``name`` is the one
    that ``run_campaign`` was given.

    >>> import tempfile
    >>> from dynhp.testing.toys.quadratic import divided
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run_campaign(divided, [{"a": 6, "b": 3}], folder=folder, workers=1)
    ...     wanted = [{"a": 6, "b": 3}, {"a": 6, "b": 2}]
    ...     campaign_so_far(divided, wanted, folder=folder) == done
    True
    """
    asked = runs_of(function, runs)
    ended = ended_in(Path(folder), name_of(function, name))
    return _in_order(asked, ended)


def _in_order(asked: Mapping[str, Settings], ended: Mapping[str, Finished]) -> CampaignResults:
    """The runs that ended, in the order asked for and with their settings as named now."""
    return CampaignResults(
        tuple(replace(ended[key], settings=run) for key, run in asked.items() if key in ended)
    )


def _missing(
    asked: Mapping[str, Settings], costs: Mapping[str, float], ledger: Ledger
) -> dict[str, Settings]:
    """The runs to carry out, the longest first, so that none is left alone at the end."""
    done = ledger.done()
    keys = sorted((key for key in asked if key not in done), key=lambda key: -costs[key])
    return {key: asked[key] for key in keys}


def _carried_out(
    function: Function, runs: Mapping[str, Settings], executor: Executor
) -> Iterator[tuple[str, Finished]]:
    """Carry out the runs and give what came of each, as they end where the executor can."""
    keys = list(runs)
    jobs = [
        Job(origin=run, candidate=Candidate({"run": place}), epochs=1)
        for place, run in enumerate(runs.values())
    ]
    for place, outcome in _outcomes(function, jobs, executor) if jobs else ():
        yield keys[place], finished(outcome, runs[keys[place]])


def _outcomes(
    function: Function, jobs: Sequence[Job], executor: Executor
) -> Iterator[tuple[int, Outcome]]:
    if isinstance(executor, CompletesAnyOrder):
        return executor.as_completed(jobs)
    return enumerate(executor.run(Runs(function), jobs, at=UNKNOWN_STATE))


@contextmanager
def _executor(
    workers: int | None, make: MakeExecutor | None, make_trainer: Callable[[], Trainer]
) -> Iterator[Executor]:
    if make is None:
        make = partial(Processes, workers=_cores() if workers is None else workers)
    elif workers is not None:
        raise SettingsError(
            f"workers is for the default executor, got workers={workers!r} beside executor="
            f"{make!r}; tell the executor itself, as in partial(Processes, workers={workers!r})"
        )
    elif not callable(make):
        raise SettingsError(
            f"executor must be a function that makes one, got {make!r}; write "
            "functools.partial(Processes, workers=4), for instance"
        )
    made = make(make_trainer)
    try:
        yield made
    finally:
        close = getattr(made, "close", None)
        if close is not None:
            close()


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # pragma: no branch - elsewhere than on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover - where that cannot be asked
