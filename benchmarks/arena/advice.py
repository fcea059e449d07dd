"""Whether a run's own advice says noise where there is nothing to gain, and effect where there is.

``python -m benchmarks.arena.advice`` counts over ten seeds of a case what ``signal_of`` advises and
what ``luck_of`` says of the tries alone, and measures what adapting gained.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from benchmarks.arena.report import write_report
from benchmarks.arena.stepped import SteppedTrainer
from benchmarks.arena.tasks.contract import DATA
from benchmarks.arena.tasks.registry import make_trainer
from benchmarks.paper.document import Section, Table, document_files
from benchmarks.paper.tables.cells import EMPTY, difference_cell, row_of
from dynhp import DynamicGridAdapter, paper
from dynhp.campaign import product, run_campaign
from dynhp.campaign.results import CampaignResults
from dynhp.errors import Hint
from dynhp.report import signal_of
from dynhp_pyg.runs.intervals import mean_of

__all__ = ["CASES", "advice_files", "advice_run", "main"]

EPOCHS, ROUND, SEEDS = 60, 5, 10


class AdviceCase(NamedTuple):
    """A hyperparameter with its values, a trainer, what is judged, and what is the truth."""

    make: Callable[[int], Any]
    values: Mapping[str, Sequence[float]]
    metric: str
    truth: Literal["noise", "signal"]
    points: float = 1.0  # in one unit of the metric


def _mislabelled(seed: int) -> SteppedTrainer:
    from benchmarks.arena.tasks.regularised import mislabelled

    return SteppedTrainer(mislabelled, seed=seed, steps=20, rate=0.03)


def _links(seed: int) -> Any:
    from dynhp_pyg.graphs.bundled import load_dataset
    from dynhp_pyg.model.trainer import LinkPredictionTrainer
    from dynhp_pyg.splits.make import make_split

    split = make_split(load_dataset("cora"), seed=seed)
    return LinkPredictionTrainer(split, width=16, epochs=EPOCHS, seed=seed)


def _cora(seed: int) -> Any:
    return make_trainer("links-cora", seed=seed, steps=5)


def _boosting(seed: int) -> Any:
    return make_trainer("boosting-diabetes", seed=seed, steps=2)


_RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)
CASES: Mapping[str, AdviceCase] = {
    "dropout": AdviceCase(_mislabelled, {"dropout": (0.0, 0.1, 0.2, 0.4, 0.6)}, "val", "noise"),
    "label smoothing": AdviceCase(
        _mislabelled, {"label_smoothing": (0.0, 0.05, 0.1, 0.2, 0.4)}, "val", "noise"
    ),
    "edge message ratio": AdviceCase(
        _links, {"edge_message_ratio": (0.1, 0.3, 0.5, 0.7, 0.9)}, "val_auc", "noise", 100.0
    ),
    "learning rate, images": AdviceCase(
        _mislabelled, {"lr": (0.0003, 0.003, 0.03, 0.3, 3.0)}, "val", "signal"
    ),
    "learning rate, links": AdviceCase(_cora, {"lr": _RATES}, "val", "signal"),
    "shrinkage": AdviceCase(_boosting, {"lr": (0.01, 0.03, 0.1, 0.3, 1.0)}, "val", "noise"),
}
"""What is adapted, in the way of the paper: every five epochs, all values for one."""


def advice_run(case: str, seed: int, epochs: int) -> dict[str, Any]:
    """Adapt once, and give what the run says about its own choices, and what they gained."""
    torch.set_num_threads(1)
    trained = CASES[case]
    adapted, alone = trained.make(seed), trained.make(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Hint)
        policy = paper(trained.values, ROUND, 1, validation=trained.metric)
        adapter = DynamicGridAdapter(adapted, policy=policy, seed=seed, check="off")
        start = dict(adapter.current)
        signal = signal_of(adapter.run(epochs), kinds=getattr(adapted, "kinds", None))
    alone.train_k(epochs, start)
    luck = signal.luck
    chance = None if luck.chance is None else float(f"{luck.chance:.3g}")
    gain = adapted.metrics()[trained.metric] - alone.metrics()[trained.metric]
    return {
        "advice": signal.verdict, "verdict": luck.verdict, "chance": chance,
        "changes": luck.changes, "gain": float(f"{gain:.6g}"),
    }  # fmt: skip


def advice_files(results: CampaignResults) -> dict[str, str]:
    """The table of verdicts, as a page, as Markdown and as CSV."""
    ended: dict[str, list[Mapping[str, Any]]] = {case: [] for case in CASES}
    for run in results:
        if run.result is not None:
            ended[run.settings["case"]].append(run.result)
    rows = []
    for name, case in CASES.items():
        advice = Counter(_ADVICE[each["advice"]] for each in ended[name])
        alone = Counter(each["verdict"] for each in ended[name])
        gains = [each["gain"] * case.points for each in ended[name]]
        gained = difference_cell(mean_of(gains), of=len(gains)) if gains else EMPTY
        counts = [advice[said] for said in dict.fromkeys(_ADVICE.values())]
        rows.append(row_of(name, case.truth, *counts, alone["luck"], gained))
    table = Table(
        name="advice",
        title="What runs say about their own choices, in so many of them",
        headings=("adapted", "truth", *dict.fromkeys(_ADVICE.values()), "tries alone: noise",
                  "what adapting gained"),
        rows=tuple(rows),
        note="Truth: whole runs show nothing to gain from what is called noise "
        "(docs/what-to-adapt.md). The limit is 9 of 10 'noise' where that is the truth, and 1 of "
        "10 where there is signal. Tries alone: the verdict without what is known of a "
        "hyperparameter by what it is. Gained: the judged metric at the end, in points of "
        "accuracy, of AUC or of explained variance, less that of leaving the value alone, paired "
        "by seed.",
    )  # fmt: skip
    section = Section(title="Advice", parts=(table,))
    return document_files("Does a run know when its choices were luck?", [section])


_ADVICE = {"luck": "noise", "misled": "noise", "effect": "signal", "unknown": "cannot tell"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena.advice", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("out/arena-advice"))
    parser.add_argument("--report", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--workers", type=int)
    options = parser.parse_args(arguments)
    if options.data is not None:
        os.environ[DATA] = str(options.data)
    runs = product(case=options.cases, seed=range(options.seeds), epochs=[options.epochs])
    results = run_campaign(
        advice_run, runs, folder=options.folder, name="arena-advice", workers=options.workers,
        progress=True,
    )  # fmt: skip
    for run in results.failed:
        print(f"failed: {dict(run.settings)}: {run.error}")
    write_report(options.report or options.folder / "report", advice_files(results))


if __name__ == "__main__":
    main()
