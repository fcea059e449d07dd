"""The settings of an adapter: defaults, and the value in force at the start."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from dynhp import (
    Best,
    Categorical,
    DynamicGridAdapter,
    FullGrid,
    Placebo,
    Serial,
    Space,
    lowest,
)
from dynhp.errors import ContractError, Hint, SettingsError
from dynhp.records import Candidate, Round, Try
from dynhp.start import hint_at_edges, hint_at_length, require_total
from dynhp.tails import scheduled
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At, OnPlateau
from tests.support.messages import warns
from tests.support.reference import (
    SPACE,
    Diary,
    Toy,
    diary_adapter,
    toy_settings,
)


@pytest.mark.parametrize(
    ("by_trainer", "initial", "start"),
    [
        (None, None, {"x": 2, "act": "relu"}),  # the middle of the list, the first of the words
        ({"x": 4, "act": "tanh"}, None, {"x": 4, "act": "tanh"}),
        ({"x": 4}, None, {"x": 4, "act": "relu"}),
        ({"x": 5, "act": "none"}, None, {"x": 5, "act": "none"}),  # not on the grid: they join it
        ({"x": None}, None, {"x": 2, "act": "relu"}),  # nothing is in force yet
        ({"act": None}, None, {"x": 2, "act": None}),
        ({"x": 4}, {"x": 1, "act": None}, {"x": 1, "act": None}),
    ],
)
def test_the_first_value_in_force(by_trainer: Any, initial: Any, start: Any) -> None:
    trainer: Any = Diary({1: 1})
    if by_trainer is not None:
        trainer.hyperparameters = lambda: by_trainer
    adapter = DynamicGridAdapter(
        trainer,
        {"x": [1, 2, 4], "act": Categorical("relu", "tanh", None)},
        criterion=lowest("loss"),
        adapt_every=2,
        try_for=1,
        initial=initial,
    )
    assert adapter.current == start


def test_the_initial_value_has_the_type_of_its_axis() -> None:
    adapter = diary_adapter(Diary({0.5: 1, 1.0: 2}), initial={"x": 1})
    assert type(adapter.current["x"]) is float


def test_a_read_back_of_other_names_is_refused_with_all_of_them() -> None:
    trainer: Any = Diary({1: 1})
    trainer.hyperparameters = lambda: {"rate": 0.1, "decay": 0.0}
    with pytest.raises(ContractError) as caught:
        DynamicGridAdapter(
            trainer,
            {"x": [1, 2], "y": [3, 4]},
            criterion=lowest("loss"),
            adapt_every=2,
            try_for=1,
        )
    assert str(caught.value) == (
        "hyperparameters() names 'rate', 'decay', but 'x', 'y' is adapted, so nothing could be "
        "read back; use the same names"
    )


def test_a_word_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(SettingsError) as caught:
        diary_adapter(Diary({0: 1}), randomness="rare")
    assert str(caught.value) == "randomness must be 'common' or 'independent', got 'rare'"


def test_a_space_may_be_given_ready() -> None:
    adapter = toy_settings().adapter(Toy())
    assert adapter.policy.space is SPACE
    assert isinstance(adapter.policy.proposer, FullGrid)
    assert isinstance(adapter.policy.selection, Best)
    assert isinstance(adapter.executor, Serial)


def test_a_value_in_force_that_a_float32_rounded_is_met_on_the_grid() -> None:
    trainer = NoisyQuadratic()
    trainer.in_force = {"lr": float(np.float32(0.3))}
    space = {"lr": [0.1, 0.2, 0.3]}
    adapter = DynamicGridAdapter(trainer, space, criterion=lowest("loss"), adapt_every=2, try_for=1)
    assert adapter.current == {"lr": 0.3}


def refusal(kind: type[Exception], trainer: Any, space: Any, **settings: Any) -> str:
    given: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    with pytest.raises(kind) as caught:
        DynamicGridAdapter(trainer, space, **(given | settings))
    return str(caught.value)


class BoundRate(NoisyQuadratic):
    """Its value ``speed`` is bound to a learning rate."""

    kinds: ClassVar = {"speed": "learning_rate"}


def test_randomness_that_cannot_be_is_refused_in_these_words() -> None:
    message = refusal(
        SettingsError, Toy(), {"lr": [0.1, 0.2]}, proposer=Placebo(2), randomness="common"
    )
    assert message == (
        "Placebo(k=2) makes sense only with randomness='independent', got 'common'; leave the "
        "argument out"
    )
    diary = Diary({0: 1})
    message = refusal(SettingsError, diary, {"x": [0, 1]}, randomness="independent")
    assert message == (
        f"randomness='independent' needs a trainer with reseed(seed), got {diary!r}; add that "
        "method or use randomness='common'"
    )


def test_learning_rates_that_cannot_be_are_refused_in_these_words() -> None:
    assert refusal(SettingsError, BoundRate(), {"speed": [0.1, "high", "low"]}) == (
        "speed: a learning rate must be a number, got 'high'; list numbers alone, such as "
        "[0.01, 0.1]"
    )
    assert refusal(SettingsError, BoundRate(), {"speed": [0.1, -0.2, -0.1]}) == (
        "speed: a learning rate must be above 0, got -0.2; a negative one climbs"
    )


def test_every_name_of_a_space_is_looked_at() -> None:
    """A rate that cannot be is refused also behind a value that may be anything."""
    message = refusal(SettingsError, NoisyQuadratic(), {"other": [-1, 1], "lr": [-0.1, 0.1]})
    assert message.startswith("lr: a learning rate must be above 0, got -0.1")


@pytest.mark.parametrize("values", [["slow", "fast"], ["auto", 0.1]])
def test_a_rate_that_is_bound_to_nothing_may_have_words(values: list[Any]) -> None:
    trainer = Diary(dict.fromkeys(values, 1.0))
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    adapter = DynamicGridAdapter(trainer, {"lr": values}, **settings)
    assert set(adapter.policy.space["lr"].grid()) == set(values)


def test_an_initial_value_that_cannot_be_is_refused_as_such() -> None:
    message = refusal(SettingsError, Toy(), {"lr": [0.1, 0.2]}, initial={"lr": 3.0})
    assert message.startswith("initial: lr must lie in Ordered(0.1, 0.2), got 3.0")


def test_a_read_back_that_is_no_mapping_is_refused() -> None:
    trainer: Any = Diary({1: 1})
    trainer.hyperparameters = lambda: [0.1]
    assert refusal(ContractError, trainer, {"x": [1, 2]}) == (
        "hyperparameters() must map names to values, got [0.1]"
    )


def test_a_read_back_of_many_other_names_is_cut() -> None:
    trainer: Any = Diary({1: 1})
    trainer.hyperparameters = lambda: {"n" * 300: 1}
    assert refusal(ContractError, trainer, {"x": [1, 2]}).startswith(
        f"hyperparameters() names '{'n' * 199}, but 'x' is adapted"
    )


def test_a_tolerance_is_a_finite_number() -> None:
    message = refusal(SettingsError, Toy(), {"lr": [0.1, 0.2]}, tolerance=math.inf)
    assert message == "tolerance must be a number from 0 on, got inf"
    assert diary_adapter(Diary({0: 1, 1: 2}), tolerance=0).policy.tolerance == 0


@pytest.fixture
def no_hint_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())


def hints_of(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        call()
    return [str(each.message) for each in caught if each.category is Hint]


@pytest.mark.usefixtures("no_hint_given")
def test_one_value_alone_is_a_hint() -> None:
    one = {"x": [1], "y": [2]}
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    trainer = Diary({1: 1})
    assert hints_of(lambda: DynamicGridAdapter(trainer, one, **settings)) == [
        "x, y: with one value there is nothing to choose; list several"
    ]
    two = {"x": [1], "y": [2, 3]}
    assert hints_of(lambda: DynamicGridAdapter(trainer, two, **settings)) == []


@pytest.mark.usefixtures("no_hint_given")
def test_a_rate_of_zero_is_a_hint() -> None:
    settings: Any = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    space = {"speed": [0.0, 0.1]}
    hints = hints_of(
        lambda: DynamicGridAdapter(BoundRate(), space, initial={"speed": 0.1}, **settings)
    )
    assert hints[0] == "speed: with a learning rate of 0 a try learns nothing; leave the 0 out"


@pytest.mark.usefixtures("no_hint_given")
def test_a_run_that_is_done_already_is_a_hint() -> None:
    assert hints_of(lambda: require_total(5, 4)) == []
    assert hints_of(lambda: require_total(5, 5)) == [
        "run(5) trains until the main line has 5 epochs in all, and it has 5 already, so "
        "nothing is trained; add them, as in run(adapter.epoch + 10)"
    ]
    assert hints_of(lambda: require_total(5, 5)) == []
    assert len(hints_of(lambda: require_total(6, 7))) == 1
    assert len(hints_of(lambda: require_total(6, 8))) == 1


def test_a_round_without_tries_is_as_short_as_its_record() -> None:
    def lengths(epochs: int) -> list[tuple[int, int]]:
        adapter = diary_adapter(
            Diary({0: 1, 1: 2}), adapt_every=None, when=At([4]), try_for=4, record_every=2
        )
        tries = [(round_.epochs, round_.tries) for round_ in adapter.run(epochs)]
        return [(whole, tried[0].epochs if tried else 0) for whole, tried in tries]

    assert lengths(9) == [(2, 0), (2, 0), (4, 4), (1, 0)]
    assert lengths(7) == [(2, 0), (2, 0), (3, 3)]


def edge_round(index: int, value: float, other: float) -> Round:
    """A round that kept this value, with another one tried beside it."""
    tries = tuple(
        Try(candidate=Candidate({"x": each, "y": 1, "z": 5}), series=({},), epochs=1, score=0.0)
        for each in (value, other)
    )
    return Round(
        index=index,
        start=index,
        epochs=1,
        previous=tries[0].candidate,
        tries=tries,
        chosen=0,
        reason="",
        metrics={},
    )


@pytest.mark.usefixtures("no_hint_given")
@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ([(3, 2), (3, 2)], "largest value 3 in rounds 0 and 1"),
        ([(1, 2), (1, 2)], "smallest value 1 in rounds 0 and 1"),
        ([(2, 1), (3, 2), (3, 1)], "largest value 3 in rounds 1 and 2"),
        ([(3, 2)], None),
        ([(3, 2), (1, 2)], None),
        ([(1, 2), (3, 2)], None),
        ([(2, 1), (2, 1)], None),
        ([(2, 1), (3, 2), (2, 3)], None),
        ([(3, 2), (3, 3)], None),  # nothing else was tried
    ],
)
def test_a_winner_at_an_edge_in_two_rounds_is_a_hint(
    rounds: list[tuple[float, float]], words: str | None
) -> None:
    records = [edge_round(index, *values) for index, values in enumerate(rounds)]
    space = Space({"y": [1, 2, 3, 0], "z": [4, 5, 6], "x": [1, 2, 3]})
    hints = hints_of(lambda: hint_at_edges(space, records))
    side = f"x was best at its {words}: widen its axis on that side"
    assert hints == ([] if words is None else [side])


class Elsewhere:
    """An executor that notes what must be sent to its workers."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, object]] = []
        self.run = Serial().run

    def require_sendable(self, what: str, thing: object) -> None:
        self.sent.append((what, thing))


