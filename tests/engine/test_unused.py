"""Unused axes are named in the first round, and an axis that is used never is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from dynhp import DynamicGridAdapter, FullGrid, Neighbors, OneAxis, errors, lowest
from dynhp.engine.commands import Job, Look
from dynhp.engine.compare import EndedTry, UnusedAxes
from dynhp.errors import Hint, ValueNotUsed
from dynhp.records import Candidate
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.messages import raises, warns
from tests.support.protocol import UNSEEN, CheckAnswers, answered

SPACE: dict[str, Any] = {"lr": [0.1, 0.2, 0.3], "decay": [0.0, 0.1, 0.2]}


class WithDecay(Quadratic):
    """A quadratic in which a second value does what the test wants with the rate."""

    def __init__(self, rate: Callable[[float, float], float]) -> None:
        super().__init__()
        self.rate = rate

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, {"lr": self.rate(hyperparameters["lr"], hyperparameters["decay"])})

    def hyperparameters(self) -> dict[str, Any]:
        return {}


@pytest.fixture(autouse=True)
def hints_are_given_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())


def unused(lr: float, decay: float) -> float:
    return lr


def adapter_of(trainer: Any, **changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {"criterion": lowest("loss"), "adapt_every": 2, "try_for": 1}
    return DynamicGridAdapter(trainer, **{"space": SPACE, **settings, **changes})


@pytest.mark.parametrize("decays", [[0.0, 0.1, 0.2], [0.0, 0.1], [False, True]])
@pytest.mark.parametrize("proposer", [FullGrid(), Neighbors()])
def test_an_unused_axis_is_named_beside_one_that_is_used(proposer: Any, decays: list[Any]) -> None:
    space = SPACE | {"decay": decays}
    for names in (("lr", "decay"), ("decay", "lr")):  # the order of tries depends on it
        trainer = WithDecay(unused)
        ordered = {name: space[name] for name in names}
        errors._given.clear()
        with warns(Hint):
            adapter_of(trainer, space=ordered, proposer=proposer).run(4)


def test_the_message_names_both_likely_causes_and_the_way_out() -> None:
    with pytest.warns(Hint) as caught:
        adapter_of(WithDecay(unused)).run(4)
    [text] = [str(each.message) for each in caught if "differ only" in str(each.message)]
    assert text == (
        "all tries of round 0 that differ only in decay gave exactly the same result, in metrics "
        "and state. Either nothing reads the value (bind it, or read it where it is used in "
        "training), or a try is too short for it to matter (a rate that a warm-up multiplies by 0, "
        "a value used only every few epochs): use a larger try_for"
    )


@pytest.mark.parametrize("values", [[0.0, 0.1], [0.0]])
def test_a_long_name_is_cut(values: list[float]) -> None:
    class TrainsAlike(Quadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            super().train_k(k, {"lr": hyperparameters["lr"] if len(values) > 1 else 0.1})

        def hyperparameters(self) -> dict[str, Any]:
            return {}

    space = {"n" * 5000: values, "lr": [0.1, 0.2]}
    said: Any = pytest.warns(Hint) if len(values) > 1 else pytest.raises(ValueNotUsed)
    with said as caught:
        adapter_of(TrainsAlike(), space=space).step()
    all_said = [str(each.message) for each in caught] if len(values) > 1 else [str(caught.value)]
    [text] = [each for each in all_said if f"{'n' * 197}..." in each]
    assert len(text) < 800


@pytest.mark.parametrize(
    ("rate", "changes"),
    [
        (lambda lr, decay: lr * (1 - decay), {}),
        (lambda lr, decay: lr * (1 - decay) if lr == 0.3 else lr, {}),  # it matters for one rate
        (unused, {"proposer": OneAxis()}),  # its first round tries rates only
        (unused, {"check": "off"}),
        (unused, {"tolerance": 1e-6}),
        (unused, {"space": SPACE | {"decay": [0.0]}}),
    ],
)
def test_no_axis_is_named_without_evidence(
    rate: Callable[[float, float], float], changes: dict[str, Any]
) -> None:
    assert len(adapter_of(WithDecay(rate), **changes).run(4)) == 2


def test_one_axis_notices_it_when_the_axis_has_the_first_turn() -> None:
    space = {name: SPACE[name] for name in ("decay", "lr")}
    adapter = adapter_of(WithDecay(unused), space=space, proposer=OneAxis())
    with raises(ValueNotUsed):
        adapter.step()


def test_a_value_that_stops_mattering_later_is_not_reported() -> None:
    rounds: list[Any] = []

    def rate(lr: float, decay: float) -> float:
        return lr if rounds else lr * (1 - decay)

    adapter = adapter_of(WithDecay(rate), check="every")
    rounds.append(adapter.step())
    adapter.step()


def test_tries_that_meet_other_random_numbers_are_not_compared() -> None:
    class Noiseless(NoisyQuadratic):
        """What it draws changes nothing, so that tries are equal all the same."""

        def train_k(self, k: int, hyperparameters: Any) -> None:
            super().train_k(k, {"lr": hyperparameters["lr"]})

        def hyperparameters(self) -> dict[str, Any]:
            return {}

        def reseed(self, seed: int) -> None: ...

    with warns(Hint):
        adapter_of(Noiseless()).step()
    adapter_of(Noiseless(), randomness="independent").step()


def job(**values: Any) -> Job:
    return Job(origin=0, candidate=Candidate(values), epochs=1, watch=("loss",))


class End(NamedTuple):
    """What comes of a job."""

    state: Any
    loss: float
    more: dict[str, Any]


def end(state: Any, loss: float = 0.5, **more: Any) -> End:
    return End(state, loss, more)


FAILED: dict[str, Any] = {"error": "ValueError: no"}


@pytest.mark.parametrize(
    ("tries", "names"),
    [
        ([(job(a=1, b=1), end(5)), (job(a=1, b=2), end(5))], []),  # the first was not looked at
        ([(job(a=1, b=1), end(5)), (job(a=1, b=2), end(5)), (job(a=1, b=3), end(5))], ["b"]),
        ([(job(a=1, b=1), end(5)), (job(a=1, b=2), end(5)), (job(a=1, b=3), end(6))], []),
        ([(job(a=1, b=1), end(5)), (job(a=1, b=2), end(5)), (job(a=1, b=3), end(5, 0.4))], []),
        ([*((job(a=1, b=n), end(5)) for n in range(3)), (job(a=1, b=3), end(6))], []),
        ([*((job(a=1, b=n), end(5)) for n in range(3)), (job(a=1, b=3), end(5, 0.4))], []),
        ([(job(a=1, b=1), end(5)), (job(a=1, b=1), end(5)), (job(a=1, b=1), end(5))], []),
        ([(job(a=1, b=n), end(5, **FAILED)) for n in range(3)], []),
        ([(job(a=1, b=n), end(UNSEEN)) for n in range(3)], []),
        (
            [
                *((job(a=1, b=n), end(5)) for n in range(3)),
                (job(a=1, b=3), end(5, **FAILED)),
            ],
            [],
        ),
        (
            [
                *((job(a=1, b=n), end(5)) for n in range(3)),
                *((job(a=2, b=n), end(None, 0.4, **FAILED)) for n in range(3)),
            ],
            ["b"],
        ),
        ([(job(a=n, b=n), end(5)) for n in range(3)], []),  # no two of them differ in one value
        ([(job(a=n, b=m), end(5)) for n in range(3) for m in range(3)], ["b", "a"]),
    ],
)
def test_only_pairs_that_differ_in_one_value_prove_something(
    tries: list[tuple[Job, End]], names: list[str]
) -> None:
    axes, _ = added(tries)
    assert axes.unused() == names


def added(tries: Iterable[tuple[Job, End]]) -> tuple[UnusedAxes, CheckAnswers]:
    axes, answers = UnusedAxes(), CheckAnswers()
    for each, result in tries:
        tried = answers.tried(result.state, {"loss": result.loss}, epochs=1, **result.more)
        answered(axes.add(EndedTry(each, tried, 0.0)), answers)
    return axes, answers


def test_states_are_looked_at_only_if_metrics_are_or_were_equal() -> None:
    ends = [end(5, 0.1), end(5, 0.2), end(5, 0.2), end(5, 0.3), end(5, 0.4)]
    jobs = [job(a=1, b=1), job(a=2, b=1), job(a=2, b=2), job(a=3, b=1), job(a=3, b=2)]
    _, answers = added(zip(jobs, ends, strict=True))
    assert [each.ref for each in answers.commands if isinstance(each, Look)] == [3, 4]


def test_a_state_is_looked_at_once() -> None:
    answers = CheckAnswers()
    ended = EndedTry(job(a=1), answers.tried(5), 0.0)
    first, second = (answered(ended.look(), answers) for _ in range(2))
    assert first is second is ended.state
    assert len(answers.commands) == 1
