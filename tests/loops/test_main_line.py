"""The main line: what was measured on it, its best epoch, and values that nobody uses."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import attribute, fixed, highest, lowest, phased, smoothed
from dynhp.errors import Hint, LoopError, SettingsError
from dynhp.loops import Epoch
from dynhp.selfcheck.difference import difference
from dynhp.storage import Journal, checkpoints, history_from_journal
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.loops import Layer, loop_over, run, seen, train
from tests.support.messages import raises, warns


def test_the_metrics_of_a_round_are_those_of_its_last_epoch_or_none() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, epochs=10, adapt_every=5)
    ends: list[Any] = []
    for epoch in loop:
        model.train_k(1, epoch.values)
        if epoch.trying or epoch % 5 != 4 or epoch > 5:
            epoch.report(model.metrics())
        ends.append(model.metrics())
    assert loop.history[0].metrics == {}  # reported in epochs 1 to 3, not in the last
    assert loop.history[1].metrics == model.metrics()


@pytest.mark.parametrize("settings", [{}, {"keep": "value", "randomness": "independent"}])
def test_all_that_was_measured_on_the_main_line_is_kept(settings: dict[str, Any]) -> None:
    model, line = NoisyQuadratic(), {}
    loop = loop_over(model, **settings)
    for epoch in loop:
        train(model, epoch)
        if epoch.main:
            line[int(epoch)] = epoch.metrics
    assert [number for number, _ in loop.history.measured] == list(range(9))
    measured = dict(loop.history.measured)
    between = [0, 1] if settings else [1]  # the last epoch is kept as ``metrics``
    assert [number for number, _ in loop.history[0].stretch] == between
    assert line.items() <= measured.items()
    if settings:  # the tries are trained again
        assert line == measured
    else:
        assert measured[3] == loop.history[1].winner.series[0]
    assert [dict(round_.measured) for round_ in loop.history] == [
        {number: measured[number] for number in range(start, start + 3)} for start in (0, 3, 6)
    ]


def test_where_the_main_line_was_left_what_was_measured_stays() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model)
    for epoch in loop:
        train(model, epoch)
        if epoch == 4 and epoch.main:
            break
    assert [number for number, _ in loop.history.measured] == [0, 1, 2, 3, 4]
    assert loop.history.measured[-1] == (4, model.metrics())


def test_a_run_without_tries_says_when_it_was_measured() -> None:
    history = fixed(NoisyQuadratic(), {"lr": 0.1}, epochs=5, measure_every=3)
    assert [number for number, _ in history.measured] == [2, 4]


def test_what_was_measured_is_in_the_journal(tmp_path: Path) -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, callbacks=[Journal(tmp_path / "journal")])
    for epoch in loop:
        train(model, epoch)
    assert history_from_journal(tmp_path / "journal") == loop.history
    assert history_from_journal(tmp_path / "journal").measured == loop.history.measured


def bouncing(epoch: Epoch) -> float:
    """A loss that is lowest in epoch 4, and worse in tries."""
    return abs(epoch - 4) + 0.5 * epoch.trying


def test_the_best_epoch_of_the_main_line_is_kept() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True)
    assert loop.best is None
    best = ""
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(loss=bouncing(epoch))
        if epoch == 4:
            best = seen(model)
            assert loop.best is not None
            with raises(LoopError):
                loop.restore_best()
    assert loop.best is not None
    assert (loop.best.epoch, loop.best.metrics, loop.best.score) == (4, {"loss": 0.0}, 0.0)
    assert seen(model) != best
    loop.restore_best()
    assert seen(model) == best


def test_of_equals_the_first_is_best_and_progress_is_what_is_done() -> None:
    model = NoisyQuadratic()
    asked: set[tuple[int, int | None, int]] = set()

    def judge(series: Any, progress: Any) -> float:
        asked.add((progress.epoch, progress.planned, len(series)))
        return 1.0

    loop = loop_over(model, keep_best=judge)
    for epoch in loop:
        train(model, epoch)
    assert loop.best is not None
    assert loop.best.epoch == 0
    assert asked == {(number, 9, 1) for number in range(1, 10)}


def test_the_best_epoch_can_be_the_one_in_which_the_loop_was_left() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True)
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(loss=bouncing(epoch))
        if epoch == 4 and epoch.main:
            break
    left = seen(model)
    assert loop.best is not None
    assert loop.best.epoch == 4
    loop.restore_best()
    assert seen(model) == left


def test_the_best_epoch_may_lie_in_a_try_that_was_kept_never_in_another() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True, criterion=highest("gain"))
    tried: dict[float, str] = {}
    for epoch in loop:
        model.train_k(1, epoch.values)
        # In the tries of epoch 3, 0.3 is best; on the main line nothing is ever as good.
        epoch.report(gain=float(epoch["lr"]) if epoch == 3 else 0.0)  # type: ignore[arg-type]
        if epoch == 3:
            tried[float(epoch["lr"])] = seen(model)  # type: ignore[arg-type]
    assert loop.best is not None
    assert (loop.best.epoch, loop.best.score) == (3, 0.3)
    loop.restore_best()
    assert seen(model) == tried[0.3]


def test_after_a_break_in_a_try_the_best_is_of_the_main_line() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True, criterion=highest("gain"))
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(gain=float(epoch) * epoch.trying)
        if epoch == 6:
            break
    assert loop.best is not None
    assert loop.best.epoch == 3
    assert loop.history.epochs == 6


def test_what_is_not_finite_is_never_best_and_nothing_to_restore_changes_nothing() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=lowest("other"))
    for epoch in loop:
        model.train_k(1, epoch.values)
        epoch.report(model.metrics(), other=float("nan"))
    before = seen(model)
    loop.restore_best()
    assert (loop.best, seen(model)) == (None, before)


def test_bound_values_go_back_with_the_best_epoch() -> None:
    layer = Layer()
    loop = loop_over(
        NoisyQuadratic(),
        space={"p": [0.1, 0.2]},
        bind={"p": attribute(layer, "p")},
        keep_best=lowest("judged"),
        epochs=6,
    )
    for epoch in loop:
        wanted = 0.1 if epoch < 3 else 0.2
        epoch.report(loss=abs(layer.p - wanted), judged=abs(epoch - 1))
    assert layer.p == 0.2
    loop.restore_best()
    assert layer.p == 0.1


def test_the_best_state_survives_a_checkpoint(tmp_path: Path) -> None:
    def part_of_it(epochs_done: int | None) -> Any:
        model = NoisyQuadratic()
        loop = loop_over(model, keep_best=True)
        with checkpoints(tmp_path / str(epochs_done is None), loop.adapter):
            for epoch in loop:
                model.train_k(1, epoch.values)
                epoch.report(loss=abs(epoch - 1))
                if epoch.main and epoch + 1 == epochs_done:
                    break
        return model, loop

    part_of_it(3)
    again, loop = part_of_it(3)  # at its end already
    (tmp_path / "False").rename(tmp_path / "resumed")
    del again, loop
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True)
    with checkpoints(tmp_path / "resumed", loop.adapter, resume="must"):
        for epoch in loop:
            model.train_k(1, epoch.values)
            epoch.report(loss=abs(epoch - 1))
    whole, other = part_of_it(None)
    assert difference(loop.best, other.best) is None
    loop.restore_best()
    other.restore_best()
    assert seen(model) == seen(whole)


def test_a_metric_that_differs_each_time_is_no_part_of_the_state() -> None:
    model = NoisyQuadratic()
    loop = loop_over(model, keep_best=True, check="every")
    for seconds, epoch in enumerate(loop):
        model.train_k(1, epoch.values)
        epoch.report(model.metrics(), seconds=float(seconds))
    assert loop.best is not None
    assert "seconds" in loop.best.metrics


def test_the_best_is_kept_on_request_only() -> None:
    loop = loop_over(NoisyQuadratic())
    for ask in (lambda: loop.best, loop.restore_best):
        with raises(LoopError):
            ask()
    criterion = phased(lowest("ema_loss"), lowest("loss"))
    for changing in (criterion, smoothed(criterion)):
        with raises(SettingsError):
            loop_over(NoisyQuadratic(), criterion=changing, keep_best=True)
    with raises(SettingsError):
        loop_over(NoisyQuadratic(), keep_best="loss")


@pytest.mark.parametrize("steps", [False, True])
def test_a_value_that_nobody_uses_is_an_error(steps: bool) -> None:
    model = NoisyQuadratic()
    origin, passes = seen(model), 0
    lengths = {"epochs": None, "steps": 9} if steps else {}

    def body(epoch: Epoch) -> None:
        nonlocal passes
        passes += 1
        model.train_k(1, {"lr": 0.1})
        epoch.report(model.metrics())

    with raises(LoopError):
        run(loop_over(model, try_for=2, **lengths), body)
    assert (seen(model), passes) == (origin, 2)


@pytest.mark.parametrize("read", ["item", "values", "some passes"])
def test_a_value_that_is_read_somehow_is_not(read: str) -> None:
    model = NoisyQuadratic()

    def body(epoch: Epoch) -> None:
        if read == "item":
            epoch["lr"]
        elif read == "values" or epoch % 3 == 1:
            dict(epoch.values)
        epoch.report(model.metrics())

    run(loop_over(model, try_for=2), body)


def test_one_name_of_two_is_forgotten() -> None:
    layer = Layer()
    space = {"p": [0.1, 0.2], "lr": [0.1, 0.2]}
    for bind, name in (({}, "p"), ({"p": attribute(layer, "p")}, None)):
        loop = loop_over(NoisyQuadratic(), space=space, bind=bind)
        body = lambda epoch: epoch.report(loss=epoch["lr"])  # noqa: E731
        if name is None:
            run(loop, body)
        else:
            with raises(LoopError):
                run(loop, body)


def test_a_try_that_failed_before_it_read_anything_is_not_accused() -> None:
    def body(epoch: Epoch) -> None:
        with epoch:
            if epoch.trying and epoch == 0 and len(seen_values) < 1:
                seen_values.append(1)
                raise ArithmeticError
            epoch.report(loss=float(epoch["lr"]))  # type: ignore[arg-type]

    seen_values: list[int] = []
    loop = loop_over(NoisyQuadratic())
    run(loop, body)
    assert loop.history[0].tries[0].error == "ArithmeticError: "


def test_only_the_first_round_asks_whether_values_are_read() -> None:
    model = NoisyQuadratic()

    def body(epoch: Epoch) -> None:
        if epoch < 3:
            epoch["lr"]
        epoch.report(model.metrics())

    run(loop_over(model), body)


@pytest.mark.parametrize("leave", [False, True])
def test_independent_tries_leave_global_generators_as_they_were(leave: bool) -> None:
    for seed in (1, 2):
        np.random.seed(seed)
        random.seed(seed)
        wanted = np.random.random(), random.random()
        np.random.seed(seed)
        random.seed(seed)
        model = NoisyQuadratic()
        for epoch in loop_over(model, randomness="independent"):
            np.random.random()
            train(model, epoch)
            if leave and epoch.main:
                break
        assert (np.random.random(), random.random()) == wanted


def test_leaving_in_a_try_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())

    def leave() -> None:
        for epoch in loop_over(NoisyQuadratic()):
            assert epoch.trying
            break

    with warns(Hint):
        leave()
