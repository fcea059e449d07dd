"""Every run proves its own promise: one try is carried out again and must give the same result."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from dynhp import Best, DynamicGridAdapter, FullGrid, Neighbors, Racing, lowest, plan_for, spent
from dynhp.errors import AllTriesFailed, NotRepeatable, SettingsError, ValueNotUsed
from dynhp.testing import NoisyQuadratic
from tests.support.kinds import PROPOSERS, SELECTIONS, randomness_of
from tests.support.messages import raises
from tests.support.reference import Diary, Toy, bits, without_times

LRS = [0.01, 0.05, 0.2]


def adapter_of(trainer: Any, **settings: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 2}
    return DynamicGridAdapter(trainer, settings.pop("space", {"lr": LRS}), **(given | settings))


class Leaky(NoisyQuadratic):
    """Something that decides training and is not in its state."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten = np.random.default_rng(5)

    def train_k(self, k: int, hyperparameters: Any) -> None:
        for _ in range(k):
            super().train_k(1, hyperparameters)
            self.leak()

    def leak(self) -> None:
        self.weights = self.weights + 1e-9 * self.forgotten.normal()


class LeakyMeasure(NoisyQuadratic):
    calls = 0

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, hyperparameters)
        self.calls += k

    def metrics(self) -> Any:
        return {"loss": super().metrics()["loss"] + 1e-12 * self.calls}


@pytest.mark.parametrize("proposer", PROPOSERS, ids=repr)
@pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
@pytest.mark.parametrize("check", ["first", "every"])
def test_a_check_changes_nothing_but_the_cost(proposer: Any, selection: Any, check: Any) -> None:
    runs = []
    for how in ("off", check):
        trainer = Toy(3)
        adapter = adapter_of(
            trainer,
            proposer=proposer,
            selection=selection,
            randomness=randomness_of(proposer, "common"),
            check=how,
        )
        planned = plan_for(adapter, 11)
        history = adapter.run(11)
        assert planned.least.total <= spent(history).total <= planned.most.total
        assert spent(history).total == trainer.trained
        runs.append((without_times(history), bits(trainer.get_state()), history))
    assert runs[0][:2] == runs[1][:2]
    checked = [round_.checked > 0 for round_ in runs[1][2]]
    assert checked == ([True] * 3 if check == "every" else [True, False, False])


@pytest.mark.parametrize("randomness", ["common", "independent"])
@pytest.mark.parametrize("values", [LRS, LRS[:1]])
def test_what_is_not_in_the_state_stops_the_first_round(randomness: Any, values: Any) -> None:
    trainer = Leaky()
    adapter = adapter_of(trainer, space={"lr": values}, randomness=randomness)
    before = bits(trainer.get_state())
    with pytest.raises(NotRepeatable) as caught:
        adapter.run(8)
    message = str(caught.value)
    assert "the first try of round 0 (lr=" in message
    assert "the state differs in state['weights']" in message
    assert "trainer.forgotten (Generator) changed in the tries and was not put back" in message
    assert "check='off'" in message
    assert len(adapter.history) == 0
    assert bits(trainer.get_state()) == before


def test_what_changes_outside_is_named_although_the_repeat_came_to_the_same() -> None:
    trainer = Leaky()
    trainer.leak = lambda: trainer.forgotten.normal()  # type: ignore[method-assign,assignment]
    with raises(NotRepeatable):
        adapter_of(trainer).run(8)


def test_metrics_that_differ_though_the_states_agree() -> None:
    with raises(NotRepeatable):
        adapter_of(LeakyMeasure()).run(8)


def test_states_that_differ_though_the_metrics_agree() -> None:
    class LeaksUnheard(Leaky):
        def leak(self) -> None:
            self.velocity = self.velocity + 1e-9 * next(TICKS)

    with raises(NotRepeatable):
        adapter_of(LeaksUnheard(), try_for=1).run(8)


def test_a_repeat_that_fails_did_not_give_the_same_result() -> None:
    class Full(NoisyQuadratic):
        calls = 0

        def train_k(self, k: int, hyperparameters: Any) -> None:
            self.calls += 1
            if self.calls == 9:  # four tries of two epochs come first
                raise MemoryError("the disk is full")
            super().train_k(k, hyperparameters)

    with raises(NotRepeatable):
        adapter_of(Full()).run(8)


