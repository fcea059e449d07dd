"""The last steps of a loop may hold no report: the run ends as planned, with what it has."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dynhp import Interpolation, Racing, adapt, plan_for, replay, schedule_of, spent
from dynhp.errors import Hint, LoopError
from dynhp.proposers import Ladder
from dynhp.records.history import DRY_RUN
from dynhp.report import html_report
from dynhp.storage.journal import Journal, history_from_journal
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import At, Every, OnSpike, any_of
from tests.support.loops import seen
from tests.support.messages import raises, warns
from tests.support.pages import run_on
from tests.support.reference import without_times


@pytest.fixture(autouse=True)
def _hints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())


SETTINGS: dict[str, dict[str, Any]] = {
    "every": {"adapt_every": 7},
    "at": {"when": At([0, 21])},
    "any": {"when": any_of(Every(7), OnSpike("loss", factor=1e9))},
    "race": {"adapt_every": 7, "selection": Racing(every=4), "try_for": 7},
    "waves": {"adapt_every": 7, "proposer": Interpolation()},
    "independent": {"adapt_every": 7, "keep": "value", "randomness": "independent"},
    "dry": {"adapt_every": 7, "dry_run": True},
    "checked": {"adapt_every": 7, "check": "every"},
}


def run(model: NoisyQuadratic, every: int = 4, **settings: Any) -> Any:
    arguments = {"try_for": 4, "check": "off", **settings}
    loop = adapt(
        steps=24, state=[model], space={"lr": [0.01, 0.1, 0.3]}, minimize="loss", **arguments
    )
    for step in loop:
        model.train_k(1, step.values)
        if step % every == 0:
            step.report(model.metrics())
    return loop


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_round_without_a_report_in_the_last_steps_keeps_the_value(
    settings: dict[str, Any], tmp_path: Any
) -> None:
    model, journal = NoisyQuadratic(), tmp_path / "journal"
    with warns(Hint):
        loop = run(model, **settings, callbacks=Journal(journal))
    last = loop.history[-1]
    assert last.start == 21
    assert last.tries
    assert last.candidate == last.previous
    assert all(try_.series == () and math.isnan(try_.score) for try_ in last.tries)
    nothing_to_choose_by = "no score is finite, so the first that did not fail is kept"
    assert last.reason == (DRY_RUN if "dry_run" in settings else nothing_to_choose_by)
    assert loop.history.epochs == model.steps == 24
    assert loop.adapter.is_over
    again = NoisyQuadratic()
    replay(schedule_of(loop), again)
    assert seen(again) == seen(model)
    assert without_times(history_from_journal(journal)) == without_times(loop.history)
    page = run_on(html_report(loop.history, title="Steps"))
    assert page["rounds"]["chosen"] == [round_.chosen for round_ in loop.history]
    fresh = adapt(
        steps=24, state=[NoisyQuadratic()], space={"lr": [0.01, 0.1, 0.3]}, minimize="loss",
        **{"try_for": 4, "check": "off", **settings},
    )  # fmt: skip
    plan = plan_for(fresh, 24)
    assert not plan.exact or plan.most == spent(loop)
    assert plan.least.total <= spent(loop).total <= plan.most.total


def test_a_rescue_in_the_last_steps_keeps_what_does_not_break() -> None:
    model, broken = NoisyQuadratic(), [True]
    loop = adapt(
        steps=24, state=[model], space={"lr": [0.01, 0.1, 0.3]}, minimize="loss", try_for=4,
        when=OnSpike("loss", factor=1e9), start_from="before", max_rounds=0, max_rescues=1,
        proposer=Ladder(2), initial={"lr": 0.3}, check="off",
    )  # fmt: skip

    def body() -> None:
        for step in loop:
            with step:
                model.train_k(1, step.values)
                if step >= 22 and step["lr"] == 0.3 and (broken or step.trying):
                    broken.clear()
                    raise ArithmeticError("diverged")
                if step % 4 == 0:
                    step.report(model.metrics())

    with warns(Hint):
        body()
    rescue = loop.history[-1]
    assert rescue.rescue
    assert [try_.error is None for try_ in rescue.tries] == [False, True, True]
    assert rescue.candidate == {"lr": 0.1}
    assert loop.history.epochs == 24


def test_tries_of_full_length_still_need_a_report() -> None:
    with raises(LoopError):
        run(NoisyQuadratic(), 11, adapt_every=7)
    with raises(LoopError):
        run(NoisyQuadratic(), adapt_every=7, try_for=3)  # also where the run ends with them
