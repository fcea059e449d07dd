"""The best state inside of a try, whatever carries that out: the answer of ``Serial``."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, Racing
from dynhp.errors import Hint, SettingsError
from dynhp.executors import Batched, Processes
from tests.support.losses import (
    FIRST_IS_BEST,
    LossTable,
    Thirds,
    settings_of,
    starts_inside,
    table_adapter,
    trainer_of,
)
from tests.support.messages import raises
from tests.support.reference import without_times


def test_processes_give_the_same() -> None:
    with Processes(partial(LossTable, FIRST_IS_BEST), workers=2) as processes:
        for changes in ({}, {"selection": Racing()}, {"tail": Thirds()}, {"check": "every"}):
            here, there = table_adapter(**changes), table_adapter(**changes, executor=processes)
            assert without_times(here.run(8)) == without_times(there.run(8))
            assert trainer_of(here).diary == trainer_of(there).diary
            assert starts_inside(there.history) == 1


def test_a_criterion_that_cannot_be_sent_is_refused_where_it_must_be() -> None:
    def nearby(series: Any, progress: Any) -> float:
        return -float(series[-1]["loss"])

    with Processes(partial(LossTable, FIRST_IS_BEST), workers=1) as processes:
        made = partial(table_adapter, criterion=nearby, executor=processes)
        for changes in ({}, {"try_for": 0.5}):
            with raises(SettingsError):
                made(**changes)
        made(try_for=1)
        made(start_from="before")
        made(dry_run=True)
        assert made(executor=Batched()).policy.criterion is nearby


class InOnePass(LossTable):
    """Can try many at once, and counts how often it does."""

    passes = 0

    def try_batch(self, origin: Any, candidates: Any, k: int) -> list[Any]:
        self.passes += 1
        results = []
        for candidate in candidates:
            self.set_state(origin)
            series = []
            for _ in range(k):
                self.train_k(1, candidate)
                series.append(self.metrics())
            results.append((series, self.get_state()))
        return results


@pytest.mark.parametrize(
    ("changes", "passes", "hints"),
    [
        ({}, 0, 1),
        ({"selection": Racing()}, 2, 1),  # the first stage of each race has one epoch
        ({"try_for": 1}, 2, 0),
        ({"start_from": "here"}, 2, 0),
        ({"start_from": "here", "tail": Thirds()}, 0, 0),  # for another reason
        ({"dry_run": True}, 2, 0),
    ],
)
def test_one_pass_has_no_state_inside_so_the_tries_are_carried_out_one_by_one(
    changes: dict[str, Any], passes: int, hints: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    trainer = InOnePass(FIRST_IS_BEST)
    adapter = DynamicGridAdapter(trainer, **settings_of(executor=Batched(), **changes))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Hint)
        adapter.run(8)
    serial = table_adapter(**changes)
    assert without_times(adapter.history) == without_times(serial.run(8))
    assert trainer.diary == trainer_of(serial).diary
    assert trainer.passes == passes
    assert sum("carried out one by one" in str(each.message) for each in caught) == hints