def test_ranks_stop_together() -> None:
    class Rank(NoisyQuadratic):
        """One of two, of which the other has a leak."""

        def agree(self, value: Any) -> list[Any]:
            return [value, "the other rank leaks"]

    with raises(ValueNotUsed):
        adapter_of(Rank()).run(8)

    class Later(Rank):
        asked = 0

        def agree(self, value: Any) -> list[Any]:
            self.asked += 1
            return [value, "the other rank leaks" if self.asked == 2 else None]

    with raises(NotRepeatable):
        adapter_of(Later()).run(8)


def test_a_metric_that_nobody_reads_may_be_the_time() -> None:
    class Timed(NoisyQuadratic):
        ticks = itertools.count()

        def metrics(self) -> Any:
            return {**super().metrics(), "seconds": float(next(self.ticks))}

    assert adapter_of(Timed()).run(8).epochs == 8


def test_off_means_off() -> None:
    trainer = Leaky()
    assert adapter_of(trainer, check="off").run(8)[0].checked == 0


def test_a_tolerance_is_enough_for_noise_below_it() -> None:
    class Rough(Leaky):
        tolerance = 1e-6

    class Mute(Rough):
        def __init__(self) -> None:
            super().__init__()
            del self.forgotten

        def leak(self) -> None:
            self.weights = self.weights * (1 + 1e-12 * next(TICKS))

    adapter = adapter_of(Mute())
    assert adapter.policy.tolerance == 1e-6
    assert adapter.run(8).epochs == 8
    with pytest.raises(NotRepeatable):
        adapter_of(Mute(), tolerance=0.0).run(8)
    with pytest.raises(NotRepeatable):
        adapter_of(Mute(), tolerance=1e-15).run(8)


TICKS = itertools.count(1)


def test_every_round_is_checked_where_that_is_asked_for() -> None:
    class LeaksLater(Leaky):
        def leak(self) -> None:
            if self.steps > 6:
                super().leak()

    assert adapter_of(LeaksLater()).run(12).epochs == 12
    with raises(NotRepeatable):
        adapter_of(LeaksLater(), check="every").run(12)


def test_a_run_that_goes_on_in_another_process_is_checked_again() -> None:
    first = adapter_of(NoisyQuadratic())
    first.run(8)
    assert not first.check_is_due
    again = adapter_of(NoisyQuadratic())
    again.trainer.set_state(first.trainer.get_state())
    again.load_state_dict(first.state_dict())
    assert again.check_is_due
    assert plan_for(again, 12).most.overhead == spent(first.history).overhead + 6 + 2 + 2
    assert [round_.checked for round_ in again.run(12)] == [4, 0, 4]


def test_the_first_try_that_does_not_fail_is_repeated() -> None:
    trainer = Toy(raising=[LRS[1]])
    trainer.steps = 0
    adapter = adapter_of(trainer)
    round_ = adapter.step()
    assert round_.tries[0].error is not None
    assert round_.checked == 4


def test_no_try_no_repeat() -> None:
    diary = Diary({0: ValueError("one"), 1: ValueError("two")})
    with pytest.raises(AllTriesFailed):
        adapter_of(diary, space={"x": [0, 1]}).step()
    assert diary.trained == 2


def test_a_race_repeats_only_its_first_stage() -> None:
    adapter = adapter_of(NoisyQuadratic(), selection=Racing(), try_for=4)
    assert adapter.step().checked == 2 * Racing().stages(3, 4)[0].epochs == 2


class IgnoresItsRate(NoisyQuadratic):
    """Stores the value in its state and reads it back, but trains without it."""

    def __init__(self) -> None:
        super().__init__()
        self.lr = 0.0

    def get_state(self) -> Any:
        return {**super().get_state(), "lr": self.lr, "single": np.float32(self.lr)}

    def set_state(self, state: Any) -> None:
        super().set_state({name: state[name] for name in state if name not in ("lr", "single")})
        self.lr = state["lr"]

    def hyperparameters(self) -> Any:
        return {"lr": self.lr}

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.lr = hyperparameters["lr"]
        super().train_k(k, {"lr": 0.1})


def test_a_value_that_training_ignores_is_an_error() -> None:
    trainer = IgnoresItsRate()
    with raises(ValueNotUsed):
        adapter_of(trainer, initial={"lr": 0.01}).run(8)
    assert trainer.lr == 0.0


