"""Any sampler proposes: the value in force first, bounds and types, the same answer everywhere."""

from __future__ import annotations

import functools
import logging
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution
from optuna.samplers import (
    BaseSampler,
    CmaEsSampler,
    GPSampler,
    NSGAIISampler,
    QMCSampler,
    RandomSampler,
    TPESampler,
)

from dynhp import (
    Categorical,
    DynamicGridAdapter,
    Float,
    Int,
    OneAxis,
    Ordered,
    Processes,
    Space,
    plan_for,
    spent,
)
from dynhp.errors import Hint, SettingsError
from dynhp.proposers import Known, Proposer, Waves
from dynhp.records import Candidate
from dynhp.spaces import Around
from dynhp.storage import checkpoints
from dynhp.testing import NoisyQuadratic
from dynhp_optuna import OptunaProposer
from dynhp_optuna.distributions import distribution_of, from_optuna, to_optuna
from tests.support.messages import raises, warns
from tests.support.spaces import axes, candidate_of, generators, kinds, luck, run_proposer, spaces

MIXED = Space({"lr": Float(1e-4, 1.0, log=True), "layers": Int(1, 8), "width": Ordered(8, 16, 32)})
FAR = Candidate({"lr": 1e-4, "layers": 8, "width": 8})
QUICK = functools.partial(TPESampler, n_startup_trials=3)


def bowl(candidate: Candidate) -> tuple[float, None]:
    """Best at lr 0.03, 3 layers and a width of 16."""
    lr, layers, width = (float(candidate[name]) for name in ("lr", "layers", "width"))  # type: ignore[arg-type]
    return -(np.log10(lr / 0.03) ** 2) - (layers - 3) ** 2 / 9 - (width != 16) / 4, None


def adapter(proposer: Proposer, **more: Any) -> DynamicGridAdapter:
    space = {"lr": Float(0.003, 0.3, log=True), "momentum": Float(0.0, 0.95)}
    return DynamicGridAdapter(
        NoisyQuadratic(),
        space,
        minimize="loss",
        adapt_every=5,
        try_for=1,
        proposer=proposer,
        **more,
    )


@settings(max_examples=12, deadline=None, derandomize=True)
@given(spaces(), generators, st.integers(1, 6), st.none() | st.integers(1, 3))
@pytest.mark.parametrize("sampler", [RandomSampler, QUICK, CmaEsSampler])
def test_bounds_types_and_counts_hold_on_any_space(
    sampler: Any, space: Space, rng: np.random.Generator, k: int, at_once: int | None
) -> None:
    proposer = OptunaProposer(sampler, k, at_once=at_once)
    start = candidate_of(space, rng, between=True)
    least, most = proposer.waves(space, start)
    assert least == most
    for each in run_proposer(proposer, space, start, luck(rng), rounds=3):
        assert tuple(map(len, each.waves)) == most
        candidates = [candidate for wave in each.waves for candidate in wave]
        assert candidates[0] == each.known.current
        assert len(set(candidates)) == len(candidates)
        for candidate in candidates[1:]:
            assert space.admits(candidate)
            assert kinds(candidate) == kinds(space.cast(candidate))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(axes, generators)
def test_values_come_back_from_optuna_as_they_were(axis: Any, rng: np.random.Generator) -> None:
    distribution = distribution_of(axis)
    for value in {axis.start(), axis.draw(rng), *axis.grid()}:
        parameter = to_optuna(axis, value)
        assert distribution._contains(distribution.to_internal_repr(parameter))
        assert from_optuna(axis, parameter) == value
        assert type(from_optuna(axis, parameter)) is type(value)


def test_an_axis_without_ends_is_searched_within_a_step_of_its_start() -> None:
    axis = Around(1.0, 10.0)
    assert distribution_of(axis) == FloatDistribution(0.1, 10.0, log=True)
    assert [to_optuna(axis, value) for value in (0.001, 0.5, 1000.0)] == [0.1, 0.5, 10.0]
    assert from_optuna(axis, 10.0000001) == 10.0


