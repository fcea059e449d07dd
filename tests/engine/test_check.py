"""The words of a self-check: which part differs, and how metrics do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dynhp import lowest
from dynhp.best import BestRule
from dynhp.engine.check import SelfCheck, shown_values
from dynhp.engine.commands import Attempt, Job, Reach, Restore, StateRef
from dynhp.errors import Hint, NotRepeatable, ValueNotUsed
from dynhp.records import Candidate, Metrics
from tests.support import protocol
from tests.support.messages import raises, warns
from tests.support.protocol import UNSEEN, CheckAnswers, ScriptedWatcher, answered

JOB = Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2, watch=("loss",))
ORIGIN = StateRef(0)
WAYS_OUT = (
    "Add what is missing to the state. Training that cannot be repeated to the bit declares "
    "tolerance=, and check='off' leaves this check out"
)


@dataclass(frozen=True)
class Result:
    """What comes of a job."""

    state: Any
    series: tuple[Metrics, ...]
    more: dict[str, Any]


def outcome(state: Any, *losses: float, **more: Any) -> Result:
    return Result(state, tuple({"loss": loss} for loss in losses), more)


def job(**values: float) -> Job:
    return Job(origin=0, candidate=Candidate(values), epochs=2, watch=("loss",))


class Checked:
    """A self-check, and what answers its commands."""

    def __init__(
        self,
        *,
        watch: ScriptedWatcher | None = None,
        in_a_loop: bool = True,
        agree: Callable[[Any], list[Any]] | None = None,
        **settings: Any,
    ) -> None:
        given: dict[str, Any] = {"round": 3, "first": True, "tolerance": 0.0, "common": True}
        self.check = SelfCheck(**(given | settings))
        self.answers = CheckAnswers(
            watch=ScriptedWatcher() if watch is None else watch,
            part_names=["model (Linear)", "optimizer (SGD)"],
            in_a_loop=in_a_loop,
        )
        if agree is not None:
            self.answers.agree = agree

    def look_at(self, job: Job, result: Result) -> None:
        tried = self.answers.tried(result.state, *result.series, **result.more)
        answered(self.check.look_at(job, tried), self.answers)

    def prove(self, *repeats: Result, tried: int = 1) -> None:
        self.answers.repeats = [
            self.answers.tried(each.state, *each.series, **each.more) for each in repeats
        ]
        answered(self.check.prove(ORIGIN, tried=tried), self.answers)


def compared(first: Result, second: Result, **settings: Any) -> Checked:
    checked = Checked(**settings)
    checked.look_at(JOB, first)
    checked.prove(second)
    return checked


def refusal(first: Result, second: Result, **settings: Any) -> str:
    with pytest.raises(NotRepeatable) as caught:
        compared(first, second, **settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (outcome((1, 2), 0.5), outcome((1, 3), 0.5), "state differs in optimizer (SGD). So"),
        (outcome((1, 2), 0.5), outcome((0, 3), 0.5), "in model (Linear), optimizer (SGD). So"),
        (outcome((1, 2, 3), 0.5), outcome((1, 2, 4), 0.5), "the state differs in state[2]. So"),
        (outcome(1, 0.5), outcome(1, 0.5, 0.4), "it was measured 1 times and then 2 times, though"),
        (outcome(1, 0.5), outcome(1, 0.4), "loss was 0.5 and then 0.4 after epoch 1, though the"),
        (outcome(1, 0.5), outcome(2, 0.4), "after epoch 1, and the state differs in state. So"),
        (outcome(1, 0.5), outcome(1, float("nan")), "loss was 0.5 and then nan after epoch 1"),
        (outcome(1, float("nan")), outcome(1, 0.5), "loss was nan and then 0.5 after epoch 1"),
        (outcome(1, 0.5, 0.25), outcome(1, 0.5, 0.2), "loss was 0.25 and then 0.2 after epoch 2"),
        (
            outcome((0, {name: 1 for name in "abcde"}), 0.5),
            outcome((0, {name: 2 for name in "abcde"}), 0.5),
            "the state differs in optimizer (SGD). So",
        ),
    ],
)
def test_the_message(first: Result, second: Result, words: str) -> None:
    message = refusal(first, second)
    assert words in message
    assert message.startswith("the first try of round 3 (lr=0.1) was carried out again")


def test_what_is_the_same_is_the_same() -> None:
    compared(outcome(1, float("nan")), outcome(1, float("nan")))


def test_a_repeat_that_differs_is_refused_in_these_words() -> None:
    message = refusal(outcome(1, 0.5), outcome(2, 0.5), watch=ScriptedWatcher(likely=["a", "b"]))
    assert message == (
        "the first try of round 3 (lr=0.1) was carried out again from the same origin and did not "
        "give the same result: the state differs in state. So something that decides training is "
        "not in the state, and was carried over from try to try. In reach, the likeliest first:\n"
        f"  1. a\n  2. b\n{WAYS_OUT}"
    )


def test_if_tries_ran_elsewhere_the_message_does_not_say_that_nothing_changed() -> None:
    watch = ScriptedWatcher(likely=["nothing that changed"])
    message = refusal(outcome(1, 0.5), outcome(2, 0.5, elsewhere=True), watch=watch)
    assert message.endswith(
        "was carried over from try to try. Tries ran in other processes, of which only metrics and "
        f"states are seen: run once with Serial() to be told what it is. {WAYS_OUT}"
    )


def test_without_suspects_the_message_names_none() -> None:
    message = refusal(outcome(1, 0.5), outcome(1, 0.4), watch=ScriptedWatcher())
    assert message.endswith(
        "loss was 0.5 and then 0.4 after epoch 1, though the states agree: only what is outside "
        "can have changed. So something that decides training is not in the state, and was carried "
        f"over from try to try. {WAYS_OUT}"
    )


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("abcde", "state['a'], state['b'], state['c'] and 2 more. So"),
        ("abcd", "state['a'], state['b'], state['c'] and 1 more. So"),
        ("abc", "state['a'], state['b'], state['c']. So"),
    ],
)
def test_three_places_are_named_and_the_others_counted(names: str, words: str) -> None:
    states = [{name: number for name in names} for number in (1, 2)]
    assert f"the state differs in {words}" in refusal(outcome(states[0]), outcome(states[1]))


def test_six_suspects_are_named_and_the_others_counted() -> None:
    message = refusal(outcome(1), outcome(2), watch=ScriptedWatcher(likely="abcdefgh"))
    assert "\n  5. e\n  6. f\n  and 2 more\nAdd" in message


@pytest.mark.parametrize(("length", "text"), [(400, "n" * 400), (401, "n" * 397 + "...")])
def test_long_names_and_values_are_cut(length: int, text: str) -> None:
    message = refusal(outcome(1), outcome(2), watch=ScriptedWatcher(likely=["n" * length]))
    assert f"In reach, the likeliest first:\n  1. {text}\nAdd" in message
    candidate = Candidate({"n" * (length - 202): 1})
    assert shown_values(candidate) == (f"{'n' * 198}=1" if length == 400 else f"{'n' * 197}...")


def test_values_are_shown_by_name() -> None:
    assert shown_values(Candidate({"lr": 0.1, "mode": "a"})) == "lr=0.1, mode='a'"


def test_an_error_of_the_repeat_is_shown_up_to_300_characters() -> None:
    message = refusal(outcome(1), outcome(1, error="e" * 400))
    assert f"give the same result: {'e' * 300}, though" in message


def test_what_was_left_behind_is_refused_though_the_repeat_was_equal() -> None:
    message = refusal(
        outcome(1, 0.5), outcome(1, 0.5), watch=ScriptedWatcher(left=["the generator"])
    )
    assert message == (
        "the tries of round 3 changed something that training can reach but that is not in the "
        "state: the generator. The state was put back, this was not, so each try began from where "
        f"the last one had left it. {WAYS_OUT}"
    )


def test_the_epochs_of_all_repeats_are_counted() -> None:
    assert compared(outcome(1, 0.5), outcome(1, 0.5)).check.epochs == 4


def test_the_second_repeat_may_be_the_one_that_differs() -> None:
    checked = Checked()
    checked.look_at(JOB, outcome(1, 0.5))
    with raises(NotRepeatable):
        checked.prove(outcome(1, 0.5), outcome(2, 0.5))


def test_if_no_try_succeeded_nothing_is_repeated() -> None:
    checked = Checked()
    checked.look_at(JOB, outcome(1, error="ValueError: no"))
    checked.prove()
    assert checked.answers.commands == []


@pytest.mark.parametrize("loop", [True, False])
def test_a_best_copy_belongs_to_the_main_line(loop: bool) -> None:
    for name in ("Best_copy", "ema"):
        watch = ScriptedWatcher(left=[f"{name} changed"])
        with raises(NotRepeatable) as caught:
            compared(outcome(1), outcome(1), watch=watch, in_a_loop=loop)
        guarded = "the main line alone stands under `if epoch.main:`" in str(caught.value)
        assert guarded == (loop and name == "Best_copy")


def test_hints_are_given_to_the_author_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    with pytest.warns(Hint) as caught:
        compared(outcome(1), outcome(1), watch=ScriptedWatcher(other=["a", "b"]))
    assert [str(each.message) for each in caught] == ["tries change things outside the state: a, b"]
    assert caught[0].filename == protocol.__file__  # the line that called dynhp


def test_a_trainer_may_count_what_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(outcome(1), outcome(1), watch=ScriptedWatcher(other=["a"]), in_a_loop=False)


@pytest.mark.parametrize(("tolerance", "refused"), [(0.0, True), (1e-6, True), (0.01, False)])
def test_metrics_may_differ_by_the_tolerance(tolerance: float, refused: bool) -> None:
    for losses in ((0.5, 0.501), (0.0, 0.001), (500.0, 501.0)):
        outcomes = [outcome(1, loss) for loss in losses]
        if refused:
            assert "loss was" in refusal(*outcomes, tolerance=tolerance)
        else:
            compared(*outcomes, tolerance=tolerance)


@pytest.mark.parametrize(
    ("watched", "other", "refused"),
    [
        (("loss",), {"loss": 0.5, "seconds": 2.0}, False),
        ((), {"loss": 0.5, "seconds": 2.0}, True),
        (("loss", "seconds"), {"loss": 0.5}, True),
    ],
)
def test_only_metrics_that_are_read_must_be_the_same(
    watched: tuple[str, ...], other: dict[str, float], refused: bool
) -> None:
    checked = Checked()
    first = Result(1, ({"loss": 0.5, "seconds": 1.0},), {})
    checked.look_at(replace(JOB, watch=watched), first)
    if refused:
        with raises(NotRepeatable):
            checked.prove(Result(1, (other,), {}))
    else:
        checked.prove(Result(1, (other,), {}))


def test_the_repeat_is_the_first_job_marked_as_one() -> None:
    checked = Checked()
    rule = BestRule(criterion=lowest("loss"), bar=-1.0)
    checked.look_at(replace(JOB, inner_rule=rule, place=0), outcome(1))
    checked.prove(outcome(1))
    commands = checked.answers.commands
    again, same = (each.job for each in commands if isinstance(each, Attempt))
    assert again == same == replace(JOB, repeat=True, keeps=False)  # nothing of it is kept
    assert [each for each in commands if isinstance(each, Restore)] == [Restore(ORIGIN)] * 2


def test_only_the_first_try_that_succeeds_is_the_reference() -> None:
    checked = Checked(watch=(watch := ScriptedWatcher()))
    checked.look_at(JOB, outcome("lost", error="ValueError"))
    checked.look_at(JOB, outcome(UNSEEN, 0.5))
    assert checked.check.reference is None
    checked.look_at(job(lr=0.2), outcome("first", 0.5))
    checked.look_at(job(lr=0.3), outcome("second", 0.5))
    reference = checked.check.reference
    assert reference is not None
    assert reference.job == job(lr=0.2)
    assert reference.tried.series == ({"loss": 0.5},)
    assert len(watch.firsts) == 1


def looked_at(*tries: tuple[Job, Result], **settings: Any) -> Checked:
    checked = Checked(**settings)
    for each, result in tries:
        checked.look_at(each, result)
    return checked


FIRST = (job(lr=0.1), outcome({"lr": 0.1, "w": 5}, 0.5))
ALIKE = (job(lr=0.2), outcome({"lr": 0.2, "w": 5}, 0.5))


@pytest.mark.parametrize(
    ("tries", "alike"),
    [
        ([FIRST], None),
        ([FIRST, FIRST], None),
        ([FIRST, ALIKE], True),
        ([FIRST, ALIKE, (job(lr=0.3), outcome({"lr": 0.3, "w": 6}, 0.5))], False),
        ([FIRST, (job(lr=0.3), outcome({"lr": 0.3, "w": 6}, 0.5)), ALIKE], False),
        ([FIRST, (job(lr=0.2), outcome({"lr": 0.2, "w": 5}, 0.4)), ALIKE], False),
        ([FIRST, ALIKE, (job(lr=0.3), outcome(None, error="ValueError"))], False),
        ([FIRST, ALIKE, (job(lr=0.3), outcome(UNSEEN, 0.5))], False),
        ([(job(lr=0.3), outcome(UNSEEN, 0.5)), FIRST, ALIKE], False),
        ([(job(lr=0.3), outcome(None, error="ValueError")), FIRST, ALIKE], False),
    ],
)
def test_tries_are_alike_until_one_differs(
    tries: list[tuple[Job, Result]], alike: bool | None
) -> None:
    assert looked_at(*tries).check.alike is alike


def test_tries_that_meet_different_random_numbers_are_not_compared() -> None:
    assert looked_at(FIRST, ALIKE, common=False).check.alike is None


def test_a_tolerance_does_not_make_values_look_unused() -> None:
    near = (job(lr=0.2), outcome({"lr": 0.2, "w": 5}, 0.5 + 1e-12))
    assert looked_at(FIRST, near, tolerance=1e-3).check.alike is False


def test_a_value_that_was_not_used_is_refused_in_these_words() -> None:
    tries = [
        (job(lr=0.1, decay=0.0), outcome(5, 0.5)),
        (job(lr=0.2, decay=0.1), outcome(5, 0.5)),
    ]
    with raises(ValueNotUsed):
        looked_at(*tries, round=0).prove(outcome(5, 0.5), tried=2)


def test_six_values_that_were_not_used_are_named_and_the_others_counted() -> None:
    tries = [(job(**dict.fromkeys("abcdefg", value)), outcome(5, 0.5)) for value in (0.1, 0.2)]
    with raises(ValueNotUsed):
        looked_at(*tries).prove(outcome(5, 0.5), tried=2)


# b and c change nothing.
UNUSED = [
    (job(a=a, b=b, c=c), outcome(a, a)) for a in (1.0, 2.0) for b in (1.0, 2.0) for c in (1.0, 2.0)
]


def test_axes_that_were_not_used_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given: set[Any] = set()
    monkeypatch.setattr("dynhp.errors._given", given)
    with warns(Hint):
        looked_at(*UNUSED).prove(UNUSED[0][1])
    assert given == {("unused", "c", "b")}
    looked_at(*UNUSED, round=4).prove(UNUSED[0][1])


@pytest.mark.parametrize("settings", [{"first": False}, {"common": False}, {"tolerance": 0.1}])
def test_axes_are_looked_at_only_where_tries_can_be_compared(settings: dict[str, Any]) -> None:
    assert looked_at(*UNUSED, **settings).check.axes.unused() == []


def test_a_check_begins_with_what_training_can_reach() -> None:
    checked = Checked(tolerance=0.25)
    answered(checked.check.begin(), checked.answers)
    assert checked.answers.commands == [Reach("begin", 0.25)]


@pytest.mark.parametrize("settings", [{"first": False}, {"common": False}])
def test_later_rounds_and_other_random_numbers_prove_nothing(settings: dict[str, Any]) -> None:
    looked_at(FIRST, ALIKE, **settings).prove(FIRST[1], tried=2)


def test_states_may_differ_by_the_tolerance() -> None:
    compared(outcome([1.0], 0.5), outcome([1.0 + 1e-6], 0.5), tolerance=1e-3)
    assert "the state differs" in refusal(outcome([1.0]), outcome([1.1]), tolerance=1e-3)


def test_what_is_wrong_on_another_rank_stops_this_one_too() -> None:
    said: list[Any] = []

    def agree(message: str | None) -> list[str | None]:
        said.append(message)
        return [message, "the other rank leaks" if len(said) == 2 else None]

    assert refusal(outcome(1), outcome(1), agree=agree) == "the other rank leaks"
    with raises(ValueNotUsed):
        compared(outcome(1), outcome(1), agree=lambda said: [said, "the other rank ignores it"])


def test_what_is_wrong_here_is_told_to_all_ranks() -> None:
    message = refusal(outcome(1), outcome(2), agree=lambda said: [None, said])
    assert message.startswith("the first try of round 3")
    compared(outcome(1), outcome(1), agree=lambda said: [said, None])
