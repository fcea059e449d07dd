"""What cannot work of tails, corrections, shares and axes without ends is refused at once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing, lowest, plan, plan_for
from dynhp.criteria import worse_of
from dynhp.errors import ContractError, SettingsError
from dynhp.proposers import Climb
from dynhp.records import Candidate
from dynhp.spaces import Around, Space
from dynhp.tails import annealed, at_peak, averaged, scale, scheduled, wsd
from dynhp.tails.contract import (
    Searched,
    corrected,
    epochs_of,
    require_correction,
    require_course,
    require_length,
    require_tail,
)
from dynhp.triggers import At, Every, OnPlateau, any_of
from tests.support.bad_input import Call, refuse
from tests.support.messages import raises
from tests.support.reference import Toy


class OddTail:
    """A tail that gives what it was made with."""

    def __init__(self, values: Any, length: Any = 1) -> None:
        self.values, self._length = values, length

    def __repr__(self) -> str:
        return "OddTail()"

    def length(self, planned: int | None, unit: str) -> Any:
        return self._length

    def at(self, candidate: Candidate, progress: float) -> Any:
        return self.values


class BrokenTail:
    """A tail with a mistake in one of its methods."""

    def __init__(self, broken: str) -> None:
        self.broken = broken

    def __repr__(self) -> str:
        return "BrokenTail()"

    def length(self, planned: int | None, unit: str) -> int:
        return {"at": 1}[self.broken]

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        return candidate.but({"lr": {"length": 0.1}[self.broken]})


TWO: dict[str, Any] = {"lr": Around(0.1), "wd": [0.0, 0.1]}
SEVERAL = any_of(Every(12), any_of(Every(3), OnPlateau("loss", patience=2)))

ADAPTER: list[dict[str, Any]] = [
    {"tail": 3},
    {"tail": annealed},
    {"tail": OddTail(None)},
    {"tail": OddTail({"rate": 1.0})},
    {"tail": annealed("rl")},
    {"space": {"lr": [1, 2]}, "tail": annealed("lr")},
    {"try_for": 0},
    {"try_for": False},
    {"try_for": 1.5},
    # Shares are looked at as whole numbers are, where the run's length is known.
    {"try_for": 0.5, "epochs": 20},
    {"try_for": 0.2, "epochs": 20, "selection": Racing(), "tail": annealed("lr", epochs=2)},
    {"try_for": 0.5, "epochs": 20, "adapt_every": None, "when": SEVERAL},
    {"then": 0.3},
    {"then": dict},
    {"then": lambda: 0},
    {"then": scale(0.1)},
    {"then": lambda candidate: candidate},
    {"then": lambda candidate, searched: 3},
    {"space": {"lr": ["a", "b"]}, "then": scale(2.0)},
    {"space": TWO, "then": scale(0.3)},
    {"then": scale(0.3, "rl")},
    {"then": lambda candidate, searched: dict(candidate)["x"]},
    {"then": at_peak("rl")},
    {"space": {"lr": [1, 2]}, "then": at_peak("lr")},
    {"then": at_peak("lr", power=0.5, factor=0.1)},
    {"tail": BrokenTail("at")},
    {"space": {"lr": ["a", "b"]}, "proposer": Climb()},
]


@pytest.mark.parametrize("changes", ADAPTER)
def test_an_adapter_refuses(changes: dict[str, Any]) -> None:
    given = {"space": {"lr": [0.01, 0.1]}, "minimize": "loss", "adapt_every": 4, "try_for": 1}
    trainer = Toy()
    with raises((SettingsError, ContractError)):
        DynamicGridAdapter(trainer, **{**given, **changes})
    assert trainer.trained == 0


MAKERS: list[tuple[Call, type[Exception]]] = [
    (lambda: annealed(""), SettingsError),
    (lambda: annealed("lr", epochs=0), SettingsError),
    (lambda: annealed("lr", epochs=2.5), SettingsError),
    (lambda: annealed("lr", warm_up=1.0), SettingsError),
    (lambda: scale(0), SettingsError),
    (lambda: scale(0.1, ""), SettingsError),
    (lambda: scale(math.inf), SettingsError),
    (lambda: at_peak(""), SettingsError),
    (lambda: at_peak("lr", power=2), SettingsError),
    (lambda: at_peak("lr", factor=0), SettingsError),
    (lambda: averaged(0), SettingsError),
    (lambda: worse_of(lowest("a"), lambda series, progress: 0.0), SettingsError),
    (lambda: Around(0.1, anchor=-1.0), SettingsError),
    (lambda: Climb(worse=0), SettingsError),
    (lambda: Climb(learns=3), SettingsError),  # type: ignore[arg-type]
    (lambda: wsd(math.nan), SettingsError),
    (lambda: wsd("half"), SettingsError),
    (lambda: wsd(0.5, warm_up=-0.1), SettingsError),
    (lambda: wsd(0.5, decay_from=1.1), SettingsError),
    (lambda: wsd(0.5, warm_up=0.8), SettingsError),
    (lambda: Around(0), SettingsError),
    (lambda: Around(0.1, 1.0), SettingsError),
    (lambda: Climb(0), SettingsError),
    (lambda: plan(epochs=10, adapt_every=5, try_for=0, candidates=3), SettingsError),
    (lambda: plan(epochs=10, adapt_every=5, try_for=0, candidates=3, tail=-1), SettingsError),
]


@pytest.mark.parametrize(("call", "error"), MAKERS)
def test_makers_refuse(call: Call, error: type[Exception]) -> None:
    refuse(call, error)


@pytest.mark.parametrize("when", [At([0]), any_of(At([0]), Every(10))])
def test_a_share_that_fits_is_taken_and_one_that_does_not_is_refused_by_the_plan(when: Any) -> None:
    adapter = DynamicGridAdapter(Toy(), {"lr": [0.1]}, minimize="loss", when=when, try_for=0.5)
    assert plan_for(adapter, 20).most.main_line == 20
    late = DynamicGridAdapter(Toy(), {"lr": [0.1]}, minimize="loss", when=SEVERAL, try_for=0.5)
    with raises(SettingsError):
        plan_for(late, 20)


def test_a_tail_of_no_length_is_refused_where_it_begins() -> None:
    adapter = DynamicGridAdapter(
        Toy(),
        {"lr": [0.1]},
        minimize="loss",
        adapt_every=4,
        try_for=1,
        tail=OddTail({"lr": 0.1}, 0),
    )
    with raises(SettingsError):
        adapter.run(4)


def test_a_tail_whose_length_raises_is_named() -> None:
    adapter = DynamicGridAdapter(
        Toy(), {"lr": [0.1]}, minimize="loss", adapt_every=4, try_for=1, tail=BrokenTail("length")
    )
    with raises(ContractError) as caught:
        adapter.run(4)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_scale_leaves_what_it_does_not_name_alone() -> None:
    assert repr(scale(0.3)) == "scale(0.3)"
    assert repr(scale(0.3, "lr")) == "scale(0.3, 'lr')"
    trainer = DynamicGridAdapter(
        Toy(), TWO, minimize="loss", adapt_every=4, try_for=1, then=scale(0.3, "lr")
    )
    for round_ in trainer.run(12):
        winner: Any = round_.winner
        assert round_.candidate["wd"] == winner.candidate["wd"]
        assert round_.candidate["lr"] == pytest.approx(0.3 * winner.candidate["lr"])


def test_a_correction_is_cast_to_the_space() -> None:
    space = Space({"lr": Around(1)})
    value = corrected(
        lambda candidate, searched: Candidate({"lr": 2}), Candidate({"lr": 1.0}), Searched(space)
    )
    assert value == {"lr": 2.0}
    assert isinstance(value["lr"], float)  # type: ignore[index]


def test_a_plan_of_tails_alone() -> None:
    cost = plan(epochs=10, adapt_every=5, try_for=0, candidates=3, tail=4, restart=True)
    assert cost.overhead == 2 * 3 * 4 + 2 * 4


@pytest.mark.parametrize(
    ("progress", "factor"), [(-1, 0.0), (0.01, 0.5), (0.3, 1.0), (0.85, 0.5), (2, 0.0)]
)
def test_wsd(progress: float, factor: float) -> None:
    assert wsd(progress) == pytest.approx(factor)


def test_wsd_without_warm_up_or_decay() -> None:
    assert wsd(0.0, warm_up=0.0) == 1.0
    assert wsd(1.0, decay_from=1.0) == 1.0


@pytest.mark.parametrize("value", [1e-300, 1e300, 1.5e-300])
def test_an_axis_without_ends_stays_among_the_numbers(value: float) -> None:
    axis = Around(value)
    near = axis.neighbors(value, 5)
    assert len(near) in (5, 6)
    assert all(0 < each < math.inf for each in (*near, *axis.grid()))


def test_from_between_its_steps_an_axis_goes_on_from_there() -> None:
    axis = Around(1.0, 10.0)
    assert axis.neighbors(2.0, 2) == (0.02, 0.2, 20.0, 200.0)
    assert repr(axis) == "Around(1.0, 10.0)"
    assert not axis.admits(0.0)
    assert not axis.admits(True)


@pytest.mark.parametrize(
    "made",
    [
        lambda: at_peak("lr", power=1.5),
        lambda: at_peak("lr", factor=math.inf),
        lambda: averaged(1.5),
        lambda: Around(math.inf),
        lambda: Around(0.1, anchor=math.inf),
        lambda: Around(0.1, math.inf),
        lambda: Around(0.1, 1.0009),
    ],
)
def test_what_lies_beyond_the_limit_is_refused(made: Any) -> None:
    with raises(SettingsError):
        made()


def test_the_limits_themselves_are_taken() -> None:
    whole = at_peak("lr", power=1)
    assert (whole.power, whole.factor) == (1.0, 1.0)
    assert averaged(1).share == 1.0
    assert Around(0.1, 1.001).factor == 1.001
    assert annealed("lr", warm_up=0).at(ONE, 0.0) == ONE
    assert scheduled("lr", "linear", warm_up=0).at(ONE, 0.0) == ONE
    assert [wsd(at, warm_up=0.5, decay_from=0.5) for at in (0.25, 0.5, 0.75)] == [0.5, 1.0, 0.5]
    assert [wsd(at) for at in (-math.inf, math.inf)] == [0.0, 0.0]


ONE = Candidate({"lr": 1.0})


class WithinTheRun:
    """A tail and a schedule that is defined from the beginning to the end, and nowhere else."""

    def length(self, planned: int | None, unit: str) -> int:
        return 2

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        assert 0 <= progress <= 1
        return candidate


def test_what_is_asked_for_values_is_asked_within_the_run() -> None:
    require_course(WithinTheRun(), Space({"lr": [0.5, 1.0]}), ONE)
    require_tail(WithinTheRun(), Space({"lr": [0.5, 1.0]}), ONE)


def test_a_value_that_is_none_is_named() -> None:
    with raises(SettingsError):
        require_course(OddTail({"lr": [1.0]}), Space({"lr": [0.5, 1.0]}), ONE)


def test_a_correction_that_leads_out_of_the_space_is_named_with_the_value() -> None:
    def tenfold(candidate: Candidate, searched: Searched) -> Candidate:
        return candidate.but({"lr": 10.0})

    with raises(ContractError):
        corrected(tenfold, ONE, Searched(Space({"lr": [0.5, 1.0]})))


def test_a_correction_may_look_at_the_space_when_it_is_checked() -> None:
    def lowest_of_all(candidate: Candidate, searched: Searched) -> Candidate:
        return candidate.but({"lr": searched.space["lr"].grid()[0]})

    require_correction(lowest_of_all, Space({"lr": [0.5, 1.0]}))


def test_a_share_is_below_one_and_has_at_least_one_epoch() -> None:
    assert [epochs_of("try_for", 0.05, planned) for planned in (4, 90)] == [1, 4]
    with raises(SettingsError):
        require_length("try_for", 1.0)