def test_a_value_between_the_listed_ones_has_the_nearest_place() -> None:
    axis = Ordered(0.1, 0.3, 0.5)
    assert [to_optuna(axis, value) for value in (0.12, 0.28, 0.45)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("sampler", "at_once"), [(QUICK, None), (QUICK, 1), (CmaEsSampler, None), (NSGAIISampler, None)]
)
def test_it_comes_near_the_best_values(sampler: Any, at_once: int | None) -> None:
    proposer = OptunaProposer(sampler, 5, at_once=at_once)
    *_, last = run_proposer(proposer, MIXED, FAR, bowl, rounds=10)
    assert bowl(last.round.candidate)[0] > -0.3
    assert bowl(FAR)[0] < -8


def test_a_gaussian_process_too() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("scipy")
    proposer = OptunaProposer(functools.partial(GPSampler, n_startup_trials=3), 2)
    *_, last = run_proposer(proposer, MIXED, FAR, bowl, rounds=5)
    assert bowl(last.round.candidate)[0] > -3


class NotingSampler(RandomSampler):
    """A sampler that notes what it is shown."""

    seen: list[list[optuna.trial.FrozenTrial]]

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        done = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
        self.seen.append(done)
        return {}


def spying() -> tuple[Callable[..., BaseSampler], list[list[optuna.trial.FrozenTrial]]]:
    seen: list[list[optuna.trial.FrozenTrial]] = []

    def make(seed: int) -> BaseSampler:
        spy = NotingSampler(seed=seed)
        spy.seen = seen
        return spy

    return make, seen


def test_the_rounds_so_far_are_the_trials_and_old_ones_are_forgotten() -> None:
    make, seen = spying()
    rounds = list(
        run_proposer(OptunaProposer(make, 1, window=2), MIXED, MIXED.start(), bowl, rounds=4)
    )
    assert [len(trials) for trials in seen] == [0, 2, 4, 4]
    tried = [try_.candidate for each in rounds[1:3] for try_ in each.round.tries]
    params = [{"lr": each["lr"], "layers": each["layers"]} for each in tried]
    assert [{n: v for n, v in t.params.items() if n != "width"} for t in seen[-1]] == params
    assert sorted(trial.value for trial in seen[-1]) == [0.0, 0.0, 1.0, 1.0]  # type: ignore[type-var]


def test_the_tries_of_this_round_are_seen_as_soon_as_they_are_there() -> None:
    make, seen = spying()
    list(run_proposer(OptunaProposer(make, 3, at_once=1), MIXED, MIXED.start(), bowl, rounds=1))
    assert [len(trials) for trials in seen] == [0, 2, 3]  # one alone has beaten nobody


def test_only_the_order_within_a_round_matters() -> None:
    """Losses fall by orders of magnitude as a model learns: that must not look like progress."""

    def shrinking(candidate: Candidate) -> tuple[float, None]:
        shrinking.calls += 1  # type: ignore[attr-defined]
        return 3.0 + bowl(candidate)[0] * 0.1 ** ((shrinking.calls - 1) // 6), None  # type: ignore[attr-defined]

    shrinking.calls = 0  # type: ignore[attr-defined]
    plain, other = (
        [
            each.waves
            for each in run_proposer(
                OptunaProposer(QUICK, 5), MIXED, MIXED.start(), score, rounds=5
            )
        ]  # type: ignore[arg-type]
        for score in (bowl, shrinking)
    )
    assert plain == other


def test_what_it_proposes_follows_from_the_records_alone() -> None:
    rounds = list(run_proposer(OptunaProposer(QUICK, 3), MIXED, MIXED.start(), bowl, rounds=4))
    known = rounds[-1].known
    before = (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]
    first = OptunaProposer(QUICK, 3).propose(known, np.random.default_rng(5))
    assert OptunaProposer(QUICK, 3).propose(known, np.random.default_rng(5)) == first
    assert OptunaProposer(QUICK, 3).propose(known, np.random.default_rng(6)) != first
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]


