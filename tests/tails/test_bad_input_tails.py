"""What cannot work of tails, corrections, shares and axes without ends is refused at once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing, plan, plan_for
from dynhp.errors import ContractError, SettingsError
from dynhp.proposers import Climb
from dynhp.records import Candidate
from dynhp.spaces import Around, Space
from dynhp.tails import annealed, scale, wsd
from dynhp.tails.contract import corrected
from dynhp.triggers import At, Every, OnPlateau, any_of
from tests.support.reference import Toy


class OddTail:
    """A tail that gives what it was made with."""

    def __init__(self, values: Any, length: Any = 1) -> None:
        self.values, self._length = values, length

    def __repr__(self) -> str:
        return "OddTail()"

    def length(self, planned: int | None) -> Any:
        return self._length

    def at(self, candidate: Candidate, progress: float) -> Any:
        return self.values


class BrokenTail:
    """A tail with a mistake in one of its methods."""

    def __init__(self, broken: str) -> None:
        self.broken = broken

    def __repr__(self) -> str:
        return "BrokenTail()"

    def length(self, planned: int | None) -> int:
        return {"at": 1}[self.broken]

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        return candidate.but({"lr": {"length": 0.1}[self.broken]})


TWO: dict[str, Any] = {"lr": Around(0.1), "wd": [0.0, 0.1]}
SEVERAL = any_of(Every(12), any_of(Every(3), OnPlateau("loss", patience=2)))

ADAPTER: list[tuple[dict[str, Any], str]] = [
    ({"tail": 3}, r"tail must be a tail such as annealed\('lr', epochs=0.05\), got 3"),
    ({"tail": annealed}, "tail must be a tail such as annealed"),
    ({"tail": OddTail(None)}, r"OddTail\(\) must give a value for each of lr, got None"),
    (
        {"tail": OddTail({"rate": 1.0})},
        r"OddTail\(\) must give a value for each of lr, got {'rate': 1.0}",
    ),
    ({"tail": annealed("rl")}, "no hyperparameter 'rl'; Known: 'lr'"),
    ({"space": {"lr": [1, 2]}, "tail": annealed("lr")}, "lr must be a float to be annealed, got 1"),
    ({"try_for": 0}, "try_for must be a whole number above 0, or .* got 0; only a tail"),
    ({"try_for": False}, "try_for must be a whole number above 0, or .* got False"),
    ({"try_for": 1.5}, "try_for must be a whole number above 0, or .* got 1.5"),
    # Shares are looked at as whole numbers are, where the run's length is known.
    ({"try_for": 0.5, "epochs": 20}, "at most adapt_every, .* 20 epochs, which is 10, and .*=4"),
    (
        {"try_for": 0.2, "epochs": 20, "selection": Racing(), "tail": annealed("lr", epochs=2)},
        "with a tail all tries are judged once, after it",
    ),
    (
        {"try_for": 0.5, "epochs": 20, "adapt_every": None, "when": SEVERAL},
        r"from one round to the next, got try_for=0.5 .* which is 10, and Every\(n=3\) in any_of",
    ),
    ({"then": 0.3}, r"then must be a correction such as scale\(0.3\), .* got 0.3"),
    ({"then": dict}, "then must be a correction"),
    ({"then": lambda: 0}, "then must be a correction"),
    ({"then": scale(0.1)}, r"then=scale\(0.1\) must lead to values of .*Around\(0.01\), holds"),
    ({"then": lambda candidate: 3}, "must lead to values of .* got 3 for {'lr': 0.01}"),
    ({"space": {"lr": ["a", "b"]}, "then": scale(2.0)}, "multiplies numbers, got lr='a'"),
    ({"space": TWO, "then": scale(0.3)}, r"scale\(0.3\) must say which of lr, wd .*0.3, 'lr'\)"),
    ({"then": scale(0.3, "rl")}, r"scale\(0.3, 'rl'\): no hyperparameter 'rl'; Known: 'lr'"),
    (
        {"then": lambda candidate: dict(candidate)["x"]},
        "then=.* raised KeyError: 'x'; it gets a candidate with lr$",
    ),
    (
        {"tail": BrokenTail("at")},
        r"at of BrokenTail\(\) raised KeyError: 'at'; it gets a candidate with lr and a progress",
    ),
    ({"space": {"lr": ["a", "b"]}, "proposer": Climb()}, "goes up and down, so lr needs numbers"),
]


@pytest.mark.parametrize(("changes", "message"), ADAPTER)
def test_an_adapter_refuses(changes: dict[str, Any], message: str) -> None:
    given = {"space": {"lr": [0.01, 0.1]}, "minimize": "loss", "adapt_every": 4, "try_for": 1}
    trainer = Toy()
    with pytest.raises((SettingsError, ContractError), match=message):
        DynamicGridAdapter(trainer, **{**given, **changes})
    assert trainer.trained == 0


MAKERS: list[tuple[Any, str]] = [
    (lambda: annealed(""), "annealed: name must be a non-empty string"),
    (lambda: annealed("lr", epochs=0), "annealed: epochs must be a whole number above 0, or a sha"),
    (lambda: annealed("lr", epochs=2.5), "annealed: epochs must be a whole number above 0, or"),
    (lambda: annealed("lr", warm_up=1.0), "warm_up must be a share from 0 up to below 1, got 1.0"),
    (lambda: scale(0), "scale: factor must be a positive number, got 0"),
    (lambda: scale(0.1, ""), "scale: name must be a non-empty string, got ''"),
    (lambda: scale(math.inf), "scale: factor must be a positive number, got inf"),
    (lambda: wsd(math.nan), "wsd: progress must be a number, got nan"),
    (lambda: wsd("half"), "wsd: progress must be a number, got 'half'"),
    (lambda: wsd(0.5, warm_up=-0.1), "wsd: warm_up must be a share from 0 to 1, got -0.1"),
    (lambda: wsd(0.5, decay_from=1.1), "wsd: decay_from must be a share from 0 to 1, got 1.1"),
    (lambda: wsd(0.5, warm_up=0.8), "wsd: warm_up must end before the decay, got warm_up=0.8"),
    (lambda: Around(0), "Around: value must be a positive number, got 0"),
    (lambda: Around(0.1, 1.0), "Around: factor must be a number of 1.001 or more, got 1.0"),
    (lambda: Climb(0), "Climb: rungs must be a whole number above 0, got 0"),
    (
        lambda: plan(epochs=10, adapt_every=5, try_for=0, candidates=3),
        "try_for must be a whole number above 0, got 0",
    ),
    (
        lambda: plan(epochs=10, adapt_every=5, try_for=0, candidates=3, tail=-1),
        "tail must be a whole number of 0 or more, got -1",
    ),
]


@pytest.mark.parametrize(("make", "message"), MAKERS)
def test_makers_refuse(make: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make()


@pytest.mark.parametrize("when", [At([0]), any_of(At([0]), Every(10))])
def test_a_share_that_fits_is_taken_and_one_that_does_not_is_refused_by_the_plan(when: Any) -> None:
    adapter = DynamicGridAdapter(Toy(), {"lr": [0.1]}, minimize="loss", when=when, try_for=0.5)
    assert plan_for(adapter, 20).most.main_line == 20
    late = DynamicGridAdapter(Toy(), {"lr": [0.1]}, minimize="loss", when=SEVERAL, try_for=0.5)
    with pytest.raises(SettingsError, match=r"which is 10, and Every\(n=3\)"):
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
    with pytest.raises(
        SettingsError, match=r"the length of OddTail\(\) must be a whole number above 0"
    ):
        adapter.run(4)


def test_a_tail_whose_length_raises_is_named() -> None:
    adapter = DynamicGridAdapter(
        Toy(), {"lr": [0.1]}, minimize="loss", adapt_every=4, try_for=1, tail=BrokenTail("length")
    )
    with pytest.raises(
        ContractError,
        match=r"length of BrokenTail\(\) raised KeyError: 'length'; it gets the planned",
    ) as caught:
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
    value = corrected(lambda candidate: Candidate({"lr": 2}), Candidate({"lr": 1.0}), space)
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
