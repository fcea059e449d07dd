"""What an adapter is right after it was made: as asked for, and the usual where nothing was."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Space, highest, lowest
from dynhp.advice import hints_for
from dynhp.snapshots import Snapshots
from dynhp.tails import annealed
from dynhp.testing import Quadratic


def made(trainer: Any = None, **settings: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {"space": {"lr": [0.1, 0.5]}, "adapt_every": 2, "try_for": 1}
    if not {"minimize", "maximize"} & settings.keys():
        given["criterion"] = lowest("loss")
    return DynamicGridAdapter(trainer or Quadratic(), **(given | settings))


def test_what_is_given_is_taken_as_it_is() -> None:
    space, snapshots = Space({"lr": [0.1, 0.5]}), Snapshots(k=3)
    adapter = made(space=space, snapshots=snapshots, tolerance=0.5)
    assert adapter.policy.space.given is space
    assert adapter.policy.snapshots is snapshots
    assert adapter.policy.tolerance == 0.5


def test_the_usual() -> None:
    adapter = made()
    assert (adapter.policy.seed, adapter.policy.tolerance, adapter.callbacks) == (0, 0.0, ())
    assert adapter.policy.snapshots == Snapshots()
    assert adapter.described == {}  # nothing, until a round has begun


def test_a_trainer_says_how_far_its_repeats_may_be_off() -> None:
    class DeclaresTolerance(Quadratic):
        tolerance = 0.25

    assert made(DeclaresTolerance()).policy.tolerance == 0.25
    assert made(DeclaresTolerance(), tolerance=0.125).policy.tolerance == 0.125


def test_one_callback_needs_no_list() -> None:
    one, two = list[Any]().append, list[Any]().append
    assert made(callbacks=one).callbacks == (one,)
    assert made(callbacks=[one, two]).callbacks == (one, two)


def test_a_metric_is_as_good_as_a_criterion() -> None:
    assert made(minimize="loss").policy.criterion == lowest("loss")
    assert made(maximize="loss").policy.criterion == highest("loss")


@pytest.mark.parametrize(
    ("tail", "kinds"),
    [(None, None), (None, {"lr": "dropout"}), (annealed("lr", epochs=3), None)],
)
def test_hints_go_by_names_criterion_kinds_and_tail(tail: Any, kinds: Any) -> None:
    trainer = Quadratic()
    trainer.kinds = kinds  # type: ignore[attr-defined]
    adapter = made(trainer, tail=tail)
    assert adapter.hints == hints_for(("lr",), lowest("loss"), kinds, tail=tail is not None)


def test_hints_of_the_cases_differ() -> None:
    """So that the test above can fail."""
    usual = hints_for(("lr",), lowest("loss"), None, tail=False)
    assert usual
    assert usual != hints_for(("lr",), lowest("ema_loss"), None, tail=False)
    assert usual != hints_for(("lr",), lowest("loss"), {"lr": "dropout"}, tail=False)
    assert usual != hints_for(("lr",), lowest("loss"), None, tail=True)
