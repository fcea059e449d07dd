"""The laws of trainers, bit by bit, for every kind of model, protocol and sampler."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dynhp import DynamicGridAdapter, highest
from dynhp.testing import check_trainer, difference
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import example, tiny_graph
from dynhp_pyg.splits.make import make_split

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch_geometric imports deprecated parts of torch
    from torch_geometric.nn import GATConv, GraphSAGE


def sage(channels: int) -> nn.Module:
    """A usual encoder."""
    encoder: nn.Module = GraphSAGE(channels, 6, 2, 6, dropout=0.5)
    return encoder


class NormedGat(nn.Module):
    """An encoder with buffers and noise of its own."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layer = GATConv(channels, 6, dropout=0.4)
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        embedded: Tensor = self.norm(self.layer(x, edge_index))
        return embedded


KINDS: dict[str, dict[str, Any]] = {
    "fast": {},
    "three layers": {"layers": 3},
    "paper": {"protocol": "paper"},
    "paper, three layers, community": {
        "protocol": "paper",
        "layers": 3,
        "negatives": "community",
    },
    "community": {"negatives": "community"},
    "embedding": {"inputs": "embedding"},
    "resampled rarely": {"resample_every": 3},
    "restarted rate": {"rate_restarts": 4, "epochs": 300},
    "without the best": {"keep_best": False, "with_average_precision": True},
    "averaged": {"averaged_over": 3},
    "averaged sage": {"averaged_over": 3, "encoder": sage},
    "reference": {"path": "reference"},
    "sage": {"encoder": sage},
    "normed gat": {"encoder": NormedGat},
}
LOW, HIGH = {"edge_message_ratio": 0.3}, {"edge_message_ratio": 0.7}


