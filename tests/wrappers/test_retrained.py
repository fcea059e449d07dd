"""Retrained: what cannot be copied is trained again, exactly, or the run stops."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import NotRepeatable, SettingsError
from dynhp.testing import check_trainer
from dynhp.wrappers import Retrained
from tests.support.messages import raises

SPACE = {"lr": [0.1, 0.5, 0.9]}


class Hidden:
    """A walk with a generator that can neither be read nor set."""

    seed: int | None = 3

    def __init__(self) -> None:
        rng = random.Random(self.seed)
        self.draw, self.x, self.trained = rng.random, 1.0, 0
        self.lr = 0.1

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        assert k, "only whole epochs can be trained again"
        (self.lr,) = (hyperparameters[name] for name in hyperparameters if name == "lr")
        if len(hyperparameters) > 1:
            raise SettingsError("unknown")
        for _ in range(k):
            self.x *= 1 - self.lr * self.draw()
            self.trained += 1

    def metrics(self) -> dict[str, float]:
        return {"loss": self.x**2}

    def hyperparameters(self) -> dict[str, Any]:
        return {"lr": self.lr}

    def digest(self) -> str:
        return repr(self.x)


class Undoes(Hidden):
    """Remembers where it was, so that it can go back."""

    seed = 5

    def __init__(self) -> None:
        super().__init__()
        self.draw = lambda: 0.5
        self.been = [self.x]

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            super().train_k(1, hyperparameters)
            self.been.append(self.x)

    def roll_back(self, epochs: int) -> bool:
        if len(self.been) > 9:  # it does not remember for ever
            return False
        del self.been[-epochs:]
        self.x = self.been[-1]
        return True


class LeftToChance(Hidden):
    """Comes to something else each time."""

    seed = None


class TrainedAgain(Retrained):
    """As ``make()`` of the laws builds it: without arguments, in another process too."""

    def __init__(self) -> None:
        super().__init__(Hidden)


class RolledBack(Retrained):
    """The same with a model that can undo epochs."""

    def __init__(self) -> None:
        super().__init__(Undoes)


@pytest.mark.parametrize("make", [TrainedAgain, RolledBack])
def test_it_obeys_all_laws(make: Any) -> None:
    check_trainer(make, SPACE, another_process=False)


def test_a_dry_run_ends_as_the_model_does_without_us() -> None:
    plain = Hidden()
    plain.train_k(12, {"lr": 0.1})
    trainer = TrainedAgain()
    adapter = DynamicGridAdapter(
        trainer, SPACE, criterion=lowest("loss"), adapt_every=4, try_for=2, dry_run=True
    )
    adapter.run(12)
    assert trainer.model.digest() == plain.digest()
    assert trainer.epochs_retrained > 0


def test_only_what_is_not_on_the_way_is_trained_again() -> None:
    trainer = TrainedAgain()
    trainer.train_k(3, {"lr": 0.1})
    early = trainer.get_state()
    trainer.train_k(2, {"lr": 0.5})
    late = trainer.get_state()
    trainer.set_state(late)
    assert trainer.epochs_retrained == 0  # it was there
    trainer.set_state(early)
    assert trainer.epochs_retrained == 3  # from the beginning
    trainer.set_state(late)
    assert trainer.epochs_retrained == 5  # on from there
    assert late[0] == ((3, {"lr": 0.1}), (2, {"lr": 0.5}))


def test_what_can_be_undone_is_not_trained_again() -> None:
    trainer = RolledBack()
    trainer.train_k(3, {"lr": 0.1})
    state = trainer.get_state()
    trainer.train_k(2, {"lr": 0.5})
    trainer.set_state(state)
    assert trainer.epochs_retrained == 0
    assert trainer.get_state() == state
    trainer.train_k(7, {"lr": 0.5})
    trainer.set_state(state)
    assert trainer.epochs_retrained == 3  # it could not be undone
    assert trainer.get_state() == state


def test_values_without_an_epoch_leave_the_model_alone() -> None:
    trainer = TrainedAgain()
    trainer.train_k(1, {"lr": 0.1})
    state = trainer.get_state()
    trainer.train_k(0, {"lr": 0.9})
    assert trainer.hyperparameters() == {"lr": 0.9}
    assert trainer.get_state() == state
    trainer.set_state(state)
    assert trainer.hyperparameters() == {"lr": 0.1}


def test_a_model_that_comes_to_something_else_stops_the_run() -> None:
    trainer = Retrained(LeftToChance)
    trainer.train_k(2, {"lr": 0.5})
    state = trainer.get_state()
    trainer.train_k(1, {"lr": 0.5})
    with raises(NotRepeatable):
        trainer.set_state(state)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: Retrained(Hidden()),  # type: ignore[arg-type]
        lambda: Retrained(object),  # type: ignore[arg-type]
        lambda: TrainedAgain().set_state(b"weights"),  # type: ignore[arg-type]
        lambda: TrainedAgain().set_state((3, "x")),  # type: ignore[arg-type]
    ],
)
def test_mistakes_are_named(mistake: Any) -> None:
    with raises(SettingsError):
        mistake()
