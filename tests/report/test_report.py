"""Reports: what they show is what the records say, and pages are written whole or not at all."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from dynhp import (
    Categorical,
    DynamicGridAdapter,
    History,
    Neighbors,
    adapt,
    complete_search,
    fixed,
    lowest,
    plan_for,
    random_search,
    trainer_from,
)
from dynhp.planning.budget import spent
from dynhp.report import html_report, schedule_picture, summary, write_html
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.pages import run_on


def a_run(epochs: int = 20, **settings: Any) -> tuple[DynamicGridAdapter, History]:
    space = settings.pop("space", {"lr": [0.01, 0.1, 0.5]})
    adapter = DynamicGridAdapter(
        settings.pop("trainer", None) or Quadratic(),
        space,
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=1,
        **settings,
    )
    return adapter, adapter.run(epochs)


def test_the_picture_marks_exactly_the_chosen_values() -> None:
    _, history = a_run(proposer=Neighbors(), initial={"lr": 0.01})
    assert [round_.candidate["lr"] for round_ in history] == [0.1, 0.5, 0.5, 0.5]
    assert schedule_picture(history, "lr", width=20).splitlines() == [
        "lr",
        " 0.5 ┤     ███████████████",
        " 0.1 ┤█████",
        "0.01 ┤",
        "      0                 20",
    ]


def test_the_picture_groups_many_values_into_a_dozen_rows() -> None:
    history = random_search(Quadratic(), {"lr": [i / 100 for i in range(1, 60)]}, epochs=80)
    lines = schedule_picture(history, "lr", width=40).splitlines()
    assert len(lines) == 14
    for column in range(40):
        marks = [line.ljust(60)[line.index("┤") + 1 + column] for line in lines[1:-1]]
        assert marks.count("█") == 1


def test_words_have_rows_of_their_own() -> None:
    def train_k(k: int, values: Any) -> None: ...

    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=train_k,
        metrics=lambda: {"loss": 1.0},
    )
    words = Categorical("relu", "tanh")
    _, history = a_run(trainer=trainer, space={"act": words}, check="off")
    assert "relu ┤████" in schedule_picture(history, "act", width=4)
    axis = {"name": "act", "log": False, "words": ["relu", "tanh"]}
    assert run_on(html_report(history, title="words"))["axes"] == [axis]


def test_the_summary_tells_cost_plan_and_failures() -> None:
    adapter, history = a_run()
    text = summary(history, plan=plan_for(adapter, 20))
    half = summary(history[:2], plan=plan_for(adapter, 20))
    assert f": {spent(history[:2]).total / 20:.2f} runs so far" in half
    assert text.splitlines()[0] == f"Cost: {plan_for(adapter, 20).most}."
    assert text.splitlines()[1] == f"Plan: {plan_for(adapter, 20)}."
    assert "failed" not in text

    class TooFast(Quadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            if hyperparameters["lr"] == 0.5:
                raise RuntimeError("too fast")
            super().train_k(k, hyperparameters)

    _, broken = a_run(trainer=TooFast())
    assert "4 tries failed" in summary(broken)


def test_the_page_is_whole_self_contained_and_escaped() -> None:
    adapter, history = a_run()
    page = html_report(
        history,
        title="<script>alert(1)</script>",
        plan=plan_for(adapter, 20),
        facts={"data <b>": "none"},
        hints=["mind & matter"],
    )
    assert "<script>alert" not in page
    assert page.count("<script") == 2  # the numbers, and what draws them
    assert "&lt;script&gt;" in page
    assert "mind &amp; matter" in page
    assert not re.search(r"(src|href)=|url\(|@import", page), "a page must open without network"
    assert len(run_on(page)["rounds"]["start"]) == len(history)


def test_a_restarted_round_draws_only_its_end() -> None:
    _, history = a_run(epochs=10, trainer=NoisyQuadratic(), randomness="independent", keep="value")
    assert _metric_points(history) == 2


def test_the_chart_of_a_metric_has_every_epoch_that_a_loop_reported() -> None:
    model = Quadratic()
    settings: dict[str, Any] = {"minimize": "loss", "adapt_every": 3, "try_for": 1}
    loop = adapt(9, state=[model], space={"lr": [0.1, 0.2]}, **settings)
    for epoch in loop:
        model.train_k(1, epoch.values)
        if epoch.trying or epoch != 4:
            epoch.report(model.metrics())
    assert _metric_points(loop.history) == 8


def test_a_failed_write_leaves_the_old_page_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "deep" / "report.html"
    write_html(target, "first")

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_html(target, "second")
    assert target.read_text() == "first"
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]
    (tmp_path / "plain").touch()
    assert target.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_an_empty_run_has_a_summary_too() -> None:
    assert summary([]) == "No rounds yet."


def test_a_whole_search_draws_its_own_epochs_once() -> None:
    searched = complete_search(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"), epochs=6)
    assert _metric_points(searched) == 6
    coarse = fixed(Quadratic(), {"lr": 0.1}, epochs=6, measure_every=3)
    assert _metric_points(coarse) == 2  # measured twice, whatever the tries' epochs


def _metric_points(history: History) -> int:
    epochs, values = run_on(html_report(history, title="points"))["line"]["loss"]
    assert len(epochs) == len(values)
    return len(epochs)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "Self-check: in 1 round a try, carried out again, gave the same result to the bit."),
        ({"check": "every"}, "Self-check: in 4 rounds a try, carried out again, gave"),
        ({"tolerance": 1e-6}, "gave the same result within a tolerance of 1e-06."),
        ({"check": "off"}, "Self-check: none; no try was carried out again."),
    ],
)
def test_the_summary_tells_how_the_run_was_checked(settings: Any, words: str) -> None:
    _, history = a_run(**settings)
    assert words in summary(history)
    assert words in html_report(history, title="checked")


def test_a_page_shows_what_the_winner_measured_where_the_end_was_not_reported() -> None:
    model = Quadratic()
    loop = adapt(
        4, state=[model], space={"lr": [0.1, 0.5]}, minimize="loss", adapt_every=4, try_for=1
    )
    for epoch in loop:
        model.train_k(1, epoch.values)
        if epoch.trying:
            epoch.report(model.metrics())
    assert loop.history[-1].metrics == {}
    assert _metric_points(loop.history) == 1
