"""A trainer that counts steps: every record, plan and cost of its run says so."""

from __future__ import annotations

import warnings

import pytest

from dynhp import DynamicGridAdapter, Int, Racing, lowest, plan_for, spent
from dynhp.errors import Hint
from dynhp.testing import Quadratic


class CountedInSteps(Quadratic):
    """A quadratic whose unit is a step."""

    unit = "steps"


def an_adapter(trainer: Quadratic) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        trainer,
        {"lr": [0.01, 0.1, 0.5]},
        criterion=lowest("loss"),
        adapt_every=5,
        try_for=2,
        selection=Racing(),
    )


@pytest.mark.parametrize(
    ("trainer", "unit"), [(CountedInSteps(), "steps"), (Quadratic(), "epochs")]
)
def test_records_plan_and_cost_have_the_unit_also_after_they_were_saved(
    trainer: Quadratic, unit: str
) -> None:
    adapter = an_adapter(trainer)
    plan = plan_for(adapter, 10)
    history = adapter.run(10)
    assert {round_.unit for round_ in history} == {unit}
    assert {try_.unit for round_ in history for try_ in round_.tries} == {unit}
    assert (plan.least.unit, plan.most.unit, spent(history).unit) == (unit, unit, unit)
    assert spent([]).unit == "epochs"
    saved = adapter.state_dict()
    assert ("unit" in saved["history"][0]) == (unit == "steps")
    again = an_adapter(type(trainer)())
    again.load_state_dict(saved)
    assert [round_.unit for round_ in again.history] == [unit, unit]
    assert [try_.unit for try_ in again.history[0].tries] == [unit] * 3


def test_the_hint_on_very_many_tries_has_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        DynamicGridAdapter(
            CountedInSteps(),
            {"lr": Int(1, 1000), "size": Int(1, 1000)},
            minimize="loss",
            adapt_every=5,
            try_for=1,
        )
    assert any("steps in tries" in str(each.message) for each in caught)