def test_one_try_that_differs_is_enough() -> None:
    class Partly(IgnoresItsRate):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            self.lr = hyperparameters["lr"]
            NoisyQuadratic.train_k(self, k, {"lr": 0.2 if self.lr == 0.2 else 0.1})

    assert adapter_of(Partly(), initial={"lr": 0.01}).run(8).epochs == 8


def test_equal_metrics_with_other_states_are_no_error() -> None:
    class Blunt(NoisyQuadratic):
        def metrics(self) -> Any:
            return {"loss": 0.5}

    assert adapter_of(Blunt()).run(8).epochs == 8


@pytest.mark.parametrize("randomness", ["common", "independent"])
@pytest.mark.parametrize("keep", ["winner", "value"])
@pytest.mark.parametrize("selection", [Best(), Racing()])
@pytest.mark.parametrize("proposer", [None, Neighbors()])
def test_a_dry_run_is_the_plain_run(
    randomness: Any, keep: Any, selection: Any, proposer: Any
) -> None:
    plain, trainer = NoisyQuadratic(), NoisyQuadratic()
    plain.train_k(11, {"lr": 0.05})
    adapter = adapter_of(
        trainer,
        randomness=randomness,
        keep=keep,
        selection=selection,
        proposer=proposer,
        dry_run=True,
        initial={"lr": 0.05},
    )
    planned = plan_for(adapter, 11)
    history = adapter.run(11)
    assert bits(trainer.get_state()) == bits(plain.get_state())
    assert planned.most == spent(history)
    for round_ in history:
        assert round_.candidate == {"lr": 0.05}
        assert len(round_.tries) > 1
        assert round_.checked
        assert round_.restarted


def test_a_dry_run_tries_the_value_in_force_though_nobody_proposed_it() -> None:
    class Others:
        def propose(self, known: Any, rng: Any) -> Any:
            grid = FullGrid().propose(known, rng)
            return [] if known.tries else [each for each in grid if each != known.current]

        def waves(self, space: Any, current: Any) -> Any:
            return Neighbors().waves(space, current)

    history = adapter_of(NoisyQuadratic(), proposer=Others(), dry_run=True).run(4)
    assert history[0].candidate == history[0].previous == {"lr": 0.1}


def test_a_dry_run_says_what_leaked() -> None:
    with raises(NotRepeatable):
        adapter_of(Leaky(), dry_run=True).run(8)


def test_a_dry_run_cannot_become_a_real_one() -> None:
    dry = adapter_of(NoisyQuadratic(), dry_run=True)
    dry.step()
    with raises(SettingsError):
        adapter_of(NoisyQuadratic()).load_state_dict(dry.state_dict())


def test_a_dry_run_whose_own_value_fails_says_so() -> None:
    trainer = Toy(raising=[0.05])
    trainer.steps = 0
    with pytest.raises(AllTriesFailed):
        adapter_of(trainer, dry_run=True, initial={"lr": 0.05}).step()


@pytest.mark.parametrize(
    "settings",
    [
        {"check": "last"},
        {"tolerance": -1e-3},
        {"tolerance": "small"},
        {"dry_run": "yes"},
    ],
)
def test_settings_that_cannot_be(settings: Any) -> None:
    with raises(SettingsError):
        adapter_of(NoisyQuadratic(), **settings)


def test_a_trainer_that_is_sound_hears_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapter_of(NoisyQuadratic(), space={"lr": [0.1, 0.2]}, check="every").run(12)


class Remembers(NoisyQuadratic):
    """Says which value it was last trained with."""

    lr = 0.01

    def hyperparameters(self) -> Any:
        return {"lr": self.lr}

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.lr = hyperparameters["lr"]
        super().train_k(k, hyperparameters)


@pytest.mark.parametrize(("epochs", "adapt_every"), [(2, 2), (5, 3)])
def test_where_no_epoch_follows_the_choice_its_value_is_in_force(
    epochs: int, adapt_every: int
) -> None:
    trainer = Remembers(noise=0.0)
    settings = {"initial": {"lr": 0.2}, "adapt_every": adapt_every, "check": "off"}
    adapter = adapter_of(trainer, space={"lr": [0.2, 0.01]}, **settings)
    adapter.run(epochs)
    assert [try_.candidate["lr"] for try_ in adapter.history[-1].tries] == [0.2, 0.01]
    assert trainer.lr == adapter.current["lr"] == 0.2
