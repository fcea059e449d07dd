"""The campaign itself: which runs are missing, how each is carried out, what is written when."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from dynhp.campaign.data import plain
from dynhp.campaign.ledger import Ledger, ended_in
from dynhp.campaign.progress import CampaignProgress, ProgressMeter
from dynhp.campaign.request import CampaignRequest, Function, Settings, request_of
from dynhp.campaign.results import CampaignResults, Finished
from dynhp.errors import ContractError, SettingsError, shown
from dynhp.executors.contract import (
    UNKNOWN_STATE,
    CompletesAnyOrder,
    Executor,
    Job,
    Outcome,
    close,
)
from dynhp.executors.pool.processes import Processes
from dynhp.records import Candidate
from dynhp.report.live.campaign import campaign_view
from dynhp.storage.codecs.json_text import MOST_JSON
from dynhp.trainer import State, Trainer

__all__ = ["MakeExecutor", "campaign_so_far", "run_campaign"]

MakeExecutor: TypeAlias = Callable[[Callable[[], Trainer]], Executor]
"""What makes an executor, such as ``functools.partial(Processes, workers=4)``."""

_MOST_BYTES = MOST_JSON // 2  # the settings are on the same line, which must be readable
_MOST_CHARACTERS = 2000  # of an error, in a table for people


def run_campaign(
    function: Function,
    runs: Iterable[Settings],
    *,
    folder: str | os.PathLike[str],
    name: str | None = None,
    workers: int | None = None,
    executor: MakeExecutor | None = None,
    cost: Callable[[Settings], float] | None = None,
    progress: bool | Callable[[CampaignProgress], None] | None = None,
) -> CampaignResults:
    """Call ``function(**settings)`` for every run that ``folder`` has no result of.

    Runs must depend on their settings only: then the results do not depend on workers,
    order or interruptions. Each is appended to ``folder/results.jsonl`` as it ends; when all have
    ended, they are written to ``folder/results.csv``, in the order of ``runs``. A run that raises,
    or loses its worker again and again, is recorded as failed and the others go on; the next call
    tries it once more. ``docs/campaigns.md`` is the guide.

    Args:
        function: what is called; importable, and it returns a mapping of names to plain data.
        runs: the settings of each run, as ``product`` gives them.
        folder: where results are kept; it belongs to one function.
        name: what the folder calls the function (default: its import path); give one to a
            function that may be moved or renamed later.
        workers: how many processes carry out runs (default: one per core).
        executor: what makes another executor, instead of ``workers``.
        cost: how long a run takes compared with others; long ones are begun first, and the time
            left is estimated with it.
        progress: True shows how far it is and how long it will take; a function of yours is called
            with it after every run.

    >>> import tempfile
    >>> from dynhp.campaign import product
    >>> from dynhp.testing.toys.quadratic import divided
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run_campaign(divided, product(a=[6], b=[3, 0]), folder=folder, workers=1)
    >>> print(results.csv(), end="")
    a,b,quotient,error
    6,3,2.0,
    6,0,,ZeroDivisionError: division by zero
    """
    request = request_of(function, runs, name=name, cost=cost)
    with (
        _executor(workers, executor, partial(RunTrainer, function)) as made,
        Ledger.opened(Path(folder).absolute(), request.name) as ledger,
        _shown(progress) as report,
    ):
        meter = ProgressMeter(request.costs, ledger.done(), report)
        meter.report()
        for key, run in _carried_out(request, ledger.done(), made):
            ledger.add(key, run)
            meter.ended(key, failed=run.error is not None)
        results = _in_order(request.runs, ledger.ended)
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

    Nothing is carried out or written. Runs that have not ended are left out.

    Args:
        function: what the campaign calls.
        runs: the settings of the runs to look at.
        folder: where the campaign keeps its results.
        name: the one that ``run_campaign`` was given.

    >>> import tempfile
    >>> from dynhp.testing.toys.quadratic import divided
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run_campaign(divided, [{"a": 6, "b": 3}], folder=folder, workers=1)
    ...     wanted = [{"a": 6, "b": 3}, {"a": 6, "b": 2}]
    ...     campaign_so_far(divided, wanted, folder=folder) == done
    True
    """
    request = request_of(function, runs, name=name)
    return _in_order(request.runs, ended_in(Path(folder), request.name))


