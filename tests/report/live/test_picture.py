"""The picture of a run says what is so, in at most twelve lines, and in a line of text."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, History, Interpolation, Racing, adapt, lowest, plan_for, spent
from dynhp.middleware.display import RunBegins, StretchBegins, TryScored
from dynhp.records import Round
from dynhp.report import LiveDisplay
from dynhp.report.live.course import Course
from dynhp.report.live.pause import Pause
from dynhp.report.live.picture import ASCII, UNICODE, RunPicture, bar, marks_of, sparkline
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import OnPlateau


class DrawsAll:
    """A display that draws the picture at every moment, and keeps it."""

    def __init__(self, width: int = 79, height: int = 30) -> None:
        self.size = (width, height)
        self.drawn: list[tuple[Any, list[str]]] = []
        self.texts: list[str] = []

    def open(self, run: RunBegins) -> None:
        self.course = Course(run)
        self.picture = RunPicture("fit", self.course)

    def __call__(self, moment: Any) -> None:
        self.course.take(moment)
        self._draw(moment)

    def beat(self, place: int | None, epochs: int, metrics: Any) -> None:
        self.course.beat(place, epochs, metrics)
        self._draw(None)

    def close(self, failure: BaseException | None) -> None:
        self.picture.ended = "done in"
        self._draw(failure)

    def _draw(self, moment: Any) -> None:
        lines = self.picture.lines(*self.size, UNICODE)
        self.drawn.append((moment, ["".join(text for text, _ in line) for line in lines]))
        self.texts.append(self.picture.text())

    def at(self, kind: type) -> list[list[str]]:
        return [lines for moment, lines in self.drawn if isinstance(moment, kind)]


@pytest.fixture(autouse=True)
def _beats_all_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.middleware.display.BEATS", 0.0)


def watched(epochs: int = 20, size: tuple[int, int] = (79, 30), **settings: Any) -> DrawsAll:
    seen = DrawsAll(*size)
    space = settings.pop("space", {"lr": [0.01, 0.1, 0.5]})
    trainer = settings.pop("trainer", None) or NoisyQuadratic()
    given = {"criterion": lowest("loss"), "adapt_every": 5, "try_for": 1, **settings}
    seen.adapter = DynamicGridAdapter(trainer, space, **given)  # type: ignore[attr-defined]
    seen.history = seen.adapter.run(epochs, progress=seen)  # type: ignore[attr-defined]
    return seen


def history_of(seen: Any) -> History:
    return seen.history  # type: ignore[no-any-return]


def test_it_says_how_far_it_is_and_what_it_costs() -> None:
    seen = watched()
    history = history_of(seen)
    assert seen.drawn[0][1][0].startswith("fit  epoch 0/20  ──")
    assert seen.drawn[0][1][0].endswith("0 %  time left not known yet")
    assert seen.drawn[0][1][2] == "metrics  none yet"
    for number, lines in enumerate(seen.at(Round)):
        so_far, round_ = History(history[: number + 1]), history[number]
        assert lines[0].startswith(f"fit  epoch {so_far.epochs}/20  ")
        assert f"lr  {round_.candidate['lr']}" in lines[1]
        best = min((m["loss"], epoch + 1) for epoch, m in so_far.measured)
        assert f"best {best[0]:.4g} at {best[1]}" in lines[2]
        total = spent(so_far).total
        assert lines[3] == f"cost     {total} of 30 epochs, {total / 20:.2f} runs so far"
    assert seen.drawn[-1][1][3] == "cost     30 of 30 epochs, 1.50 runs"
    assert "done in" in seen.drawn[-1][1][0]
    assert len(seen.drawn[-1][1]) == 4  # the tries of the last round are gone
    assert "cost 30 of 30 epochs" in seen.texts[-1]


def test_what_it_will_cost_at_least_counts_the_tries_of_the_round_too() -> None:
    when = OnPlateau("loss", patience=2)
    seen = watched(30, when=when, adapt_every=None, max_rounds=3, check="off", try_for=2)
    history = history_of(seen)
    assert any(each.tries for each in history)
    for number, lines in enumerate(seen.at(Round)):
        so_far = History(history[: number + 1])
        total = spent(so_far).total
        least = re.match(rf"cost     {total} of (?:at least )?(\d+)", lines[3])
        assert least is not None
        assert int(least[1]) >= total + 30 - so_far.epochs


def test_tries_wait_run_lead_and_are_kept() -> None:
    seen = watched(5, check="off")
    first, second, third = seen.at(TryScored)
    assert first[4] == "round    0  3 tries, 2 to go"
    assert [line[7] for line in first[5:]] == ["★", "▸", "·"]
    assert [line[7] for line in second[5:]] == ["★", " ", "▸"]
    assert [line[7] for line in third[5:]] == [" ", " ", "★"]  # 0.5 is best
    assert [line.split()[-1] for line in third[5:]] == [
        f"{each.series[-1]['loss']:.4g}" for each in history_of(seen)[0].tries
    ]
    assert third[7].count("█") == 24  # the best has the longest bar
    assert 0 < third[6].count("█") < 4  # the worst a short one
    [kept] = seen.at(StretchBegins)
    assert kept[4] == "round    0  trains on to epoch 5"
    assert kept[7][7] == "✓"


def test_the_course_counts_as_the_records_do() -> None:
    for settings in (
        {},
        {"selection": Racing(), "try_for": 4},
        {"keep": "value", "randomness": "independent"},
        {"dry_run": True},
        {"proposer": Interpolation(), "check": "every"},
    ):
        seen = watched(23, **settings)  # type: ignore[arg-type]
        assert seen.course.trained == spent(history_of(seen)).total, settings
        assert seen.course.epoch == 23
        for lines in (lines for _, lines in seen.drawn):
            assert len(lines) <= 12


def test_a_run_that_keeps_only_the_value_marks_the_try_with_it() -> None:
    seen = watched(5, keep="value", randomness="independent")
    [lines] = seen.at(StretchBegins)
    chosen = history_of(seen)[0].chosen
    assert [line[7] for line in lines[5:]].index("✓") == chosen


def test_a_race_shows_who_is_out_and_who_goes_on() -> None:
    seen = watched(8, selection=Racing(), adapt_every=8, try_for=8)
    counts = [lines[4] for lines in seen.at(TryScored)]
    assert counts[:3] == [f"round    0  3 tries, {left} to go" for left in (2, 1, 0)]
    assert counts[-1] == "round    0  3 tries, 0 to go"
    assert any("of 8 epochs" in line for _, lines in seen.drawn for line in lines)
    assert any(each.out for each in seen.course.tries.values())


def test_a_failed_try_says_why_and_does_no_harm() -> None:
    class RefusesHalf(Quadratic):
        def train_k(self, k: int, hyperparameters: Any) -> None:
            if hyperparameters["lr"] == 0.5:
                raise ValueError("[red]no\x1b[31m\nsecond line")
            super().train_k(k, hyperparameters)

    seen = watched(5, trainer=RefusesHalf())
    line = seen.at(TryScored)[-1][7]
    assert line.endswith(r"failed: ValueError: [red]no\x1b[31m second line")
    nan = watched(5, criterion=lambda series, progress: math.nan)
    assert nan.at(TryScored)[-1][7].endswith("nan")
    assert nan.course.best is None


def test_many_tries_and_many_names_have_room() -> None:
    many = watched(5, space={"lr": [0.01 * n for n in range(1, 30)]}, check="off")
    scored = many.at(TryScored)[-1]
    assert len(scored) == 11
    assert scored[-1] == "         … 24 more"
    assert sum(line[7:8] == "★" for line in scored) == 1
    names = {"lr": [0.1, 0.5], "a" * 40: [1], "b": ["x" * 40], "c": [2], "d": [None]}
    trainer = TakesAnyName()
    several = watched(5, space=names, trainer=trainer)
    assert len(several.drawn[0][1]) <= 12
    assert any("b=xxxxxxxxxxxxxxxxxxxxx..., c=2" in line for line in several.drawn[0][1])


class TakesAnyName(Quadratic):
    """Takes any hyperparameter."""

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, {"lr": hyperparameters["lr"]})


@pytest.mark.parametrize("size", [(10, 30), (25, 30), (79, 1), (79, 5), (79, 6), (79, 7)])
def test_there_are_never_more_lines_than_room(size: tuple[int, int]) -> None:
    seen = watched(10, size, space={"lr": [0.01 * n for n in range(1, 10)]})
    assert all(len(lines) <= size[1] for _, lines in seen.drawn)
    assert seen.drawn[-1][1][0].startswith("fit")


def test_time_left_is_as_honest_as_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(10)
    course = Course(seen.adapter._begins())  # type: ignore[attr-defined]
    picture = RunPicture("fit", course)
    for left, text in {
        (60.0, 60.0): "about 1 min 0 s left",
        (60.0, 80.0): "about 1 min 0 s to 1 min 20 s left",
        (60.0, 9e9): "at least 1 min 0 s left",
        (0.0, 0.4): "about 0 s left",
    }.items():
        monkeypatch.setattr(course, "seconds_left", lambda left=left: left)
        assert picture._time() == text


def test_a_wide_plan_says_the_least_and_is_looked_at_again() -> None:
    when = OnPlateau("loss", patience=2)
    seen = watched(30, adapt_every=None, when=when, start_from="best", max_rounds=30, max_rescues=2)
    assert "of at least 30" in seen.drawn[0][1][3]
    course = Course(seen.adapter._begins())  # type: ignore[attr-defined]
    assert course.abandoned == spent(history_of(seen)).abandoned > 0
    assert seen.course.abandoned == course.abandoned
    assert seen.course.trained == spent(history_of(seen)).total
    assert f", {course.abandoned} abandoned" in seen.drawn[-1][1][3]
    measured = [(m["loss"], epoch + 1) for epoch, m in history_of(seen).measured]
    assert seen.course.best is not None
    assert (seen.course.best.value, seen.course.best.epoch) == min(measured)
    seen.course._pause = Pause(least=0.0)  # the time has come to look again
    assert seen.course.current_plan() == plan_for(seen.adapter)  # type: ignore[attr-defined]


def test_rescues_are_counted() -> None:
    class OverflowsOnce(Quadratic):
        trained = 0

        def train_k(self, k: int, hyperparameters: Any) -> None:
            super().train_k(k, hyperparameters)
            OverflowsOnce.trained += k
            if OverflowsOnce.trained == 9:
                raise FloatingPointError("overflow")

    seen = watched(
        12,
        trainer=OverflowsOnce(),
        adapt_every=None,
        when=OnPlateau("loss", patience=50),
        start_from="before",
        max_rounds=0,
        max_rescues=1,
        check="off",
    )
    assert seen.course.rescues == 1
    assert ", 1 rescue" in seen.drawn[-1][1][3]
    assert seen.course.trained == spent(history_of(seen)).total
    again = Course(seen.adapter._begins())  # type: ignore[attr-defined]
    assert (again.rescues, again.abandoned) == (1, seen.course.abandoned)


def test_a_resumed_run_goes_on_where_it_was() -> None:
    seen = watched(10)
    adapter = seen.adapter  # type: ignore[attr-defined]
    adapter.epochs = 20
    course = Course(adapter._begins())
    assert course.epoch == 10
    assert course.trained == spent(adapter.history).total
    assert course.best == seen.course.best
    assert list(course.past) == [round_.candidate for round_ in adapter.history]
    assert course.seconds_left() is None


def test_a_loop_shows_its_main_line_epoch_by_epoch() -> None:
    model, seen = Quadratic(), DrawsAll()
    for step in adapt(
        steps=6,
        state=[model],
        space={"lr": [0.1, 0.5]},
        minimize="loss",
        adapt_every=6,
        try_for=2,
        progress=seen,
    ):
        model.train_k(1, step.values)
        if step % 2:
            step.report(model.metrics())
    on_the_line = [lines[0].split("  ")[1] for moment, lines in seen.drawn if moment is None]
    assert "step 3/6" in on_the_line
    assert "step 5/6" in on_the_line
    assert any("repeats a try, to compare" in lines[4] for _, lines in seen.drawn)
    assert seen.course.best is not None
    assert seen.course.best.epoch == 6


@pytest.mark.parametrize(
    ("adapt_every", "epochs", "most"), [(5, 200, 11), (100, 200, 11), (5, 10, 11), (200, 200, 11)]
)
def test_lines_come_for_tenths_of_the_work_and_at_the_end(
    adapt_every: int, epochs: int, most: int
) -> None:
    """Also where all of it is one round, as in a complete search."""
    out = io.StringIO()
    adapter = DynamicGridAdapter(
        Quadratic(),
        {"lr": [0.1 * n for n in range(1, 12)]},
        criterion=lowest("loss"),
        adapt_every=adapt_every,
        try_for=min(adapt_every, 50),
    )
    adapter.run(epochs, progress=LiveDisplay("fit", stream=out))
    lines = out.getvalue().splitlines()
    assert 2 <= len(lines) <= most
    assert len(set(lines)) == len(lines)
    assert lines[-1].startswith(f"fit: epoch {epochs}/{epochs}, lr=1, loss=0, best 0 at 1, cost ")
    assert sum("done in" in line for line in lines) == 1


def test_marks_bars_and_sparklines() -> None:
    assert marks_of("no such encoding") is ASCII
    assert [len(bar(n / 10, 10, UNICODE)) for n in (0, 1, 5, 10)] == [1, 1, 5, 10]
    assert sparkline([], UNICODE) == ""
    assert sparkline([3, 3], UNICODE) == "▄▄"
    assert sparkline([True, False, None], ASCII) == "_~#"
