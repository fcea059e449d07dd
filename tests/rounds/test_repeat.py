"""The words of a self-check: which part differs, and how metrics do."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dynhp import lowest
from dynhp.errors import Hint, NotRepeatable, ValueNotUsed
from dynhp.main_line.inner import InnerRule
from dynhp.records import Candidate
from dynhp.rounds.jobs import UNKNOWN_STATE, Job, Outcome
from dynhp.rounds.repeat import RepeatRun, SelfCheck, shown_values
from dynhp.selfcheck.watch import Watch

JOB = Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2, watch=("loss",))
WAYS_OUT = (
    "Add what is missing to the state. Training that cannot be repeated to the bit declares "
    "tolerance=, and check='off' leaves this check out"
)


def outcome(state: Any, *losses: float, error: str | None = None, **more: Any) -> Outcome:
    series = tuple({"loss": loss} for loss in losses)
    return Outcome(series=series, epochs=2, keep=lambda: state, error=error, **more)


def job(**values: float) -> Job:
    return Job(origin=0, candidate=Candidate(values), epochs=2, watch=("loss",))


@dataclass
class ScriptedWatcher:
    """A watcher that gives what it is made with, and counts how often a first try has ended."""

    left: Sequence[str] = ()
    likely: Sequence[str] = ()
    other: Sequence[str] = ()
    firsts: list[None] = field(default_factory=list)

    def first_try_ended(self) -> None:
        self.firsts.append(None)

    def back_at_origin(self) -> None: ...

    def left_behind(self) -> list[str]:
        return list(self.left)

    def suspects(self) -> list[str]:
        return list(self.likely)

    def hints(self) -> list[str]:
        return list(self.other)


def check_of(**settings: Any) -> SelfCheck:
    given: dict[str, Any] = {
        "round": 3,
        "tolerance": 0.0,
        "common": True,
        "part_names": ["model (Linear)", "optimizer (SGD)"],
        "watch": Watch(dict, [], lambda thing: None),
        "agree": None,
        "gives_hints": True,
    }
    return SelfCheck(**(given | settings))


def compared(first: Outcome, second: Outcome, **settings: Any) -> SelfCheck:
    check = check_of(**settings)
    check.look_at(JOB, first)
    check.watch.back_at_origin()
    check.compare(second)
    return check


def refusal(first: Outcome, second: Outcome, **settings: Any) -> str:
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
def test_the_message(first: Outcome, second: Outcome, words: str) -> None:
    message = refusal(first, second)
    assert words in message
    assert message.startswith("the first try of round 3 (lr=0.1) was carried out again")


def test_what_is_the_same_is_the_same() -> None:
    compared(outcome(1, float("nan")), outcome(1, float("nan")))


def test_a_repeat_that_differs_is_refused_in_these_words() -> None:
    message = refusal(outcome(1, 0.5), outcome(2, 0.5), watch=ScriptedWatcher(likely=["a", "b"]))
    assert message == (
        "the first try of round 3 (lr=0.1) was carried out again from the same origin and did not "
        "come to the same: the state differs in state. So something that decides training is not "
        f"in the state, and went on from try to try. In reach: a, b. {WAYS_OUT}"
    )


def test_where_tries_ran_elsewhere_nobody_says_that_nothing_changed() -> None:
    watch = ScriptedWatcher(likely=["nothing that changed"])
    message = refusal(outcome(1, 0.5), outcome(2, 0.5, elsewhere=True), watch=watch)
    assert message.endswith(
        "went on from try to try. Tries ran in other processes, of which only metrics and states "
        f"are seen: run once with Serial() to be told what it is. {WAYS_OUT}"
    )


def test_where_nobody_is_suspected_nobody_is_named() -> None:
    message = refusal(outcome(1, 0.5), outcome(1, 0.4), watch=ScriptedWatcher())
    assert message.endswith(
        "loss was 0.5 and then 0.4 after epoch 1, though the states agree: only what is outside "
        "can have changed. So something that decides training is not in the state, and went on "
        f"from try to try. {WAYS_OUT}"
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
    assert "In reach: a, b, c, d, e, f and 2 more. Add" in message


@pytest.mark.parametrize(("length", "text"), [(200, "n" * 200), (201, "n" * 197 + "...")])
def test_long_names_and_values_are_cut(length: int, text: str) -> None:
    message = refusal(outcome(1), outcome(2), watch=ScriptedWatcher(likely=["n" * length]))
    assert f"In reach: {text}. Add" in message
    candidate = Candidate({"n" * (length - 2): 1})
    assert shown_values(candidate) == (f"{'n' * 198}=1" if length == 200 else text)


def test_values_are_shown_by_name() -> None:
    assert shown_values(Candidate({"lr": 0.1, "mode": "a"})) == "lr=0.1, mode='a'"


def test_an_error_of_the_repeat_is_shown_up_to_300_characters() -> None:
    message = refusal(outcome(1), outcome(1, error="e" * 400))
    assert f"come to the same: {'e' * 300}, though" in message


def test_what_was_left_behind_is_refused_though_the_repeat_came_to_the_same() -> None:
    message = refusal(
        outcome(1, 0.5), outcome(1, 0.5), watch=ScriptedWatcher(left=["the generator"])
    )
    assert message == (
        "the tries of round 3 changed something that training can reach but that is not in the "
        "state: the generator. The state was put back, this was not, so each try began from where "
        f"the last one had left it. {WAYS_OUT}"
    )


def test_the_epochs_of_all_repeats_are_counted() -> None:
    check = compared(outcome(1, 0.5), outcome(1, 0.5))
    check.compare(outcome(1, 0.5))
    assert check.epochs == 4


@pytest.mark.parametrize("loop", [True, False])
def test_a_best_copy_belongs_to_the_main_line(loop: bool) -> None:
    for name in ("Best_copy", "ema"):
        watch = ScriptedWatcher(left=[f"{name} changed"])
        with pytest.raises(NotRepeatable, match=f"{name} changed") as caught:
            compared(outcome(1), outcome(1), watch=watch, gives_hints=loop)
        guarded = "the main line alone stands under `if epoch.main:`" in str(caught.value)
        assert guarded == (loop and name == "Best_copy")


def test_hints_are_given_to_the_author_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    with pytest.warns(Hint) as caught:
        compared(outcome(1), outcome(1), watch=ScriptedWatcher(other=["a", "b"]))
    assert [str(each.message) for each in caught] == ["tries change things outside the state: a, b"]
    assert caught[0].filename == __file__  # the line that called dynhp


def test_a_trainer_may_count_what_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(outcome(1), outcome(1), watch=ScriptedWatcher(other=["a"]), gives_hints=False)


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
def test_only_metrics_that_somebody_reads_must_be_the_same(
    watched: tuple[str, ...], other: dict[str, float], refused: bool
) -> None:
    check = check_of(watch=ScriptedWatcher())
    first, second = (
        Outcome(series=(metrics,), epochs=1, keep=lambda: 1)
        for metrics in ({"loss": 0.5, "seconds": 1.0}, other)
    )
    check.look_at(Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=1, watch=watched), first)
    if refused:
        with pytest.raises(NotRepeatable, match=r"seconds was 1\.0 and then "):
            check.compare(second)
    else:
        check.compare(second)


def test_the_repeat_is_the_first_job_marked_as_one() -> None:
    check = check_of()
    rule = InnerRule(criterion=lowest("loss"), start=0, planned=None, bar=-1.0)
    check.look_at(replace(JOB, hold=rule), outcome(1))
    run = RepeatRun(check)
    (again,) = run.jobs()
    assert again.repeat is True
    assert again.keeps is False  # nothing of it is kept
    assert again.hold is None
    assert (again.candidate, again.epochs, again.watch) == (JOB.candidate, 2, ("loss",))
    assert run.begun() == [0]
    with pytest.raises(NotRepeatable):
        run.take_outcome(outcome(2))


def test_only_the_first_try_that_succeeds_is_the_reference() -> None:
    check = check_of(watch=(watch := ScriptedWatcher()))
    assert check.look_at(JOB, outcome("lost", error="ValueError")) is UNKNOWN_STATE
    assert check.look_at(JOB, outcome("stored", 0.5, replayed=True)) is UNKNOWN_STATE
    assert check.reference is None
    assert check.look_at(job(lr=0.2), outcome("first", 0.5)) == "first"
    assert check.look_at(job(lr=0.3), outcome("second", 0.5)) is UNKNOWN_STATE
    assert check.reference is not None
    assert check.reference.job == job(lr=0.2)
    assert check.reference.series == ({"loss": 0.5},)
    assert len(watch.firsts) == 1


def looked_at(*tries: tuple[Job, Outcome], **settings: Any) -> SelfCheck:
    check = check_of(**settings)
    for each, result in tries:
        check.look_at(each, result)
    return check


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
        ([FIRST, ALIKE, (job(lr=0.3), outcome(None, 0.5, replayed=True))], False),
    ],
)
def test_tries_are_alike_until_one_differs(
    tries: list[tuple[Job, Outcome]], alike: bool | None
) -> None:
    assert looked_at(*tries).alike is alike


def test_tries_that_meet_different_random_numbers_are_not_compared() -> None:
    assert looked_at(FIRST, ALIKE, common=False).alike is None


def test_a_tolerance_does_not_make_values_look_unused() -> None:
    near = (job(lr=0.2), outcome({"lr": 0.2, "w": 5}, 0.5 + 1e-12))
    assert looked_at(FIRST, near, tolerance=1e-3).alike is False


def test_a_value_that_nobody_used_is_refused_in_these_words() -> None:
    tries = [
        (job(lr=0.1, decay=0.0), outcome(5, 0.5)),
        (job(lr=0.2, decay=0.1), outcome(5, 0.5)),
    ]
    with pytest.raises(ValueNotUsed) as caught:
        looked_at(*tries, round=0).require_used(2)
    assert str(caught.value) == (
        "all 2 tries of round 0 came to exactly the same, in metrics and state, although their "
        "values of lr, decay differ. Either nothing reads the value (bind it, or read it where it "
        "is used in training), or a try is too short for it to matter (a rate that a warm-up "
        "multiplies by 0, a value used only every few epochs): use a larger try_for"
    )


@pytest.mark.parametrize("settings", [{"round": 1}, {"round": 0, "common": False}])
def test_later_rounds_and_other_random_numbers_prove_nothing(settings: dict[str, Any]) -> None:
    looked_at(FIRST, ALIKE, **settings).require_used(2)


def test_states_may_differ_by_the_tolerance() -> None:
    compared(outcome([1.0], 0.5), outcome([1.0 + 1e-6], 0.5), tolerance=1e-3)
    assert "the state differs" in refusal(outcome([1.0]), outcome([1.1]), tolerance=1e-3)


def test_what_is_wrong_on_another_rank_stops_this_one_too() -> None:
    def agree(message: str | None) -> list[str | None]:
        return [message, "the other rank leaks"]

    assert refusal(outcome(1), outcome(1), agree=agree) == "the other rank leaks"
    with pytest.raises(ValueNotUsed, match="the other rank leaks"):
        check_of(agree=agree).require_used(2)


def test_what_is_wrong_here_is_told_to_all_ranks() -> None:
    message = refusal(outcome(1), outcome(2), agree=lambda message: [None, message])
    assert message.startswith("the first try of round 3")
    check_of(agree=lambda message: [message, None]).require_used(2)