def _in_order(runs: Mapping[str, Settings], ended: Mapping[str, Finished]) -> CampaignResults:
    """The runs that ended, in the order asked for and with their settings as named now."""
    return CampaignResults(
        tuple(replace(ended[key], settings=run) for key, run in runs.items() if key in ended)
    )


def _carried_out(
    request: CampaignRequest, done: set[str], executor: Executor
) -> Iterator[tuple[str, Finished]]:
    """Carry out what is not done, the longest first, and give each as it ends, if possible."""
    missing = [key for key in request.runs if key not in done]
    keys = sorted(missing, key=lambda key: -request.costs[key])  # no long one is last
    if not keys:
        return
    jobs = [
        Job(origin=request.runs[key], candidate=Candidate({"run": place}), epochs=1)
        for place, key in enumerate(keys)
    ]
    outcomes = (
        executor.as_completed(jobs)
        if isinstance(executor, CompletesAnyOrder)
        else enumerate(executor.run(RunTrainer(request.function), jobs, at=UNKNOWN_STATE))
    )
    for place, outcome in outcomes:
        yield keys[place], _finished(outcome, request.runs[keys[place]])


def _shown(progress: object) -> AbstractContextManager[Any]:
    if progress is True:
        return campaign_view()
    if progress is None or progress is False or callable(progress):
        return nullcontext(progress or None)
    raise SettingsError(
        f"progress must be True, or a function of a CampaignProgress, got {shown(progress)}"
    )


@contextmanager
def _executor(
    workers: int | None, make: MakeExecutor | None, make_trainer: Callable[[], Trainer]
) -> Iterator[Executor]:
    if make is None:
        make = partial(Processes, workers=_cores() if workers is None else workers)
    elif workers is not None:
        raise SettingsError(
            f"workers is for the default executor, got workers={workers!r} together with "
            f"executor={make!r}; give it to the executor, as in partial(Processes, "
            f"workers={workers!r})"
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
        close(made)


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # pragma: no branch - elsewhere than on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover - where that cannot be asked


class RunTrainer:
    """A trainer whose state is first the settings of a run and then its result or error.

    >>> from dynhp.testing.toys.quadratic import divided
    >>> trainer = RunTrainer(divided)
    >>> trainer.set_state({"a": 6, "b": 3})
    >>> trainer.train_k(1, {})
    >>> trainer.get_state()
    {'result': {'quotient': 2.0}}
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._state: State = None

    def set_state(self, state: State) -> None:
        """Take the settings, as a copy: the run may write into them."""
        self._state = deepcopy(state)

    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None:
        """Carry out the run; what it raises becomes its error, so that the other runs go on."""
        try:
            self._state = {"result": _checked(self._function(**self._state))}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also sys.exit, which would end the others with it
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
            trace = error.__traceback__
            inside = trace.tb_next if trace is not None else None  # without the call in train_k
            details = "".join(traceback.format_exception(type(error), error, inside))
            self._state = {
                "error": text[:_MOST_CHARACTERS],
                "details": details[-50 * _MOST_CHARACTERS :],
            }

    def get_state(self) -> State:
        """Hand out the result or the error."""
        return self._state

    def metrics(self) -> dict[str, float]:
        """None are needed."""
        return {}


def _finished(outcome: Outcome, settings: Settings) -> Finished:
    """Read from an outcome how a run ended."""
    end: Mapping[str, Any]
    try:
        end = {"error": outcome.error} if outcome.error is not None else outcome.keep()
    except ContractError as lost:  # its worker was lost after the run had ended
        end = {"error": str(lost)}
    return Finished(
        settings=settings,
        result=end.get("result"),
        error=end.get("error"),
        details=end.get("details"),
        seconds=outcome.seconds,
    )


def _checked(result: Any) -> Any:
    if not isinstance(result, Mapping):
        raise TypeError(
            f"a run must return a mapping of names to plain data, got {result!r:.200}; return "
            "{'name': value}"
        )
    checked = plain(result, "result")
    size = len(json.dumps(checked))
    if size > _MOST_BYTES:
        raise ValueError(
            f"a result must take at most {_MOST_BYTES} bytes of JSON, got {size}; write what is "
            "large into a file of its own and return its name"
        )
    return checked
