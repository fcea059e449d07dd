"""Make ``tests/fixtures/before_layout``: files of every format, written by the code of before.

It was run once, with the commit before the modules moved to their folders,
54d3c141f1e306b0ee2d7158556403aa14303321, checked out in BASE, from the root of this repository:

    OMP_NUM_THREADS=1 PYTHONPATH=BASE:BASE/integrations/torch:BASE/integrations/pyg:. \\
        python scripts/make_format_fixtures.py

It imports modules by the names that they had then, so it does not run with the code of today. It
is kept to show how the files came about; ``tests/support/old_runs.py`` has the settings.
"""

# ruff: noqa: I001 (ruff takes modules that are gone for those of others)

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dynhp import DynamicGridAdapter, History, OneAxis, highest, lowest
from dynhp.campaign import product, run_campaign
from dynhp.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.codecs import encode
from dynhp.executors import Serial
from dynhp.journal import Journal
from dynhp.plain import history_to_plain
from dynhp.schedule import replay, schedule_of
from dynhp_pyg.example import example as pyg_example
from dynhp_pyg.reproduction.one import one
from dynhp_pyg.reproduction.plan import runs_of
from dynhp_torch.example import example as torch_example
from tests.support.killing import Killed, MortalTrainer
from tests.support.old_runs import CASES, EPOCHS, KillIn, LoopRun, made
from tests.support.old_task import scored

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "tests" / "fixtures" / "before_layout"

Make = Callable[[Sequence[Callable[[Any], None]]], DynamicGridAdapter]


def main() -> None:
    """Write all of it again."""
    torch.set_num_threads(1)
    shutil.rmtree(OUT, ignore_errors=True)
    for name, case in CASES.items():
        save_run(
            OUT / "runs" / name,
            partial(made, name),
            dies=case.get("dies", (2, 5)),
            every=case.get("every", 1),
        )
    save_run(OUT / "torch", torch_run, dies=(2, 2), machine=True)
    save_run(OUT / "pyg", pyg_run, dies=(2, 2), machine=True)
    save_loop(OUT / "loop")
    save_journals(OUT / "journals")
    save_campaign(OUT / "campaign")
    save_reproduction(OUT / "reproduction")
    for lock in OUT.rglob("lock"):
        lock.unlink()


def torch_run(callbacks: Sequence[Callable[[Any], None]] = ()) -> DynamicGridAdapter:
    """The example of the torch integration."""
    make, space = torch_example()
    torch.manual_seed(3)
    return DynamicGridAdapter(
        MortalTrainer(make()),
        space,
        criterion=lowest("val_loss"),
        adapt_every=4,
        try_for=1,
        proposer=OneAxis(),
        callbacks=callbacks,
    )


def pyg_run(callbacks: Sequence[Callable[[Any], None]] = ()) -> DynamicGridAdapter:
    """The example of the integration of PyTorch Geometric."""
    make, space = pyg_example()
    return DynamicGridAdapter(
        MortalTrainer(make()),
        space,
        criterion=highest("val_auc"),
        adapt_every=4,
        try_for=1,
        callbacks=callbacks,
    )


def save_run(
    folder: Path, make: Make, *, dies: tuple[int, int], every: int = 1, machine: bool = False
) -> None:
    """A run broken off between rounds and in the middle of one, and how it ends undisturbed."""
    whole = make(())
    history = whole.run(EPOCHS)
    with checkpoints(folder / "between", begun := make(()), every=every, keep=1):
        rounds = begun.rounds(EPOCHS)
        next(rounds), next(rounds)
        write_json(folder / "adapter.json", begun.state_dict())
    broken_off(folder / "middle", make, dies, every)
    schedule = schedule_of(history)
    replay(schedule, follower := make(()).trainer)
    (folder / "schedule.json").write_text(schedule.to_json() + "\n")
    end = {"history": plain(history), "state": digest(whole.trainer.get_state())}
    end["replayed"] = digest(follower.get_state())
    end["calls"] = {
        name: calls_to_end(folder / name, make(()), end) for name in ("between", "middle")
    }
    if machine:
        end["machine"] = here()
    write_json(folder / "end.json", end)


def broken_off(
    folder: Path,
    make: Make,
    dies: tuple[int, int],
    every: int = 1,
    callbacks: Sequence[Callable[[Any], None]] = (),
) -> None:
    """A run that was killed in this round, after so many calls of ``train_k``."""
    adapter = make((*callbacks, killer := KillIn(*dies)))
    killer.trainer = adapter.trainer
    with suppress(Killed):
        run_with_checkpoints(adapter, EPOCHS, checkpoint=folder, every=every, keep=1)
        raise AssertionError(f"{folder}: it should have been killed")
    assert list(folder.glob("try-*.zip")), folder


