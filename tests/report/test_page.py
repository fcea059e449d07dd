"""The page of a report: what it holds is what the records say, thinned only where it says so."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from dynhp import (
    Categorical,
    DynamicGridAdapter,
    Float,
    History,
    adapt,
    lowest,
    plan_for,
    rescue,
    trainer_from,
)
from dynhp.campaign.results import Finished
from dynhp.planning.budget import spent
from dynhp.records.history import kept_epochs
from dynhp.report import html_report, signal_of
from dynhp.report.page import ReportedCampaign, ReportedRun, data, report_page, sections
from dynhp.report.page.data import extremes, places_kept, run_data
from dynhp.report.page.sections import campaign_section
from dynhp.testing import NoisyQuadratic, Quadratic
from tests.support.pages import data_of, run_on
from tests.support.reference import Toy


def made(epochs: int = 40, **settings: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {"space": {"lr": Float(0.01, 1.0, log=True, points=5)}}
    given |= {"minimize": "loss", "adapt_every": 8, "try_for": 2} | settings
    adapter = DynamicGridAdapter(NoisyQuadratic(seed=2), given.pop("space"), **given)
    adapter.run(epochs)
    return adapter


def rescued() -> History:
    trainer = Toy(2, raising=[0.3])
    adapter = DynamicGridAdapter(trainer, **rescue("lr", default=0.3, loss="loss", factor=2.0))
    return adapter.run(30)


def test_every_try_of_every_round_is_there_with_choice_margin_and_spread() -> None:
    history = made().history
    run = run_on(html_report(history, title="all"))
    scores = [try_.score for round_ in history for try_ in round_.tries]
    assert run["tries"]["score"] == pytest.approx(scores, rel=1e-5)
    values = [try_.candidate["lr"] for round_ in history for try_ in round_.tries]
    assert [run["candidates"][n][0] for n in run["tries"]["candidate"]] == values
    assert run["rounds"]["chosen"] == [round_.chosen for round_ in history]
    for place, round_ in enumerate(history):
        ranked = sorted((try_.score for try_ in round_.tries), reverse=True)
        assert run["rounds"]["margin"][place] == pytest.approx(ranked[0] - ranked[1], rel=1e-4)
        assert run["rounds"]["spread"][place] == pytest.approx(ranked[0] - ranked[-1], rel=1e-4)
    assert run["rounds"]["start"] == [round_.start for round_ in history]
    before = [spent(history[:place]).total for place in range(len(history))]
    assert run["rounds"]["before"] == before
    assert run["notes"] == []


def test_the_main_line_and_what_tries_measured_behind_it() -> None:
    history = made().history
    run = run_on(html_report(history, title="line"))
    epochs, values = run["line"]["loss"]
    assert epochs == [number + 1 for number, _ in history.measured]
    assert values == pytest.approx([metrics["loss"] for _, metrics in history.measured], rel=1e-5)
    starts, paths = run["behind"]["loss"]
    assert starts == [round_.start for round_ in history for _ in round_.tries]
    first = history[0].tries[0]
    assert paths[0][0] == [1, 2]
    assert paths[0][1] == pytest.approx([m["loss"] for m in first.series], rel=1e-5)


def test_what_was_left_behind_and_rescues_are_marked() -> None:
    history = rescued()
    run = run_on(html_report(history, title="back"))
    assert run["rounds"]["kept"] == kept_epochs(history)
    assert sum(run["rounds"]["rescue"]) == sum(round_.rescue for round_ in history) > 0
    assert None in run["behind"]["loss"][0]  # a path of the main line that no longer is one
    page = html_report(history, title="back")
    assert 'class="abandoned"' in page
    assert "The main line was rescued" in page


def test_long_runs_are_thinned_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    history = made(160, space={"lr": Float(0.01, 1.0, log=True, points=9)}).history
    monkeypatch.setattr(data, "MOST_SCORES", 60)
    monkeypatch.setattr(data, "MOST_ON_LINE", 20)
    monkeypatch.setattr(data, "MOST_BEHIND", 100)
    run = run_data(ReportedRun(name="long", history=history))
    assert len(run["line"]["loss"][0]) <= 20
    assert len(run["notes"]) == 3 + 1  # two metrics on the line
    assert any("of up to 9 tries of a round about 5 are drawn" in note for note in run["notes"])
    assert any("the tries of every" in note for note in run["notes"])
    for place, chosen in enumerate(run["rounds"]["chosen"]):
        first = sum(run["rounds"]["shown"][:place])
        shown = run["candidates"][run["tries"]["candidate"][first + chosen]][0]
        assert shown == history[place].candidate["lr"]
    assert run["rounds"]["tried"] == [len(round_.tries) for round_ in history]


def test_what_is_kept_of_a_series_has_its_extremes() -> None:
    values = [math.sin(n / 50) for n in range(5000)]
    values[1234], values[4321] = 9.0, -9.0
    places = extremes(values, 100)
    assert {0, 1234, 4321, 4999} <= set(places)
    assert len(places) <= 100
    assert extremes([math.nan] * 10, 4) == [0, 9]  # nothing finite, the ends at least


def test_what_is_kept_of_a_round_has_the_choice_and_the_value_in_force() -> None:
    round_ = made().history[0]
    for most in (1, 3, 5, 6):
        places = places_kept(round_, most)
        assert round_.chosen in places
        assert len(places) <= max(most, 4)


def test_values_that_are_no_numbers_and_tries_that_fail() -> None:
    def step(k: int, values: Any) -> None:
        if values["act"] == "tanh":
            raise RuntimeError("no <b>tanh</b>")

    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=step,
        metrics=lambda: {"loss": math.nan, "good": 1.0},
    )
    space = {"act": Categorical("relu", "tanh", None), "flag": [True, False]}
    adapter = DynamicGridAdapter(
        trainer, space, maximize="good", adapt_every=2, try_for=1, check="off"
    )
    page = html_report(adapter.run(4), title="words")
    run = run_on(page)
    assert run["axes"][0] == {"name": "act", "log": False, "words": ["None", "relu", "tanh"]}
    assert run["axes"][1]["words"] == ["False", "True"]
    assert set(run["errors"].values()) == {"RuntimeError: no <b>tanh</b>"}
    assert "<b>tanh" not in page
    assert run["line"]["loss"][1] == [None] * 4  # not finite: there, and not drawn


def test_an_axis_is_logarithmic_by_its_settings_or_by_its_look() -> None:
    adapter = made()
    known = html_report(adapter.history, title="known", settings=adapter.described)
    assert run_on(known)["axes"][0]["log"] is True
    listed = made(space={"lr": [0.01, 0.1, 1.0]}).history
    assert run_on(html_report(listed, title="old"))["axes"][0]["log"] is True
    narrow = made(space={"lr": [0.1, 0.2, 0.3]}).history
    assert run_on(html_report(narrow, title="old"))["axes"][0]["log"] is False
    again = made(space={"lr": [0.01, 0.1, 1.0]})
    page = html_report(again.history, title="listed", settings=again.described)
    assert run_on(page)["axes"][0]["log"] is True
    linear = made(space={"lr": Float(0.01, 1.0, log=False, points=3)})
    page = html_report(linear.history, title="said", settings=linear.described)
    assert run_on(page)["axes"][0]["log"] is False


def test_a_run_that_goes_on_is_counted_in_runs_of_the_planned_length() -> None:
    adapter = made()
    total, half = spent(adapter.history).total, adapter.history[:2]
    going = ReportedRun(name="going", history=half, epochs=40)
    over = ReportedRun(name="over", history=adapter.history, epochs=40)
    so_far = f"{spent(half).total / 40:.2f} runs so far"
    assert f"<dt>cost</dt><dd>{so_far}<small>" in report_page([going], title="one")
    assert f"<dt>cost</dt><dd>{total / 40:.2f} runs<small>" in report_page([over], title="one")
    assert f"<td>{so_far}, " in report_page([going, over], title="two")
    page = report_page([going], title="one")
    assert f"= {spent(half).total}: {so_far}. " in page  # the same under the bar of the cost
    assert set(re.findall(r"[\d.]+ runs", page.partition("<script")[0])) == {so_far[:9]}


def test_the_tries_of_a_round_under_way_are_named_and_counted() -> None:
    history = made().history
    good, bad = history[2].tries[0], replace(history[2].tries[1], error="broken", score=-math.inf)
    going = ReportedRun(name="<g>", history=history[:2], epochs=40, unfinished=(good, bad))
    page = report_page([going], title="one")
    lr = good.candidate["lr"], bad.candidate["lr"]
    line = f"ound 2 is under way: lr={lr[0]} {good.score:.4g}, lr={lr[1]} failed."
    assert f'<p class="note">R{line}</p></section>' in page
    assert "The round under way has 4 epochs of tries besides." in page
    over = ReportedRun(name="over", history=history)
    assert f'<p class="note">&lt;g&gt;: r{line}</p></section>' in report_page(
        [going, over], title=""
    )
    assert "under way" not in report_page([over], title="over").partition("<script")[0]
    many = replace(going, unfinished=(good,) * 15)
    assert f"{good.score:.4g}, and 3 more.</p>" in report_page([many], title="many")


def test_the_head_says_what_came_out_and_the_best() -> None:
    adapter = made()
    plan = plan_for(made(8), 40)
    page = html_report(adapter.history, title="<T>", plan=plan, settings=adapter.described)
    losses = [metrics["loss"] for _, metrics in adapter.history.measured]
    assert f"<dt>best loss</dt><dd>{min(losses):.5g}" in page
    assert "finished, 40 epochs" in page
    assert "<h1>&lt;T&gt;</h1>" in page
    assert f"Plan: {plan}." in page
    assert 'class="plan"' in page
    higher = ReportedRun(
        name="h", history=adapter.history, settings={"criterion": 'highest("loss")'}
    )
    assert sections.best_of(higher) == ("loss", max(losses), 1 + losses.index(max(losses)))
    other = ReportedRun(name="h", history=adapter.history, settings={"criterion": "highest('x')"})
    assert sections.best_of(other) is None


@pytest.mark.parametrize(
    ("chance", "says"),
    [(None, ""), (0.0, "p &lt; 0.001 if all values were equal"), (0.0314, "p = 0.031 if all")],
)
def test_a_chance_of_nothing_is_never_shown(chance: float | None, says: str) -> None:
    run = ReportedRun(name="r", history=made().history)
    signal = signal_of(run.history)
    signal = replace(signal, luck=replace(signal.luck, chance=chance))
    page = sections.head_section("r", [run], [signal])
    assert f"<small>{says}" in page
    assert "p = 0 " not in page


def test_how_far_a_run_is() -> None:
    history = made().history
    texts = [sections.status_of(ReportedRun(name="", history=history, epochs=n)) for n in (40, 60)]
    assert texts == ["finished, 40 epochs", "epoch 40 of 60: going on, or broken off"]
    assert "not known" in sections.status_of(ReportedRun(name="", history=history))


def test_several_runs_stand_side_by_side() -> None:
    adapter = made()
    runs = [
        ReportedRun(
            name=f"<{n}>", history=adapter.history, settings=adapter.described, facts={"k": "v"}
        )
        for n in range(2)
    ]
    page = report_page([*runs, ReportedRun(name="none", history=())], title="Two", reload=2.0)
    assert "3 runs side by side." in page
    assert page.count('<i class="dot"') == 3
    assert page.count("<td>signal</td>") + page.count("<td>noise</td>") >= 0
    assert "&lt;0&gt;" in page
    assert "<0>" not in page.replace(json.dumps("<0>"), "")
    assert [run["name"] for run in data_of(page)["runs"]] == ["<0>", "<1>", "none"]
    assert data_of(page)["reload"] == 2.0
    assert "<th>k</th><td>v</td>" in page


def test_what_is_not_known_is_said_and_what_is_known_can_be_repeated() -> None:
    history = made().history
    run = ReportedRun(
        name="r",
        history=history,
        command="python train.py <now>",
        versions={"numpy": "2"},
        epochs=40,
    )
    page = report_page([run], title="r")
    assert '<pre class="command">python train.py &lt;now&gt;</pre>' in page
    assert "<th>versions</th><td>numpy 2</td>" in page
    assert "Not known here: the settings, a plan of the cost." in page
    assert "The plan is not known." in page
    assert "the schedule as JSON" in page


def test_versions_and_command_are_never_guessed() -> None:
    adapter = made()
    given: dict[str, Any] = {"settings": adapter.described, "plan": plan_for(made(8), 40)}
    page = html_report(adapter.history, title="r", **given)
    assert "Not known here: the versions, the command. A journal of the run, " in page
    assert "<th>versions</th>" not in page
    given |= {"versions": {"numpy": "2"}}
    page = html_report(adapter.history, title="r", **given)
    assert "Not known here: the command.</p>" in page
    assert "Not known" not in html_report(adapter.history, title="r", command="run", **given)


def test_a_schedule_that_is_long_is_not_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "_LONGEST", 10)
    page = html_report(made().history, title="long")
    assert "the schedule as JSON" not in page
    assert "schedule_of(history).to_json() gives it" in page


def test_a_loop_that_measures_nothing_has_no_line() -> None:
    model = Quadratic()
    loop = adapt(4, state=[model], space={"lr": [0.1, 0.5]}, minimize="loss", adapt_every=4,
                 try_for=1)  # fmt: skip
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
    assert set(run_on(html_report(loop.history, title="l"))["line"]) == {"loss"}


def campaign(**more: Any) -> list[Finished]:
    values = {"a": (1.0, 2.0, 3.0), "b": (5.0, 5.0, 5.0)}
    runs = [
        Finished(settings={"method": m, "seed": s}, result={"auc": v[s], "curve": [1], "ok": True})
        for m, v in values.items()
        for s in range(3)
    ]
    return [
        *runs,
        Finished(settings={"method": "c", "seed": 0}, result={"auc": 4.0}),
        *more.values(),
    ]


def test_a_campaign_is_a_table_of_means_with_intervals() -> None:
    failed = Finished(settings={"method": "a", "seed": 9}, result=None, error="<b>gone</b>")
    none = Finished(settings={"method": ["d"], "seed": 0}, result=None, error="<b>gone</b>")
    page = report_page(
        [], title="C", campaigns=[ReportedCampaign(name="c<", runs=campaign(x=failed, y=none))]
    )
    # Student's t with two degrees of freedom: 4.303 * 1 / sqrt(3).
    assert "<td>4 (1 failed)</td><td>2 ± 2.5" in page
    assert "<td>3</td><td>5 ± 0<" in page
    assert "<td>1</td><td>4<" in page  # one run has no interval
    assert "&lt;b&gt;gone&lt;/b&gt;" in page
    assert "Campaign c&lt;" in page
    assert "<th>curve</th>" not in page
    assert "9 runs, 2 failed" in page
    assert data_of(page)["runs"] == []


def test_a_campaign_of_equal_results_draws_no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [Finished(settings={"n": n}, result={"auc": 1.0}) for n in range(3)]
    monkeypatch.setattr("dynhp.report.page.sections._MOST_ROWS", 2)
    text = campaign_section(ReportedCampaign(name="e", runs=runs))
    assert "<svg" not in text
    assert "1 of 3 rows are left out" in text


def test_a_campaign_has_a_row_for_each_setting_but_seeds() -> None:
    settings = [
        {"lr": 0.123451, "seed": 1},
        {"seed": 2, "lr": 0.123451},
        {"lr": 0.123452, "seed": 1},  # which reads the same with four digits
        {"lr": 0.123451, "data_seed": 1, "linseed": 3},
    ]
    runs = [Finished(settings=each, result={"auc": 1.0}) for each in settings]
    text = campaign_section(ReportedCampaign(name="e", runs=runs))
    assert text.count("<tr><td>") == 3
    assert "<td>0.1235</td><td></td><td>2</td>" in text
    assert "<td>0.1235</td><td>3</td><td>1</td>" in text
    assert "data_seed" not in text


def test_what_is_best_is_finite_and_of_the_one_criterion() -> None:
    class Explodes(Quadratic):
        def metrics(self) -> Any:
            return {**super().metrics(), "ratio": math.inf if self.x < 0.2 else 1 / self.x}

    adapter = DynamicGridAdapter(
        Explodes(), {"lr": [0.5]}, minimize="loss", adapt_every=1, try_for=1, check="off"
    )
    adapter.run(8)
    for criterion, known in {
        "highest('ratio')": True,
        "smoothed(highest('ratio'), 0.3)": True,
        "phased(highest('ratio'), lowest('loss'), at=0.5)": False,
    }.items():
        run = ReportedRun(name="", history=adapter.history, settings={"criterion": criterion})
        best = sections.best_of(run)
        assert (best is not None) is known
        assert best is None or math.isfinite(best[1])


def test_criterion_by_function_has_no_best() -> None:
    adapter = made(minimize=None, criterion=lowest("loss"))
    assert sections.best_of(ReportedRun(name="", history=adapter.history)) is None


@pytest.mark.parametrize(("rounds", "limit"), [(500, 2e6), (5000, 5e6)])
def test_a_long_run_makes_a_page_that_is_not_too_large(rounds: int, limit: float) -> None:
    one = made(8, space={"lr": Float(0.01, 1.0, log=True, points=9)}).history[0]
    history = [
        replace(
            one,
            index=n,
            start=8 * n,
            tries=tuple(replace(try_, score=math.sin(n) - 1 / (n + 1)) for try_ in one.tries),
        )
        for n in range(rounds)
    ]
    page = html_report(history, title="long")
    assert len(page.encode()) < limit
    assert len(run_on(page)["tries"]["score"]) == 9 * rounds  # every score is there
