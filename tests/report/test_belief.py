"""Tries that differ are not believed where short ones are known to mislead, and only there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from dynhp.advice import LEAVE_ALONE, doubts
from dynhp.records import Candidate, Round, Try
from dynhp.report import signal_of, summary
from dynhp.report.page import ReportedRun, report_page


def rounds_of(
    *names: str, rounds: int = 9, epochs: int = 10, tried_for: int = 2, effect: float = 5.0
) -> list[Round]:
    """Rounds in which 0 is always better than 1, by far more than the noise, and is chosen."""

    def tried(value: float, index: int) -> Try:
        score = -effect * value + 0.01 * math.sin(7 * index + value)
        series: Sequence[Mapping[str, float]] = ({"m": score},) * tried_for
        candidate = Candidate(dict.fromkeys(names, value))
        return Try(candidate=candidate, series=series, epochs=tried_for, score=score)

    return [
        Round(
            index=index,
            start=epochs * index,
            epochs=epochs,
            previous=Candidate(dict.fromkeys(names, 0.0 if index else 1.0)),
            tries=(tried(1.0, index), tried(0.0, index)),
            chosen=1,
            reason="as asked",
            metrics={},
        )
        for index in range(rounds)
    ]


@pytest.mark.parametrize("name", LEAVE_ALONE)
def test_what_short_tries_misjudge_is_called_noise_with_the_reason(name: str) -> None:
    history = rounds_of(name)
    signal = signal_of(history)
    assert signal.luck.verdict == "effect", "the tries do tell the values apart"
    assert signal.verdict == "misled"
    assert signal.headline == (
        f"Short tries do not show what pays: {name} went from 1 to 0, which is no sign of a gain."
    )
    assert signal.advice.startswith(f"Leave it at {name}=1, or compare whole runs")
    assert LEAVE_ALONE[name] in signal.advice
    assert signal.saving == sum(round_.overhead for round_ in history)
    assert f"Short tries mislead about {name}: {LEAVE_ALONE[name]}." in summary(history)
    page = report_page([ReportedRun(name="a", history=history)] * 2, title="Two")
    assert page.count("<td>misleading</td>") == 2


def test_a_learning_rate_is_believed() -> None:
    signal = signal_of(rounds_of("lr"))
    assert (signal.verdict, dict(signal.misled)) == ("effect", {})
    assert "mislead" not in summary(rounds_of("lr"))


def test_what_a_value_is_counts_where_its_name_says_nothing() -> None:
    history = rounds_of("p")
    assert signal_of(history).verdict == "effect"
    assert signal_of(history, kinds={"p": "dropout"}).verdict == "misled"
    assert list(doubts(history, {"p": "dropout"})) == ["p"]


def test_with_something_else_adapted_beside_it_nothing_is_said() -> None:
    assert signal_of(rounds_of("dropout", "lr")).verdict == "effect"
    assert list(doubts(rounds_of("dropout", "label_smoothing"))) == ["dropout", "label_smoothing"]


def test_tries_as_long_as_half_a_run_are_believed() -> None:
    assert doubts(rounds_of("dropout", rounds=2, tried_for=10)) == {}
    assert doubts(rounds_of("dropout", rounds=2, tried_for=9)) != {}


def test_where_tries_do_not_even_differ_that_is_what_is_said() -> None:
    signal = signal_of(rounds_of("dropout", effect=0.0))
    assert signal.verdict == signal.luck.verdict == "luck"
    assert signal.headline.startswith("The tries do not tell the values apart")


def test_a_placebo_and_a_run_without_tries_have_nothing_to_be_misled_by() -> None:
    one = [
        replace(each, previous=each.candidate, tries=(each.tries[1],) * 2)
        for each in rounds_of("dropout")
    ]
    assert signal_of(one).headline == "Only one value was tried: dropout=0."
    assert dict(signal_of(one).misled) == {}
    assert doubts([replace(each, tries=(), chosen=-1) for each in rounds_of("dropout")]) == {}