def calls_to_end(folder: Path, adapter: DynamicGridAdapter, end: dict[str, Any]) -> int:
    """How often the trainer is called to end a copy of the run; the end must be the same."""
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(folder, Path(place) / "copy")
        assert plain(resume(copy, adapter)) == end["history"]
    assert digest(adapter.trainer.get_state()) == end["state"]
    calls: int = adapter.trainer.calls  # type: ignore[attr-defined]
    return calls


def save_loop(folder: Path) -> None:
    """A loop that was killed in its third round: whole rounds of it are saved."""
    random.seed(1)
    np.random.seed(1)
    whole = LoopRun()
    whole()
    end = {"history": plain(whole.loop.history), "passes": whole.passes}
    end["state"] = digest(whole.loop.adapter.trainer.get_state())
    write_json(folder / "end.json", end)
    random.seed(1)
    np.random.seed(1)
    killed = LoopRun()
    with suppress(Killed), checkpoints(folder / "middle", killed.loop.adapter, keep=1):
        killed(until=40)


def save_journals(folder: Path) -> None:
    """Journals of whole runs, of a resumed one, torn, and of a run that was broken off."""
    folder.mkdir(parents=True)
    make = partial(made, "racing")
    make((Journal(folder / "whole.jsonl"),)).run(EPOCHS)
    make((Journal(folder / "without_seconds.jsonl", seconds=False),)).run(EPOCHS)
    data = (folder / "without_seconds.jsonl").read_bytes()
    (folder / "torn.jsonl").write_bytes(data[:-50])

    with tempfile.TemporaryDirectory() as place:
        resumed = folder / "resumed.jsonl"
        broken_off(Path(place), make, (2, 5), callbacks=(Journal(resumed),))
        resume(place, make((Journal(resumed),)))

    journal = folder / "broken_off.jsonl"
    broken_off(folder / "broken_off", make, (2, 5), callbacks=(Journal(journal, seconds=False),))
    with open(journal, "ab") as file:
        file.write(b'{"event":"try","rou')


def save_campaign(folder: Path) -> None:
    """A ledger with results, a failure and a torn line, and the table of the whole campaign."""
    some = product(method=["grid"], seed=range(3))
    every = product(method=["grid", "random"], seed=range(3))
    for name, task in {"plain": scored, "partial": partial(scored, scale=2.0)}.items():
        with tempfile.TemporaryDirectory() as place:
            run_campaign(task, every, folder=place, executor=lambda make: Serial())
            table = (Path(place) / "results.csv").read_bytes()
        run_campaign(task, some, folder=folder / name, executor=lambda make: Serial())
        (folder / name / "results.csv").unlink()
        (folder / name / "expected.csv").write_bytes(table)
        ledger = folder / name / "results.jsonl"
        lines = ledger.read_text().replace(f"{ROOT}/", "")  # in the traceback of the failure
        ledger.write_text(lines + '{"event":"run","settings":{"method":"random","se')


def save_reproduction(folder: Path) -> None:
    """The ledger of ``dynhp linkpred reproduce``, in which five of eleven runs are missing."""
    runs = runs_of("quick", protocol="undirected", seeds=1, width=2, epochs=3)
    run_campaign(one, runs, folder=folder, executor=lambda make: Serial())
    (folder / "results.csv").rename(folder / "expected.csv")
    ledger = folder / "results.jsonl"
    ledger.write_text("".join(ledger.read_text().splitlines(keepends=True)[:7]))
    write_json(folder / "machine.json", here())


def here() -> dict[str, str]:
    """What decides the last bits of torch's sums."""
    cpu = torch.backends.cpu.get_cpu_capability()
    return {"torch": torch.__version__, "numpy": np.__version__, "cpu": cpu}


def plain(history: History) -> list[dict[str, Any]]:
    """The history without times, which no two runs have in common."""
    rounds = history_to_plain(history)
    for record in [*rounds, *(attempt for round_ in rounds for attempt in round_["tries"])]:
        del record["seconds"]
    return rounds


def digest(state: Any) -> str:
    """Names a state by its bits."""
    return hashlib.sha256(encode(state)).hexdigest()


def write_json(path: Path, data: Any) -> None:
    """Write data in few lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, allow_nan=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
