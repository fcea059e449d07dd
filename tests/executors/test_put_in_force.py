"""Values put in force where no epoch follows: nothing is trained, or the run stops and says so."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp.errors import ContractError, ValueNotInForce
from dynhp.executors.attempt import put_in_force
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises

RULE = "train_k(0, ...) must put {'lr': 0.2} in force and train nothing"
WANTED = Candidate({"lr": 0.2})


class SetsAtZero(NoisyQuadratic):
    """Holds its values in its state, says some of them, and does something at k = 0."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self.values: dict[str, Any] = values
        self.asked: list[int] = []

    def get_state(self) -> Any:
        return {**super().get_state(), "values": dict(self.values)}

    def hyperparameters(self) -> Any:
        return dict(self.values)

    def train_k(self, k: int, hyperparameters: Any) -> None:
        self.asked.append(k)
        self.at_zero(hyperparameters)

    def at_zero(self, wanted: Any) -> None:
        self.values.update(wanted)


def refusal(trainer: Any, kind: type[Exception] = ContractError) -> str:
    with pytest.raises(kind) as caught:
        put_in_force(trainer, WANTED)
    return str(caught.value)


def test_a_state_that_holds_the_value_may_change_by_it() -> None:
    trainer = SetsAtZero(lr=0.1, decay=0.5)
    put_in_force(trainer, WANTED)
    assert trainer.values == {"lr": 0.2, "decay": 0.5}
    assert trainer.asked == [0]


def test_what_is_in_force_already_is_left_alone() -> None:
    trainer = SetsAtZero(lr=0.2)
    put_in_force(trainer, WANTED)
    assert trainer.asked == []


def test_one_value_of_several_that_is_not_in_force_is_enough() -> None:
    trainer = SetsAtZero(lr=0.2, decay=0.5)
    put_in_force(trainer, Candidate({"lr": 0.2, "decay": 0.1}))
    assert trainer.values == {"lr": 0.2, "decay": 0.1}


def test_a_value_that_is_not_read_back_is_no_reason() -> None:
    trainer = SetsAtZero(lr=0.2)
    put_in_force(trainer, Candidate({"decay": 0.1, "lr": 0.2}))
    assert trainer.asked == []


def test_a_trainer_that_reads_nothing_back_is_left_alone() -> None:
    class TellsNothing:
        def train_k(self, k: int, hyperparameters: Any) -> None:
            raise AssertionError("nothing is to be done")

    silent: Any = TellsNothing()
    put_in_force(silent, WANTED)


def test_another_change_is_named() -> None:
    class CountsAtZero(SetsAtZero):
        def at_zero(self, wanted: Any) -> None:
            super().at_zero(wanted)
            self.steps += 1

    message = refusal(CountsAtZero(lr=0.1))
    assert message.startswith(f"{RULE}, but it changed state['steps'] (0 and 1)")
    assert message.endswith("; train k epochs")


def test_a_name_that_is_not_read_back_explains_no_change() -> None:
    class Begins(SetsAtZero):
        """Nothing becomes 0.5, which is also the value of a name that it does not read back."""

        kept: float | None = None

        def get_state(self) -> Any:
            return {**super().get_state(), "kept": self.kept}

        def at_zero(self, wanted: Any) -> None:
            self.values["lr"], self.kept = wanted["lr"], 0.5

    with raises(ContractError):
        put_in_force(Begins(lr=0.1), Candidate({"lr": 0.2, "decay": 0.5}))


def test_what_is_raised_is_shown_up_to_200_characters() -> None:
    class RefusesZero(SetsAtZero):
        def at_zero(self, wanted: Any) -> None:
            raise ValueError("n" * 300)

    assert refusal(RefusesZero(lr=0.1)) == (
        f"{RULE}, but raised ValueError: {'n' * 200}; return where k is 0, after the values are set"
    )


def test_a_value_that_did_not_take_stops_the_run() -> None:
    class SetsNothing(SetsAtZero):
        def at_zero(self, wanted: Any) -> None:
            pass

    message = refusal(SetsNothing(lr=0.1), ValueNotInForce)
    assert message.startswith(f"{RULE}, but lr should be 0.2 but is 0.1 then")
