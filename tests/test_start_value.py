"""The value at the start: the trainer's own, on the grid or not, and hints on what was chosen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from dynhp import (
    Categorical,
    DynamicGridAdapter,
    Float,
    Int,
    Interpolation,
    Neighbors,
    OneAxis,
    Ordered,
    Space,
    highest,
    lowest,
    plan_for,
    recommended,
    spent,
)
from dynhp import errors as errors_module
from dynhp.errors import Hint, LeaveItAlone, SettingsError
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.messages import raises, warns


class Reads(Quadratic):
    """Says which value is in force; a larger one is better."""

    def __init__(self, value: Any, name: str = "x") -> None:
        super().__init__()
        self.value, self.name, self.score = value, name, 0.0

    def get_state(self) -> Any:
        return self.value, self.score

    def set_state(self, state: Any) -> None:
        self.value, self.score = state

    def hyperparameters(self) -> dict[str, Any]:
        return {self.name: self.value}

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.value = hyperparameters[self.name]
        self.score += k * (
            self.value if isinstance(self.value, int | float) else len(repr(self.value))
        )

    def metrics(self) -> dict[str, float]:
        return {"score": self.score}


def adapter_of(value: Any, axis: Any, name: str = "x", **settings: Any) -> DynamicGridAdapter:
    known: dict[str, Any] = {"criterion": highest("score"), "adapt_every": 3, "try_for": 1}
    return DynamicGridAdapter(Reads(value, name), {name: axis}, **(known | settings))


@pytest.fixture(autouse=True)
def no_hint_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors_module, "_given", set())


@pytest.fixture
def hints() -> Iterator[list[str]]:
    given: list[str] = []

    def note(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if category is Hint:
            given.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", Hint)
        warnings.showwarning = note
        yield given


@pytest.mark.parametrize(
    ("value", "axis", "grid"),
    [
        (0.05, [0.001, 0.01, 0.1], (0.001, 0.01, 0.05, 0.1)),
        (0.5, [0.001, 0.01, 0.1], (0.001, 0.01, 0.1, 0.5)),
        (0.05, [0.1, 0.01], (0.1, 0.05, 0.01)),
        (1, [0.1, 0.5], (0.1, 0.5, 1.0)),
        (3, [1, 2, 4], (1, 2, 3, 4)),
        (3, [1, 4, 2], (1, 4, 2, 3)),  # an order of one's own: at the end
        ("ccc", ["a", "bb"], ("a", "bb", "ccc")),
        ("ccc", Categorical("a", None), ("a", None, "ccc")),
        (0.05, Float(0.0, 0.2, points=3), (0.0, 0.05, 0.1, 0.2)),
        (5, Int(1, 9, points=2), (1, 5, 9)),
    ],
)
def test_a_value_that_is_not_on_the_grid_starts_and_joins(value: Any, axis: Any, grid: Any) -> None:
    with warns(Hint):
        adapter = adapter_of(value, axis)
    assert adapter.current == {"x": value}
    assert adapter.policy.space["x"].grid() == grid
    assert {each["x"] for each in adapter.policy.space.grid()} == set(grid)
    history = adapter.run(6)
    assert [len(round_.tries) for round_ in history] == [len(grid)] * 2
    assert {try_.candidate["x"] for try_ in history[1].tries} == set(grid)


@pytest.mark.parametrize("proposer", [Neighbors(), OneAxis(), Interpolation()])
@pytest.mark.parametrize("axis", [[0.001, 0.01, 0.1], Float(0.001, 0.1, log=True, points=3)])
def test_the_plan_counts_a_value_that_joined(axis: Any, proposer: Any) -> None:
    adapter = adapter_of(0.05, axis, proposer=proposer)
    plan = plan_for(adapter, 9)
    assert plan.least.total <= spent(adapter.run(9)).total <= plan.most.total


def test_a_value_that_is_on_the_grid_joins_nothing(hints: list[str]) -> None:
    adapter = adapter_of(0.10000000149011612, [0.1, 0.2])
    assert adapter.current == {"x": 0.1}
    assert adapter.policy.space is adapter.policy.space.given
    assert hints == []


@pytest.mark.parametrize(
    ("value", "axis"),
    [
        (0.5, Float(0.001, 0.1)),
        (0, Int(1, 9)),
        (2.5, Int(1, 9)),
        (2.5, [1, 2, 4]),
        ("fast", [0.1, 0.2]),
        (0.3, ["slow", "fast"]),
        (0.3, Categorical("relu", "tanh")),
    ],
)
def test_a_value_that_the_axis_cannot_hold_is_refused(value: Any, axis: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        adapter_of(value, axis)
    message = str(caught.value)
    assert message.startswith(f"x is {value!r} at the start, which ")
    assert "cannot hold; change the axis so that it can, or set x to one of its values" in message


def test_an_axis_of_ones_own_holds_what_it_admits() -> None:
    class Free:
        def grid(self) -> tuple[int, ...]:
            return (1, 3)

        def start(self) -> int:
            return 1

        def neighbors(self, value: Any, radius: int = 1) -> tuple[int, ...]:
            return (1, 3)

        def admits(self, value: Any) -> bool:
            return isinstance(value, int) and 0 < value < 9

        def cast(self, value: Any) -> int:
            return int(value)

        def draw(self, rng: Any) -> int:
            return 1

    adapter = adapter_of(2, Free(), proposer=Neighbors())
    assert adapter.current == {"x": 2}
    with raises(SettingsError):
        adapter_of(9, Free())


def test_a_run_that_started_off_the_grid_is_resumed() -> None:
    whole = adapter_of(0.05, [0.001, 0.01, 0.1])
    whole.run(9)
    first = adapter_of(0.05, [0.001, 0.01, 0.1])
    first.run(6)
    for start in (0.05, 0.1, 0.07):  # made anew, around the state taken back, or by other defaults
        again = adapter_of(start, [0.001, 0.01, 0.1])
        again.trainer.set_state(first.trainer.get_state())
        again.load_state_dict(first.state_dict())
        assert again.policy.space["x"].grid() == (0.001, 0.01, 0.05, 0.1)
        assert again.run(9) == whole.history
    other = adapter_of(0.05, [0.001, 0.01, 0.2])
    with raises(SettingsError):
        other.load_state_dict(first.state_dict())


def test_a_state_saved_before_any_round_is_taken_back() -> None:
    first = adapter_of(0.5, [0.001, 0.1])
    again = adapter_of(0.5, [0.001, 0.1])
    again.load_state_dict(first.state_dict())
    assert again.current == {"x": 0.5}


def test_including_nothing_new_is_the_same_space() -> None:
    space = Space({"x": [1, 2, 3], "y": [0.1, 0.2]})
    assert space.including({"x": 2}) is space
    joined = space.including({"y": 0.15}).including({"x": 4})
    assert joined.given is space
    assert joined == {"x": Ordered(1, 2, 3, 4), "y": Ordered(0.1, 0.15, 0.2)}
    assert repr(Float(0, 1, points=3).including(0.3)) == (
        "Float(0.0, 1.0, log=False, points=3, also=(0.3,))"
    )


def test_a_winner_at_the_edge_twice_gives_one_hint(hints: list[str]) -> None:
    adapter = adapter_of(0.1, [0.01, 0.1, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error", Hint)
        adapter.step()
    with pytest.warns(Hint) as caught:
        adapter.step()
    assert [str(each.message) for each in caught] == [
        "x was best at its largest value 0.5 in rounds 0 and 1: widen its axis on that side"
    ]
    adapter.run(12)
    assert hints == []


@pytest.mark.parametrize(
    ("axis", "settings"),
    [
        ([0.1, 0.5], {}),  # of two values one is always at an edge
        (Categorical(0.1, 0.2, 0.5), {}),
        ([-2.0, -1.0, 0.0], {}),  # zero is where many values end by nature
        ([0.1, 0.5, 0.2], {}),  # no order, so no edge
        ([0.1, 0.2, 0.5], {"dry_run": True}),
    ],
)
def test_other_winners_give_none(axis: Any, settings: Any, hints: list[str]) -> None:
    adapter_of(Space({"x": axis})["x"].grid()[0], axis, **settings).run(9)
    assert [hint for hint in hints if "widen" in hint] == []


def test_the_smallest_value_is_an_edge_too() -> None:
    adapter = adapter_of(0.2, [0.1, 0.2, 0.5], criterion=lowest("score"))
    with warns(Hint):
        adapter.run(6)


@pytest.mark.parametrize("name", ["lr", "learning_rate", "LR"])
def test_a_learning_rate_is_above_zero(name: str) -> None:
    with raises(SettingsError):
        adapter_of(0.1, [-0.1, 0.1, 0.2], name)
    with warns(Hint):
        adapter_of(0.1, [0, 0.1, 0.2], name)
    adapter_of(-0.1, [-0.1, 0.1])  # x may be anything


def test_a_hint_is_given_at_the_line_that_called() -> None:
    with pytest.warns(Hint) as caught:
        adapter_of(0.05, [0.1, 0.2], "dropout")
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error", Hint)
        adapter = adapter_of(0.05, [0.1, 0.2], "dropout")  # once per process
    assert len(adapter.hints) == 1


def test_a_tuple_of_two_numbers_may_be_meant_as_a_range(hints: list[str]) -> None:
    with warns(Hint):
        space = Space({"x": (0.001, 0.1)})
    assert space.grid() == (Candidate({"x": 0.001}), Candidate({"x": 0.1}))
    Space({"x": [0.001, 0.1], "y": (1, 2, 3), "z": ("a", "b")})
    assert hints == []


@pytest.mark.parametrize(
    "axis",
    [
        "0.1",
        ["0.1", "0.01"],
        [0.1, " 1e-3"],
    ],
)
def test_numbers_written_as_text_are_refused(axis: Any) -> None:
    with raises(SettingsError):
        Space({"x": axis})


def test_words_are_no_numbers() -> None:
    Space({"x": ["nan", "mean"], "y": ["1", "auto"], "z": Categorical("1", "2")})


@pytest.mark.parametrize("kind", ["learning_rate", "shrinkage"])
def test_a_value_bound_to_a_learning_rate_is_a_number_above_zero_whatever_its_name(
    kind: str,
) -> None:
    class Bound(NoisyQuadratic):
        kinds: ClassVar = {"speed": kind}

    settings: Any = {"adapt_every": 2, "try_for": 1}
    with raises(SettingsError):
        DynamicGridAdapter(Bound(), {"speed": [0.1, "high"]}, minimize="loss", **settings)
    with raises(SettingsError):
        DynamicGridAdapter(Bound(), {"speed": [0.1, -0.1]}, minimize="loss", **settings)


class Kinds(NoisyQuadratic):
    """Says what its values are."""

    def __init__(self, **kinds: str) -> None:
        super().__init__()
        self.kinds = kinds

    def hyperparameters(self) -> dict[str, float]:
        return {}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("rate", {"rate": "shrinkage"}), ("shrinkage", {}), ("p", {"p": "Dropout"})],
)
def test_annealed_tries_of_what_is_no_learning_rate_are_refused(
    name: str, kinds: dict[str, str]
) -> None:
    with raises(LeaveItAlone):
        policy = recommended("learning_rate", name=name, loss="loss")
        DynamicGridAdapter(Kinds(**kinds), policy=policy)
    DynamicGridAdapter(
        Kinds(**kinds), {name: [0.1, 0.3]}, minimize="loss", adapt_every=4, try_for=1
    )


@pytest.mark.parametrize("kind", ["learning_rate", "step_size"])
def test_those_of_a_learning_rate_and_of_what_nobody_knows_are_not(kind: str) -> None:
    policy = recommended("learning_rate", name="lr", loss="loss", default=0.3)
    adapter = DynamicGridAdapter(Kinds(lr=kind), policy=policy)
    assert adapter.current == {"lr": 0.3}


def test_annealed_tries_beside_a_value_that_is_better_left_alone_are_not() -> None:
    policy = recommended("learning_rate", name="lr", loss="loss")
    space = Space({**policy.space, "p": [0.1]})
    assert DynamicGridAdapter(Kinds(p="dropout"), space, policy=policy).current["p"] == 0.1
