"""Corrections and tails in the corners: asked once, logged as trained, judged where they end."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, schedule_of
from dynhp.errors import LoopError
from dynhp.records import Round
from dynhp.report import luck_of
from dynhp.report.scalars import Totals, scalars_of
from dynhp.spaces import Around
from dynhp.tails import annealed, scale
from dynhp.testing import Quadratic
from tests.support.messages import raises


def corrected(**changes: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {"adapt_every": 6, "try_for": 3, "then": scale(0.5), "check": "off"}
    return DynamicGridAdapter(
        Quadratic(), {"lr": Around(0.3)}, minimize="loss", **(settings | changes)
    )


def test_a_correction_is_asked_once_a_round() -> None:
    factors = itertools.cycle([1.0, 0.5, 0.25])
    adapter = corrected(then=lambda values, _: values.but({"lr": values["lr"] * next(factors)}))
    assert [adapter.step().corrected for _ in range(2)] == [
        round_.winner.candidate.but({"lr": round_.winner.candidate["lr"] * factor})  # type: ignore[operator]
        for round_, factor in zip(adapter.history, (1.0, 0.5), strict=True)
    ]


def in_force(round_: Round) -> list[tuple[int, float]]:
    series = (each for each in scalars_of(round_, Totals()) if each.series == "schedule/lr")
    return [(each.step, each.value) for each in series]


def test_loggers_get_the_values_that_were_trained_with() -> None:
    round_ = corrected().run(6)[0]
    (first, tried), (second, after) = schedule_of([round_]).as_list()
    assert (first, second) == (3, 3)
    assert in_force(round_) == [(0, tried["lr"]), (3, after["lr"]), (5, after["lr"])]
    short = corrected(adapt_every=4).run(4)[0]  # no epoch between the try and the last one
    assert [step for step, _ in in_force(short)] == [0, 3]


def test_a_corrected_choice_can_be_clear() -> None:
    history = corrected(then=scale(0.9), adapt_every=4).run(40)
    assert luck_of(history).clear > 0


@pytest.mark.parametrize(("every", "judged"), [(10, False), (19, True), (1, True)])
def test_a_try_of_steps_needs_a_report_in_its_tail(every: int, judged: bool) -> None:
    model = Quadratic()
    loop = adapt(
        steps=40,
        state=[model],
        space={"lr": [0.1, 0.5]},
        minimize="loss",
        adapt_every=20,
        try_for=10,
        tail=annealed("lr", epochs=9),
        check="off",
    )

    def run() -> None:
        count = 0
        for step in loop:
            model.train_k(1, step.values)
            count = 0 if step in (0, 20) and step.trying and not step.tail else count
            count += 1
            if count % every == 0 or (step.main and (step + 1) % 5 == 0):
                step.report(loss=model.metrics()["loss"])

    if judged:
        run()
        assert all(try_.reported[-1:] != (10,) for try_ in loop.history[0].tries)
    else:
        with raises(LoopError):
            run()


def test_a_report_on_a_pass_before_the_tail_comes_too_late() -> None:
    model = Quadratic()
    loop = adapt(
        steps=8,
        state=[model],
        space={"lr": [0.1, 0.5]},
        minimize="loss",
        adapt_every=4,
        try_for=1,
        tail=annealed("lr", epochs=3),
        check="off",
    )

    def run() -> None:
        before = None
        for step in loop:
            model.train_k(1, step.values)
            if step.tail and before is not None:
                before.report(loss=1.0)
            before = step

    with pytest.raises(LoopError):
        run()