@pytest.mark.parametrize(
    ("settings", "criterion_is_sent"),
    [
        ({"start_from": "best", "try_for": 2}, True),
        ({"start_from": "best", "try_for": 3}, True),
        ({"start_from": "best", "try_for": 1}, False),  # its only epoch is its end
        ({"start_from": "before", "try_for": 2}, False),
        ({"try_for": 2}, False),
    ],
)
def test_workers_need_the_criterion_if_they_must_find_the_best_epoch_inside_of_a_try(
    settings: dict[str, Any], criterion_is_sent: bool
) -> None:
    executor, criterion = Elsewhere(), lowest("loss")
    DynamicGridAdapter(
        NoisyQuadratic(),
        {"lr": [0.1, 0.2]},
        criterion=criterion,
        when=OnPlateau("loss", patience=2),
        max_rounds=1,
        executor=executor,
        **settings,
    )
    what = "with start_from='best' and tries of several epochs the criterion"
    assert [each for each in executor.sent if each[1] is criterion] == (
        [(what, criterion)] if criterion_is_sent else []
    )


def test_each_run_whose_schedule_is_stretched_gets_a_hint() -> None:
    policy = DynamicGridAdapter(
        NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=4, try_for=1,
        course=scheduled("lr"), epochs=10,
    ).policy  # fmt: skip
    with warns(Hint):
        hint_at_length(policy, 10, 20)
    assert len(hints_of(lambda: hint_at_length(policy, 10, 20))) == 1, "another run, another hint"
    assert hints_of(lambda: hint_at_length(policy, None, 20)) == []
    assert hints_of(lambda: hint_at_length(policy, 20, 20)) == []


def test_a_thousand_candidates_are_not_too_many() -> None:
    def made(last: int) -> Any:
        space = {"x": [*range(10)], "y": [*range(10)], "z": [*range(last)]}
        return lambda: DynamicGridAdapter(
            Diary({0: 1}), space, criterion=lowest("loss"), adapt_every=4, try_for=2
        )

    assert hints_of(made(10)) == []
    [hint] = hints_of(made(11))
    assert "1,100 candidates" in hint


class Tolerant(NoisyQuadratic):
    """A trainer that says how near it comes when it is trained again."""

    tolerance = 1e-6
    driven_by: ClassVar[dict[str, str]] = {"lr": "a schedule of its own"}


def test_a_tolerance_is_that_of_the_run_or_else_that_of_the_trainer() -> None:
    def policy(**settings: Any) -> Any:
        return DynamicGridAdapter(
            Tolerant(), {"lr": [0.1, 0.2]}, minimize="loss", adapt_every=4, try_for=0.1, **settings
        )

    assert policy().policy.tolerance == 1e-6
    assert policy(tolerance=1e-3).policy.tolerance == 1e-3
    assert policy(tolerance=1.0).run(20)[0].tries[0].epochs == 2  # a tenth of the run
