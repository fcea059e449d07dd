"""A run of link prediction from its settings to its result, for the command and for campaigns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch

from dynhp import History, plan_for, schedule_of, spent
from dynhp.adapter import Callback
from dynhp.criteria.contract import metrics_of
from dynhp.errors import Hint, SettingsError
from dynhp.middleware.display import Display
from dynhp.planning import Cost, Plan, Schedule
from dynhp.records import Value
from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.methods import adapter_for
from dynhp_pyg.runs.spec import ADAPTABLE, RATIOS, LinkRun, Method, space_of
from dynhp_pyg.splits.audit import Audit, audit
from dynhp_pyg.splits.make import Split, make_split, message_count

__all__ = ["ADAPTABLE", "RATIOS", "LinkJob", "LinkResult", "LinkRun", "Method", "prepare", "run"]
__all__ += ["space_of", "train"]

AVERAGED_OVER = 10  # epochs: each is one step, so an average over one epoch would be none


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkJob:
    """A run ready to start: everything is checked, nothing is trained, and its cost is known."""

    settings: LinkRun
    split: Split
    trainer: LinkPredictionTrainer
    start: dict[str, Any]
    plan: Plan
    hints: tuple[str, ...]
    check: Literal["first", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkResult:
    """The result of a run: metrics of its best-validation checkpoint, its records, its cost.

    The checkpoint is the best of the main line, which includes the tries that were kept.
    Metrics are shares, not percent.

    Attributes:
        settings: all that decided the run.
        graph: the name of the graph.
        nodes: the number of its nodes.
        edges: the number of its edges.
        test_auc: the area under the ROC curve on the test edges.
        test_ap: the average precision on the test edges.
        val_auc: the validation AUC of the checkpoint.
        epoch: the epoch of the checkpoint.
        history: the rounds of the run.
        plan: what it was planned to cost.
        audit: the leaks of its split.
        warning: what must be shown with the result, such as that the split leaks, or None.
        communities: how communities were detected, None where they were not.
        community_ratio: the share of negatives within a community, None where not used.
        hints: sentences of advice on the settings.
        described: the settings of the adapter by name, as text; not compared.
        seconds: how long training took; not compared.

    >>> from dynhp_pyg.runs.example import tiny_graph
    >>> result = run(LinkRun(method="fixed", epochs=5, width=8), graph=tiny_graph())
    >>> result.graph, result.nodes, result.cost.total, result.final
    ('tiny', 60, 5, {'edge_message_ratio': 0.5})
    """

    settings: LinkRun
    graph: str
    nodes: int
    edges: int
    test_auc: float
    test_ap: float
    val_auc: float
    epoch: int
    history: History
    plan: Plan
    audit: Audit
    warning: str | None
    communities: str | None
    community_ratio: float | None
    hints: tuple[str, ...]
    described: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    seconds: float = field(compare=False)

    @property
    def cost(self) -> Cost:
        """What was spent."""
        return spent(self.history)

    @property
    def as_planned(self) -> bool:
        """Whether what was spent is what was planned."""
        return self.plan.least.total <= self.cost.total <= self.plan.most.total

    @property
    def schedule(self) -> Schedule:
        """The values of the main line, ready to be replayed."""
        return schedule_of(self.history)

    @property
    def final(self) -> dict[str, Value]:
        """The values in force at the end."""
        return dict(self.history[-1].candidate)


def prepare(settings: LinkRun, *, graph: Graph | None = None, lean: bool = False) -> LinkJob:
    """Load, split and check; without a graph, ``settings.graph`` names a bundled graph.

    A ``lean`` run measures only what its criterion reads, so its history has no other metrics, and
    does without the self-check, as campaigns of many runs of one trainer do.

    >>> str(prepare(LinkRun(epochs=20)).plan)
    '20 epochs on the main line + 18 overhead = 38: 1.90 runs, 21% of a complete search of 9'
    """
    _check_device(settings.device)
    graph = load_dataset(settings.graph) if graph is None else graph
    split = make_split(
        graph,
        settings.split,
        protocol=settings.protocol,
        negatives=settings.negatives,
        communities=settings.communities,
        seed=settings.seed,
    )
    for ratio in {settings.ratio, *settings.space.get("edge_message_ratio", ())}:
        message_count(ratio, split.train.shape[1])
    trainer = LinkPredictionTrainer(
        split,
        layers=settings.layers,
        width=settings.width,
        epochs=settings.epochs,
        schedule=settings.schedule,
        rate_restarts=settings.rate_restarts,
        averaged_over=AVERAGED_OVER if settings.method == "recommended" else None,
        edge_message_ratio=settings.ratio,
        seed=settings.seed,
        device=settings.device,
    )
    check: Literal["first", "off"] = "off" if lean else "first"
    with warnings.catch_warnings():
        if not settings.chooses:  # then there is nothing that the hints could be about
            warnings.simplefilter("ignore", Hint)
        adapter = adapter_for(settings, trainer, check=check)
    if lean:
        trainer.measure_only(metrics_of(adapter.policy.criterion))
    return LinkJob(
        settings=replace(settings, graph=graph.name),
        split=split,
        trainer=trainer,
        start=trainer.get_state(),
        plan=plan_for(adapter, settings.epochs),
        hints=adapter.hints if settings.chooses else (),
        check=check,
    )


def train(
    job: LinkJob, *, callbacks: Sequence[Callback] = (), progress: bool | Display = False
) -> LinkResult:
    """Carry out a job from its start; a repetition gives the same result."""
    settings, split = job.settings, job.split
    began = time.perf_counter()
    job.trainer.set_state(job.start)
    adapter = adapter_for(settings, job.trainer, callbacks=callbacks, check=job.check)
    history = adapter.run(settings.epochs, progress=progress)
    measured = job.trainer.test()
    seconds = time.perf_counter() - began
    return LinkResult(
        settings=settings,
        graph=split.graph.name,
        nodes=split.graph.num_nodes,
        edges=split.graph.num_edges,
        test_auc=measured["test_auc"],
        test_ap=measured["test_ap"],
        val_auc=measured["val_auc"],
        epoch=int(measured["epoch"]),
        history=history,
        plan=job.plan,
        audit=audit(split),
        warning=split.warning,
        communities=None if split.communities is None else split.communities.method,
        community_ratio=split.community_ratio,
        hints=job.hints,
        described=adapter.described,
        seconds=seconds,
    )


def run(
    settings: LinkRun,
    *,
    graph: Graph | None = None,
    callbacks: Sequence[Callback] = (),
    lean: bool = False,
) -> LinkResult:
    """Carry out one run; equal settings and graphs give equal results.

    Args:
        settings: all that decides the run.
        graph: the graph to use instead of the bundled graph that the settings name.
        callbacks: functions that are called with each event of the run.
        lean: measure only what the criterion reads: the result is equal, except that its history
            has no other metrics; and leave out the self-check.

    >>> from dynhp_pyg.runs.example import tiny_graph
    >>> result = run(LinkRun(method="neighbors", epochs=20, width=8), graph=tiny_graph())
    >>> result.settings.graph, result.cost.main_line, result.as_planned
    ('tiny', 20, True)
    """
    return train(prepare(settings, graph=graph, lean=lean), callbacks=callbacks)


def _check_device(name: str) -> None:
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SettingsError(
            f"device must be one that torch can use here, got {name!r} ({reason}); use 'cpu'"
        ) from None