@pytest.mark.parametrize("sampler", [QUICK, CmaEsSampler])
def test_killed_and_resumed_it_is_the_same(sampler: Any, tmp_path: Path) -> None:
    whole = adapter(OptunaProposer(sampler, 3, at_once=2)).run(40)
    for epochs in (15, 40):
        with checkpoints(tmp_path, adapter(OptunaProposer(sampler, 3, at_once=2))) as resumed:
            history = resumed.run(epochs)
    assert history == whole


def test_it_is_the_same_on_other_processes() -> None:
    with Processes(NoisyQuadratic, workers=2) as executor:
        there = adapter(OptunaProposer(QUICK, 3), executor=executor).run(15)
    assert there == adapter(OptunaProposer(QUICK, 3)).run(15)


PROCESS = """
import functools
from optuna.samplers import TPESampler, CmaEsSampler
from dynhp import DynamicGridAdapter, Float
from dynhp.testing import NoisyQuadratic
from dynhp_optuna import OptunaProposer
space = {"lr": Float(0.003, 0.3, log=True), "momentum": Float(0.0, 0.95)}
for sampler in (functools.partial(TPESampler, n_startup_trials=3), CmaEsSampler):
    adapter = DynamicGridAdapter(NoisyQuadratic(), space, minimize="loss", adapt_every=5, try_for=1,
                                 proposer=OptunaProposer(sampler, 3))
    print([dict(try_.candidate) for round_ in adapter.run(20) for try_ in round_.tries])
print(adapter.policy.proposer)
"""


def test_it_is_the_same_in_every_process_and_nothing_is_on_the_screen() -> None:
    root = Path(__file__).parents[3]
    path = os.pathsep.join(map(str, (root, root / "integrations" / "optuna")))
    outputs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROCESS],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_the_cost_is_known_before() -> None:
    run = adapter(OptunaProposer(QUICK, 3, at_once=1))
    plan = plan_for(run, 30)
    assert plan.exact
    assert spent(run.run(30)) == plan.most


def test_a_dry_run_is_the_plain_run() -> None:
    run = adapter(OptunaProposer(QUICK, 3), dry_run=True)
    run.run(15)
    alone = NoisyQuadratic()
    alone.train_k(15, run.current)
    assert (run.trainer.weights == alone.weights).all()  # type: ignore[attr-defined]


def test_a_small_space_has_fewer_candidates() -> None:
    space = Space({"kind": Categorical("a", "b", "c"), "flag": Ordered(True, False)})
    proposer = OptunaProposer(QUICK, 9, at_once=4)
    assert proposer.waves(space, space.start()) == Waves((5, 1), (5, 1))
    for each in run_proposer(
        proposer, space, space.start(), luck(np.random.default_rng(0)), rounds=5
    ):
        assert {candidate for wave in each.waves for candidate in wave} == set(space.grid())
    alone = Space({"kind": Categorical("a")})
    assert proposer.waves(alone, alone.start()) == Waves((1,), (1,))
    [only] = OptunaProposer(QUICK).propose(Known(space=alone, current=alone.start()), None)  # type: ignore[arg-type]
    assert only == alone.start()


class EvenSizes:
    """An axis of somebody's own."""

    def grid(self) -> tuple[int, ...]:
        return (2, 4, 6, 8)

    def start(self) -> int:
        return 4

    def neighbors(self, value: int, radius: int = 1) -> tuple[int, ...]:
        return tuple(near for near in self.grid() if 0 < abs(near - value) <= 2 * radius)

    def admits(self, value: object) -> bool:
        return value in (2, 4, 6, 8, 10)

    def cast(self, value: Any) -> int:
        return int(value)

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.choice(self.grid()))


