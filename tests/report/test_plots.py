"""Pictures for papers: what is drawn is what the records say."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dynhp import (
    Categorical,
    DynamicGridAdapter,
    fixed,
    plan_for,
    recommended,
    rescue,
    trainer_from,
)
from dynhp.errors import SettingsError
from dynhp.planning.budget import spent
from dynhp.records import History
from dynhp.records.history import kept_epochs
from dynhp.report.plots import plot_cost, plot_ladder, plot_schedule, plot_tries
from dynhp.testing import NoisyQuadratic
from tests.support.messages import raises
from tests.support.reference import Toy

matplotlib = pytest.importorskip("matplotlib")
pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _without_a_screen() -> Iterator[None]:
    matplotlib.use("agg")
    yield
    pyplot.close("all")


def made(epochs: int = 20, **settings: Any) -> DynamicGridAdapter:
    space = settings.pop("space", {"lr": [0.01, 0.1, 0.5]})
    given: dict[str, Any] = {"minimize": "loss", "adapt_every": 5, "try_for": 1} | settings
    adapter = DynamicGridAdapter(NoisyQuadratic(seed=1), space, **given)
    adapter.run(epochs)
    return adapter


def xy(line: Any) -> list[tuple[Any, Any]]:
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def test_the_schedule_is_drawn_as_steps_over_dots() -> None:
    adapter = made()
    history = adapter.history
    _, ax = pyplot.subplots()
    assert plot_schedule(adapter, ax=ax) is ax
    dots, steps = ax.get_lines()
    expected = [(round_.start, round_.candidate["lr"]) for round_ in history]
    assert xy(steps) == [*expected, (20, expected[-1][1])]
    assert steps.get_drawstyle() == "steps-post"
    assert xy(dots) == [(5 * n, rate) for n in range(4) for rate in (0.01, 0.1, 0.5)]
    assert (ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "epochs", "lr")
    assert plot_schedule(history, log=False).get_yscale() == "linear"


def test_what_was_left_behind_is_shaded() -> None:
    toy = Toy(2, raising=[0.3])
    adapter = DynamicGridAdapter(toy, **rescue("lr", default=0.3, loss="loss", factor=2.0))
    history = adapter.run(30)
    ax = plot_schedule(history)
    back = [round_ for round_ in history if round_.abandoned]
    assert back
    spans = [patch.get_extents() for patch in ax.patches]
    assert len(spans) == len(back)
    on_line = [r.start for r, kept in zip(history, kept_epochs(history), strict=True) if kept]
    assert [x for x, _ in xy(ax.get_lines()[1])][:-1] == on_line


def test_words_are_rows_and_a_name_is_needed_where_there_are_several() -> None:
    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: {"loss": 1.0},
    )
    space = {"act": Categorical("tanh", "relu"), "lr": [0.1, 0.2]}
    adapter = DynamicGridAdapter(
        trainer, space, minimize="loss", adapt_every=2, try_for=1, check="off"
    )
    history = adapter.run(4)
    ax = plot_schedule(history, "act")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["relu", "tanh"]
    words = [["relu", "tanh"].index(str(round_.candidate["act"])) for round_ in history]
    assert [y for _, y in xy(ax.get_lines()[1])][:-1] == words
    assert plot_ladder(history[0], "act").get_xlabel() == "act"
    with raises(SettingsError):
        plot_schedule(history)
    with raises(SettingsError):
        plot_ladder(history[0], "ac")


def test_every_score_is_drawn_and_the_kept_one_ringed() -> None:
    adapter = made()
    dots, kept = plot_tries(adapter).get_lines()
    gains = [
        (each.start, try_.score - next(t.score for t in each.tries if t.candidate == each.previous))
        for each in adapter.history
        for try_ in each.tries
    ]
    assert [x for x, _ in xy(dots)] == [x for x, _ in gains]
    assert [y for _, y in xy(dots)] == pytest.approx([y for _, y in gains])
    assert len(xy(kept)) == 4
    scores, best = plot_tries(adapter.history, gains=False).get_lines()
    assert [y for _, y in xy(scores)] == [t.score for r in adapter.history for t in r.tries]
    assert [y for _, y in xy(best)] == [round_.winner.score for round_ in adapter.history]


@pytest.mark.parametrize("gains", [True, False])
def test_a_run_without_scores_has_no_dots(gains: bool) -> None:
    ax = plot_tries(fixed(NoisyQuadratic(), {"lr": 0.1}, epochs=10, measure_every=5), gains=gains)
    assert [xy(line) for line in ax.get_lines()] == [[], []]


def test_where_the_value_in_force_failed_the_mean_is_the_base() -> None:
    class RefusesOneRate(NoisyQuadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            if hyperparameters["lr"] == 0.5:
                raise RuntimeError("too fast")
            super().train_k(k, hyperparameters)

    adapter = DynamicGridAdapter(
        RefusesOneRate(seed=1), {"lr": [0.01, 0.1, 0.5]}, minimize="loss", adapt_every=5, try_for=1,
        initial={"lr": 0.5},
    )  # fmt: skip
    history = adapter.run(5)
    dots, _ = plot_tries(history).get_lines()
    scores = [try_.score for try_ in history[0].tries if try_.error is None]
    assert [y for _, y in xy(dots)] == pytest.approx([s - sum(scores) / 2 for s in scores])
    line, _ = plot_ladder(history[0]).get_lines()
    assert len(xy(line)) == 2


def test_the_cost_is_one_bar_and_the_plan_a_line() -> None:
    adapter = made()
    plan = plan_for(made(5), 20)
    ax = plot_cost(adapter, plan=plan)
    cost = spent(adapter.history)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == [cost.main_line, cost.overhead - 2, 2, 0]
    assert [bar.get_x() for bar in ax.patches][1] == cost.main_line
    (line,) = ax.get_lines()
    assert list(line.get_xdata()) == [plan.most.total] * 2
    assert plot_cost(adapter.history).get_lines() == []  # no plan, no line


def test_a_ladder_has_values_across_and_scores_up() -> None:
    round_ = made().history[0]
    ax = plot_ladder(round_)
    line, kept = ax.get_lines()
    assert xy(line) == sorted((try_.candidate["lr"], try_.score) for try_ in round_.tries)
    assert xy(kept) == [(round_.candidate["lr"], round_.winner.score)]
    assert ax.get_xscale() == "log"


def test_what_cannot_be_drawn() -> None:
    with raises(SettingsError):
        plot_cost([])
    with raises(SettingsError):
        plot_ladder(History(()))  # type: ignore[arg-type]


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    history = made().history
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with raises(ImportError):
        plot_tries(history)


def test_a_corrected_value_is_a_dashed_line_in_the_ladder() -> None:
    arguments = recommended("learning_rate", name="lr", default=0.03, loss="loss")
    adapter = DynamicGridAdapter(NoisyQuadratic(seed=1), **arguments)
    round_ = adapter.run(40)[0]
    assert round_.corrected is not None
    _, kept, taken = plot_ladder(round_).get_lines()
    assert xy(kept) == [(round_.winner.candidate["lr"], round_.winner.score)]
    assert list(taken.get_xdata()) == [round_.corrected["lr"]] * 2
    assert (taken.get_label(), taken.get_linestyle()) == ("taken", "--")
