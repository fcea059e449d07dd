"""A run whose values were given: reports say that nothing was chosen, and speak of no tries."""

from __future__ import annotations

import re

import pytest

from dynhp import DynamicGridAdapter, Float, History, fixed, lowest, random_search
from dynhp.report import html_report, signal_of, summary
from dynhp.report.page import ReportedRun, report_page
from dynhp.report.text import nothing_chosen
from dynhp.testing import NoisyQuadratic
from tests.support.pages import run_on


def one_value() -> History:
    return fixed(NoisyQuadratic(), {"lr": 0.1}, epochs=40, measure_every=10)


def drawn_values() -> History:
    return random_search(NoisyQuadratic(), {"lr": Float(0.1, 0.9)}, epochs=5)


def words(page: str) -> str:
    return re.sub("<[^>]+>", " ", page.partition("<script")[0])


def test_one_value_leaves_nothing_to_choose_and_nothing_to_save() -> None:
    signal = signal_of(one_value())
    assert signal.headline == "Nothing was chosen: lr=0.1 was the only value."
    assert signal.advice == "Nothing was tried beside the main line, so there is nothing to save."
    assert signal.saving == 0
    assert summary(one_value()).splitlines()[1:] == [
        "Nothing was chosen: each round had one value, and none was tried beside it."
    ]


def test_values_that_were_drawn_or_followed_were_not_chosen_either() -> None:
    signal = signal_of(drawn_values())
    assert signal.headline == "Nothing was chosen: each round had one value, which was given."
    assert signal.saving == 0


@pytest.mark.parametrize("history", [one_value(), drawn_values()])
def test_its_page_has_no_tries_and_no_verdict(history: History) -> None:
    page = html_report(history, title="given")
    assert "<dt>the tries say</dt><dd>nothing<small>each round had one value</small>" in page
    run = run_on(page)
    assert run["tries"]["score"] == []
    assert set(run["rounds"]["tried"]) == {0}
    assert run["behind"] == {}
    assert len(run["line"]["loss"][0]) == len(history)
    for phrase in ("Self-check", "spread by", "cannot tell", "would have saved"):
        assert phrase not in words(page)
    two = report_page([ReportedRun(name=n, history=history) for n in "ab"], title="two")
    assert two.count("<td>nothing was chosen</td>") == 2


def test_a_search_among_several_values_has_chosen() -> None:
    adapter = DynamicGridAdapter(NoisyQuadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"),
                                 adapt_every=5, try_for=1)  # fmt: skip
    assert not nothing_chosen(adapter.run(10))
    alone = DynamicGridAdapter(NoisyQuadratic(), {"lr": [0.1]}, criterion=lowest("loss"),
                               adapt_every=5, try_for=1)  # fmt: skip
    assert not nothing_chosen(alone.run(10))  # its self-check trained a try again
    assert not nothing_chosen([])
