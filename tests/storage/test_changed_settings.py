"""What may be another setting where a run goes on from its folder, and what may not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dynhp import (
    BestByMargin,
    DynamicGridAdapter,
    Interpolation,
    Policy,
    highest,
    lowest,
    rescue,
    smoothed,
)
from dynhp.errors import RescuesSpent, SettingsError
from dynhp.proposers import Neighbors
from dynhp.snapshots import Snapshots
from dynhp.storage import run_with_checkpoints
from dynhp.storage.codecs import encode
from dynhp.tails import annealed, scale, scheduled
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, Every, OnPlateau, Settled
from tests.support.killing import Killed, MortalTrainer
from tests.support.messages import raises
from tests.support.resuming import without_times

pytestmark = pytest.mark.usefixtures("_fast_disk")


class Breaks(NoisyQuadratic):
    """Its loss explodes now and then, by its own random numbers."""

    def step(self, lr: float, momentum: float) -> None:
        super().step(lr, momentum)
        if self.rng.random() < 0.04:
            self.weights = self.weights + 99.0


def rescued(folder: Path, most: int, trainer: Any = None) -> tuple[Any, Any]:
    trainer = trainer or Breaks(noise=0.5, seed=5)
    policy = rescue("lr", default=0.03, loss="loss")
    adapter = DynamicGridAdapter(trainer, policy=policy, max_rescues=most, check="off")
    return trainer, run_with_checkpoints(adapter, 100, checkpoint=folder)


def test_more_rescues_may_be_allowed_once_they_are_spent(tmp_path: Path) -> None:
    whole, wanted = rescued(tmp_path / "whole", 40)
    needed = sum(round_.rescue for round_ in wanted)
    assert needed > 2
    for _ in range(2):  # with the old number it ends where it did, and does no harm
        with raises(RescuesSpent):
            rescued(tmp_path / "short", 1)
    with pytest.raises(RescuesSpent):
        rescued(tmp_path / "short", 2)
    trainer, history = rescued(tmp_path / "short", 40)
    assert without_times(history) == without_times(wanted)
    assert encode(trainer.get_state()) == encode(whole.get_state())


def test_more_rescues_may_be_allowed_at_any_moment(tmp_path: Path) -> None:
    whole, wanted = rescued(tmp_path / "whole", 40)
    for calls in range(1, 60, 7):
        folder = tmp_path / str(calls)
        with pytest.raises((Killed, RescuesSpent)):
            rescued(folder, 2, MortalTrainer(Breaks(noise=0.5, seed=5), calls))
        trainer, history = rescued(folder, 40)
        assert without_times(history) == without_times(wanted)
        assert encode(trainer.get_state()) == encode(whole.get_state())


@pytest.mark.parametrize("tolerances", [(None, 1e-3), (1e-3, None), (1e-3, 1e-6)])
def test_another_tolerance_accuses_no_sound_trainer(
    tmp_path: Path, tolerances: tuple[float | None, float | None]
) -> None:
    """What an earlier process saw with another tolerance cannot be compared with what is seen."""
    for calls in range(1, 30):
        folder = tmp_path / str(calls)
        for tolerance, dies_after in zip(tolerances, (calls, None), strict=True):
            trainer = MortalTrainer(NoisyQuadratic(noise=0.5, seed=4), dies_after)
            adapter = DynamicGridAdapter(
                trainer, {"lr": [0.01, 0.1]}, minimize="loss", adapt_every=4, try_for=1,
                initial={"lr": 0.01}, tolerance=tolerance,
            )  # fmt: skip
            with suppress(Killed):
                run_with_checkpoints(adapter, 8, checkpoint=folder)
        assert sum(round_.checked for round_ in adapter.history) > 0


def with_rounds(folder: Path, most: int, epochs: int, calls: int | None = None) -> Any:
    trainer = MortalTrainer(NoisyQuadratic(noise=0.5, seed=4), calls)
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.01, 0.1]}, minimize="loss", when=Every(4), try_for=1, max_rounds=most,
        initial={"lr": 0.01}, check="off",
    )  # fmt: skip
    return trainer, run_with_checkpoints(adapter, epochs, checkpoint=folder)


def test_more_rounds_may_be_allowed(tmp_path: Path) -> None:
    _, first = with_rounds(tmp_path, 1, 12)
    assert [bool(round_.tries) for round_ in first].count(True) == 1
    _, both = with_rounds(tmp_path, 3, 24)
    assert list(both)[: len(first)] == list(first)
    assert [bool(round_.tries) for round_ in both].count(True) == 3


def test_a_limit_that_was_not_reached_leaves_no_trace(tmp_path: Path) -> None:
    whole, wanted = with_rounds(tmp_path / "whole", 4, 16)
    with pytest.raises(Killed):
        with_rounds(tmp_path / "killed", 2, 16, calls=4)  # in the tries of the second round
    trainer, history = with_rounds(tmp_path / "killed", 4, 16)
    assert without_times(history) == without_times(wanted)
    assert encode(trainer.get_state()) == encode(whole.get_state())


MAY_CHANGE: dict[str, Any] = {
    "max_rounds": 9,
    "max_rescues": 9,
    "check": "every",
    "tolerance": 1e-9,
    "until": Settled("loss", least=50),
}
MAY_NOT: dict[str, Any] = {
    "space": {"lr": [0.01, 0.1, 0.5]},
    "criterion": smoothed(lowest("loss")),
    "when": At([0, 4]),
    "try_for": 2,
    "proposer": Interpolation(),
    "selection": BestByMargin(noise=1.0),
    "tail": annealed("lr", epochs=1),
    "keep": "value",
    "then": scale(1.0),
    "course": scheduled("lr"),
    "start_from": "before",
    "snapshots": Snapshots(k=7),
    "record_every": 2,
    "randomness": "independent",
    "initial": {"lr": 0.1},
    "seed": 5,
    "dry_run": True,
}


def plain(**changes: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {
        "space": {"lr": [0.01, 0.1]},
        "criterion": lowest("loss"),
        "when": OnPlateau("loss", patience=2),
        "try_for": 1,
        "start_from": "before" if {"snapshots", "max_rescues"} & set(changes) else "here",
        "max_rounds": 4,
        "proposer": Neighbors(),
        "initial": {"lr": 0.01},
    }
    return DynamicGridAdapter(NoisyQuadratic(noise=0.5, seed=4), **{**given, **changes})


def test_every_field_is_here() -> None:
    assert {*MAY_CHANGE, *MAY_NOT} == set(Policy.keys(plain().policy))


@pytest.mark.parametrize("name", MAY_CHANGE)
def test_what_may_change(name: str, tmp_path: Path) -> None:
    before = {"max_rescues": 1} if name == "max_rescues" else {}
    run_with_checkpoints(plain(**before), 8, checkpoint=tmp_path)
    more = run_with_checkpoints(plain(**{name: MAY_CHANGE[name]}), 12, checkpoint=tmp_path)
    assert more.epochs == 12


@pytest.mark.parametrize("name", MAY_NOT)
def test_what_may_not(name: str, tmp_path: Path) -> None:
    before = {"snapshots": Snapshots(k=3)} if name == "snapshots" else {}
    run_with_checkpoints(plain(**before), 8, checkpoint=tmp_path)
    files = {path: path.read_bytes() for path in tmp_path.glob("*.zip")}
    adapter = plain(**{name: MAY_NOT[name]})
    state = encode(adapter.trainer.get_state())
    with raises(SettingsError):
        run_with_checkpoints(adapter, 12, checkpoint=tmp_path)
    assert encode(adapter.trainer.get_state()) == state
    assert {path: path.read_bytes() for path in tmp_path.glob("*.zip")} == files


def test_a_criterion_of_another_direction_is_refused(tmp_path: Path) -> None:
    run_with_checkpoints(plain(), 8, checkpoint=tmp_path)
    with raises(SettingsError):
        run_with_checkpoints(plain(criterion=highest("steps")), 12, checkpoint=tmp_path)