def make(kind: str) -> LinkPredictionTrainer:
    """Build a fresh trainer of a kind."""
    arguments = {"width": 6, "epochs": 30, "seed": 5, **KINDS[kind]}
    splitting = {
        "protocol": arguments.pop("protocol", "undirected"),
        "negatives": arguments.pop("negatives", "uniform"),
    }
    return LinkPredictionTrainer(
        make_split(tiny_graph(), (0.6, 0.2, 0.2), **splitting), **arguments
    )


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of trainer in turn."""
    return str(request.param)


def follow(
    trainer: LinkPredictionTrainer, k: int, values: Mapping[str, float]
) -> tuple[Any, dict[str, float]]:
    """Train on, and give the state and the metrics after it."""
    trainer.train_k(k, values)
    return copy.deepcopy(trainer.get_state()), trainer.metrics()


def assert_same(a: object, b: object) -> None:
    """Both are the same to the last bit."""
    assert difference(a, b) is None, difference(a, b)


@pytest.mark.parametrize(
    "kind", [name for name in KINDS if name not in ("reference", "normed gat")]
)
def test_all_laws_as_dynhp_checks_them(kind: str) -> None:
    # The example below is checked in another process: a process for each kind takes too long.
    space = {"edge_message_ratio": [0.3, 0.7], "weight_decay": [0.0, 0.1]}
    report = check_trainer(lambda: make(kind), space, another_process=False)
    assert not report.broken, str(report)


def test_the_example_obeys_all_laws_also_in_another_process() -> None:
    report = check_trainer(*example())
    assert not report.broken, str(report)


def test_restore(kind: str) -> None:
    trainer = make(kind)
    trainer.train_k(4, LOW)
    origin = trainer.get_state()
    expected = follow(trainer, 3, HIGH)
    for again in (trainer, make(kind)):
        again.set_state(origin)
        assert_same(follow(again, 3, HIGH), expected)
    assert_same(again.test(), trainer.test())


_ELSEWHERE = """
import pickle, sys, torch
from dynhp_pyg.runs.example import tiny_graph
from dynhp_pyg.splits.make import make_split
from dynhp_pyg.model.trainer import LinkPredictionTrainer
torch.set_num_threads(1)
origin, values = pickle.load(sys.stdin.buffer)
split = make_split(tiny_graph(), (0.6, 0.2, 0.2))
trainer = LinkPredictionTrainer(split, width=6, epochs=30, seed=123)
trainer.set_state(origin)
trainer.train_k(3, values)
assert "torch_geometric" not in sys.modules, "the fast path does not need it"
pickle.dump((trainer.get_state(), trainer.metrics()), sys.stdout.buffer)
"""


def test_restore_in_another_process() -> None:
    trainer = make("fast")
    trainer.train_k(4, LOW)
    message = pickle.dumps((trainer.get_state(), HIGH))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE], input=message, capture_output=True, env=environment
    )
    assert answer.returncode == 0, answer.stderr.decode()
    assert_same(pickle.loads(answer.stdout), follow(trainer, 3, HIGH))


def test_metrics_belong_to_the_state(kind: str) -> None:
    trainer = make(kind)
    trainer.train_k(3, LOW)
    origin, expected = trainer.get_state(), trainer.metrics()
    trainer.train_k(3, HIGH)
    assert trainer.metrics() != expected
    trainer.set_state(origin)
    assert_same(trainer.metrics(), expected)


def test_isolation(kind: str) -> None:
    trainer = make(kind)
    trainer.train_k(3, LOW)
    handed_out = trainer.get_state()
    # Writable arrays, as after a trip through another process.
    handed_in = pickle.loads(pickle.dumps(handed_out))
    expected = copy.deepcopy(handed_out)
    trainer.train_k(3, HIGH)
    assert_same(handed_out, expected)
    trainer.set_state(handed_in)
    trainer.train_k(3, HIGH)
    trainer.test()
    assert_same(handed_in, expected)


def test_a_state_handed_in_is_not_kept(kind: str) -> None:
    trainer, other = make(kind), make(kind)
    trainer.train_k(3, LOW)
    state = pickle.loads(pickle.dumps(trainer.get_state()))
    other.set_state(state)
    for name in ("parameters", "momentum"):
        state[name][:] = np.nan
    for array in state["fitted"]:
        array[:] = np.nan
    if state["best"] is not None:
        state["best"]["parameters"][:] = np.nan
    assert_same(other.get_state(), trainer.get_state())


def test_composition(kind: str) -> None:
    whole, parts = make(kind), make(kind)
    whole.train_k(7, HIGH)
    for k in (2, 0, 1, 4):
        parts.train_k(k, HIGH)
    assert_same(parts.get_state(), whole.get_state())
    assert_same(parts.metrics(), whole.metrics())


def test_purity(kind: str) -> None:
    watched, left_alone = make(kind), make(kind)
    for _ in range(4):
        before = copy.deepcopy(watched.get_state())
        measured = watched.metrics()
        assert all(type(value) is float for value in measured.values())
        assert_same(watched.metrics(), measured)
        watched.test()
        watched.hyperparameters()
        assert_same(watched.get_state(), before)
        watched.train_k(1, LOW)
        left_alone.train_k(1, LOW)
    assert_same(watched.get_state(), left_alone.get_state())


@pytest.mark.parametrize(
    "values",
    [
        {"edge_message_ratio": 0.9},
        {"learning_rate_scale": 0.1},
        {"weight_decay": 0.5},
        {"dropout": 0.7},
        {"negatives_per_positive": 3.0},
        {"edge_message_ratio": 0.2, "dropout": 0.0, "weight_decay": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind_", ["fast", "reference", "sage"])
def test_force(kind_: str, values: dict[str, float]) -> None:
    usual, changed = make(kind_), make(kind_)
    usual.train_k(2, {})
    changed.train_k(2, values)
    assert not np.array_equal(usual.get_state()["parameters"], changed.get_state()["parameters"])
    assert changed.hyperparameters() == {**usual.hyperparameters(), **values}
    changed.train_k(0, {})
    assert changed.hyperparameters() == usual.hyperparameters()


def test_order(kind: str) -> None:
    trainer = make(kind)
    trainer.train_k(2, LOW)
    origin = trainer.get_state()

    def tries(order: list[dict[str, float]]) -> list[Any]:
        ends = []
        for values in order:
            trainer.set_state(origin)
            ends.append(follow(trainer, 2, values))
        return ends

    forwards, backwards = tries([LOW, HIGH, {}]), tries([{}, HIGH, LOW])
    assert_same(forwards, backwards[::-1])


def test_null(kind: str) -> None:
    """All ratios are tried and the one in force is kept: the plain run, to the last bit."""
    plain, adapted = make(kind), make(kind)
    plain.train_k(12, HIGH)
    adapter = DynamicGridAdapter(
        adapted,
        {"edge_message_ratio": [0.3, 0.7, 0.9]},
        criterion=highest("val_auc"),
        adapt_every=5,
        try_for=2,
        initial=HIGH,
        dry_run=True,
    )
    adapter.run(12)
    assert_same(adapted.get_state(), plain.get_state())
    assert_same(adapted.test(), plain.test())


def test_losing_tries_leave_no_trace(kind: str) -> None:
    plain, adapted = make(kind), make(kind)
    for _ in range(3):
        origin = adapted.get_state()
        for values in (LOW, {"edge_message_ratio": 0.9}):
            adapted.set_state(origin)
            adapted.train_k(2, values)
            adapted.metrics()
        adapted.set_state(origin)
        adapted.train_k(4, HIGH)
    plain.train_k(12, HIGH)
    assert_same(adapted.get_state(), plain.get_state())
    assert_same(adapted.test(), plain.test())


def test_reseeding_changes_the_future_only(kind: str) -> None:
    trainer, other = make(kind), make(kind)
    for each in (trainer, other):
        each.train_k(2, LOW)
    before = trainer.get_state()["parameters"]
    other.reseed(77)
    assert np.array_equal(other.get_state()["parameters"], before)
    first, second = follow(trainer, 1, LOW)[0], follow(other, 1, LOW)[0]
    assert not np.array_equal(first["parameters"], second["parameters"])
    trainer.set_state({**trainer.get_state(), **{"seed": 77}})
    assert trainer.get_state()["seed"] == other.get_state()["seed"]


def test_no_global_generator_is_touched(kind: str) -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    before = torch.get_rng_state(), pickle.dumps(np.random.get_state())
    trainer = make(kind)
    trainer.train_k(2, LOW)
    trainer.test()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert pickle.dumps(np.random.get_state()) == before[1]
    torch.manual_seed(99)
    other = make(kind)
    other.train_k(2, LOW)
    assert_same(other.get_state(), trainer.get_state())