def test_an_axis_of_your_own_is_a_list_of_its_grid() -> None:
    axis: Any = EvenSizes()
    space = Space({"heads": axis, "lr": Float(0.1, 1.0)})
    start = Candidate({"heads": 10, "lr": 0.5})  # admitted, but not on the grid
    rounds = run_proposer(
        OptunaProposer(QUICK, 3), space, start, luck(np.random.default_rng(0)), rounds=4
    )
    for each in rounds:
        assert all(c["heads"] in (2, 4, 6, 8) for c in each.waves[0][1:])


def test_inside_one_axis() -> None:
    proposer = OneAxis(OptunaProposer(QUICK, 2))
    for each in run_proposer(proposer, MIXED, MIXED.start(), bowl, rounds=6):
        name = list(MIXED)[each.round.index % 3]
        others = [other for other in MIXED if other != name]
        assert {c[o] for c in each.waves[0] for o in others} == {
            each.known.current[o] for o in others
        }


def spread(sampler: Any, replay: bool | None) -> float:
    """How far the candidates of the last rounds lie apart."""
    space = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    score = lambda c: (-((c["x"] - 0.3) ** 2) - (c["y"] - 0.6) ** 2, None)  # noqa: E731
    proposer = OptunaProposer(sampler, 6, replay=replay)
    rounds = list(run_proposer(proposer, space, space.start(), score, rounds=10))
    return float(np.std([c["x"] for each in rounds[-3:] for c in each.waves[0][1:]]))  # type: ignore[arg-type]


def test_a_sampler_whose_memory_is_in_its_trials_begins_them_again() -> None:
    assert spread(CmaEsSampler, None) < 0.08
    with warns(Hint):
        assert spread(CmaEsSampler, False) > 0.1  # it learns nothing, which is why


def test_a_quasi_random_sequence_goes_on() -> None:
    rounds = run_proposer(OptunaProposer(QMCSampler, 3), MIXED, MIXED.start(), bowl, rounds=4)
    new = [candidate for each in rounds for candidate in each.waves[0][1:]]
    assert len(set(new)) == len(new)


def log_settings() -> tuple[Any, ...]:
    logger = logging.getLogger("optuna")
    return logger.level, logger.handlers[:], logger.propagate


def test_what_optuna_warns_of_is_a_hint_once(capfd: pytest.CaptureFixture[str]) -> None:
    before = log_settings()
    space = Space({"x": Float(0.0, 1.0), "kind": Categorical("a", "b", "c")})
    run = lambda: list(  # noqa: E731
        run_proposer(
            OptunaProposer(CmaEsSampler, 2),
            space,
            space.start(),
            luck(np.random.default_rng(0)),
            rounds=4,
        )
    )
    with warns(Hint) as hints:
        run()
    assert len([hint for hint in hints if "Optuna says" in str(hint.message)]) == 1
    assert capfd.readouterr() == ("", "")
    assert log_settings() == before


def test_two_that_differ_are_told_apart_in_a_checkpoint(tmp_path: Path) -> None:
    with checkpoints(tmp_path, adapter(OptunaProposer(QUICK, 2))) as saved:
        saved.run(5)
    other = OptunaProposer(functools.partial(TPESampler, n_startup_trials=4), 2)
    with (
        raises(SettingsError),
        checkpoints(tmp_path, adapter(other)),
    ):
        pass


BAD: list[tuple[Callable[[Any], Any], Any]] = [
    (OptunaProposer, TPESampler(seed=0)),
    (OptunaProposer, "tpe"),
    (OptunaProposer, lambda: None),
    (OptunaProposer, lambda seed: seed),
    (lambda k: OptunaProposer(QUICK, k), 0),
    (lambda k: OptunaProposer(QUICK, k), True),
    (lambda n: OptunaProposer(QUICK, window=n), 0.5),
    (lambda n: OptunaProposer(QUICK, at_once=n), 0),
    (lambda n: OptunaProposer(QUICK, replay=n), 1),
]


@pytest.mark.parametrize(("make", "argument"), BAD)
def test_bad_input(make: Callable[[Any], Any], argument: Any) -> None:
    with raises(SettingsError):
        make(argument)
