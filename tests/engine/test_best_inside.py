"""``start_from="best"``: also an epoch before the end of a kept try may be the best state."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from dynhp import (
    Best,
    DynamicGridAdapter,
    KeepBest,
    Racing,
    Shadow,
    lowest,
    plan_for,
    replay,
    schedule_of,
    spent,
)
from dynhp.records import Candidate
from dynhp.snapshots import Snapshots
from dynhp.storage import on_disk
from dynhp.tails.contract import Searched
from tests.support.losses import (
    FIRST_IS_BEST,
    LossTable,
    Thirds,
    settings_of,
    starts,
    starts_inside,
    table_adapter,
    trainer_of,
    tried,
)
from tests.support.reference import without_times


def test_a_round_starts_from_the_best_epoch_inside_of_a_kept_try() -> None:
    adapter = table_adapter()
    history = adapter.run(8)
    assert starts(history) == [(2, 0), (3, 3)]
    assert starts_inside(history) == 1
    assert trainer_of(adapter).diary == (1, 1, 2, 1, 1, 1, 1, 1)
    assert [number for number, _ in history.measured] == list(range(8))
    losses = [metrics["loss"] for _, metrics in history.measured]
    assert losses == [5.0, 4.0, 1.0, 9.0, 9.0, 5.5, 9.0, 9.0]
    assert "back from 6" in str(history)


def test_what_was_left_behind_is_counted_and_not_replayed() -> None:
    adapter = table_adapter()
    plan = plan_for(adapter, 8)
    adapter.run(8)
    cost, trainer = spent(adapter), trainer_of(adapter)
    assert (cost.main_line, cost.abandoned, cost.overhead) == (8, 3, 6)
    assert cost.total == trainer.trained
    assert cost.total <= plan.most.total
    schedule = schedule_of(adapter)
    assert schedule.as_list() == [(2, {"x": 1}), (1, {"x": 2}), (5, {"x": 1})]
    again = LossTable(FIRST_IS_BEST)
    replay(schedule, again)
    assert again.diary == trainer.diary


@pytest.mark.parametrize("selection", [Best(), Racing()])
@pytest.mark.parametrize(
    ("losses", "start"),
    [
        ((1.0, 2.0, 3.0), 3),
        ((2.0, 1.0, 3.0), 4),
        ((3.0, 2.0, 1.0), 5),  # where it ends
        ((1.0, 1.0, 1.0), 3),  # the first of equals
        ((2.0, 1.0, 1.0), 4),
        ((3.0, 5.0, 3.0), 3),
        ((3.0, 5.0, 2.0), 5),
        ((4.0, 4.0, 4.0), 2),  # no better than what was there before
        ((5.0, 4.5, 4.2), 2),
        ((3.5, 3.7, 3.6), 3),
    ],
)
def test_the_first_of_the_best_wins(losses: Any, start: int, selection: Any) -> None:
    table = {"1": 5.0, "11": 4.0} | dict(zip(("112", "1122", "11222"), losses, strict=True))
    history = table_adapter(table, selection=selection).run(8)
    assert starts(history)[1] == (start, 6 - start)


def test_each_try_of_a_race_has_its_own_best() -> None:
    # Of three, two go on after the first epoch and one after the second.
    table = {"1": 5.0, "11": 4.0, "111": 0.9, "112": 0.8, "113": 1.0}
    table |= {"1111": 8.0, "1122": 2.0, "1113": 9.0, "11222": 3.0}
    history = table_adapter(table, space={"x": [1, 2, 3]}, selection=Racing()).run(8)
    assert [try_.epochs for try_ in tried(history)[0].tries] == [2, 3, 1]
    assert starts(history)[1] == (3, 3)
    table["112"], table["1122"] = 0.95, 0.7
    history = table_adapter(table, space={"x": [1, 2, 3]}, selection=Racing()).run(8)
    assert starts(history)[1] == (4, 2)


@pytest.mark.parametrize("order", [{1: "1", 2: "2"}, {1: "2", 2: "1"}])
def test_a_better_epoch_of_a_losing_try_is_not_on_the_main_line(order: dict[int, str]) -> None:
    wins, loses = order[1], order[2]
    table = {"1": 5.0, "11": 4.0, f"11{loses}": 0.1, f"11{loses * 2}": 0.2}
    table |= {f"11{wins * 2}": 2.0, f"11{wins * 3}": 3.0}
    assert starts(table_adapter(table).run(8))[1] == (4, 2)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_an_epoch_whose_score_is_not_finite_is_never_the_best(score: float) -> None:
    def criterion(series: Any, progress: Any) -> float:
        loss = series[-1]["loss"]
        return score if loss == 1.0 else -loss

    assert starts(table_adapter(criterion=criterion).run(8))[1] == (4, 2)


def test_each_epoch_is_judged_by_itself_and_knows_how_far_the_run_is() -> None:
    seen = []

    def criterion(series: Any, progress: Any) -> float:
        seen.append((len(series), progress.epoch, progress.planned))
        return -float(series[-1]["loss"])

    table_adapter(criterion=criterion, selection=Racing(), max_rounds=1).run(8)
    # Of two tries one goes on after its first epoch, which is inside of it from then on.
    tries = [(1, 2, 8), (1, 2, 8), (1, 3, 8), (1, 4, 8), (1, 5, 8), (3, 2, 8), (1, 5, 8)]
    assert seen == [(1, 1, 8), (1, 2, 8), *tries, (1, 6, 8), (1, 7, 8), (1, 8, 8)]


def to_one(values: Candidate, searched: Searched) -> Candidate:
    return values.but({"x": 1})


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({"keep": "value"}, 3),  # whose way leads through the winner's copy
        ({"keep": "value", "then": to_one}, 2),  # and here it does not
        ({"dry_run": True}, 2),
    ],
)
def test_only_what_is_on_the_main_line_is_held(changes: dict[str, Any], start: int) -> None:
    adapter = table_adapter(**changes)
    assert starts(adapter.run(8))[1] == (start, 6 - start)
    if start == 2:  # none is even taken inside of a try
        plain = table_adapter({"1": 5.0, "11": 4.0, "11222": 3.0}, **changes)
        plain.run(8)
        assert trainer_of(adapter).calls == trainer_of(plain).calls


def test_epochs_of_a_tail_are_never_the_best_and_those_before_it_may_be() -> None:
    for check in ("off", "every"):
        history = table_adapter(tail=Thirds(), check=check).run(8)
        assert tried(history)[0].winner.tail == 2
        assert starts(history)[1] == (3, 3)


def test_a_corrected_value_is_in_the_schedule_only_as_far_as_it_was_kept() -> None:
    adapter = table_adapter(then=to_one)
    adapter.run(8)
    assert starts(adapter.history) == [(2, 0), (3, 3)]
    again = LossTable(FIRST_IS_BEST)
    replay(schedule_of(adapter), again)
    assert again.diary == trainer_of(adapter).diary


@pytest.mark.parametrize("tail", [None, Thirds()])
def test_the_self_check_finds_nothing_to_complain_about(tail: Any) -> None:
    table = {**FIRST_IS_BEST, "111": 3.5}  # also the try that is repeated has a state inside
    off, on = (table_adapter(table, tail=tail, check=check) for check in ("off", "every"))
    assert without_times(off.run(8)) == without_times(on.run(8))
    assert [round_.checked for round_ in tried(on.history)] == (
        [6, 6] if tail is None else [10, 10]
    )
    assert starts_inside(on.history) == 1


def test_snapshots_on_disk_are_those_in_memory(tmp_path: Path) -> None:
    here = table_adapter().run(8)
    there = table_adapter(snapshots=Snapshots(store=on_disk(tmp_path))).run(8)
    assert without_times(here) == without_times(there)
    assert starts_inside(there) == 1


def test_the_best_state_that_is_kept_knows_the_main_line() -> None:
    trainer = LossTable(FIRST_IS_BEST)
    kept = KeepBest(trainer, lowest("loss"))
    history = DynamicGridAdapter(kept, **settings_of()).run(8)
    assert starts(history) == [(2, 0), (3, 3)]
    kept.deliver()
    assert trainer.diary == (1, 1, 2)


def test_a_shadow_costs_what_was_trained() -> None:
    adapter = table_adapter()
    delivery = Shadow(adapter, criterion=lowest("loss")).run(8)
    assert starts(delivery.adapted) == [(2, 0), (3, 3)]
    assert delivery.cost.total == trainer_of(adapter).trained
    assert delivery.cost.abandoned == 3


def test_no_state_is_taken_inside_tries_unless_rounds_go_back_to_the_best() -> None:
    for start_from in ("here", "before"):
        falling, rising = (
            table_adapter({"112": loss, "1122": 2.0, "11222": 3.0}, start_from=start_from)
            for loss in (5.0, 1.0)
        )
        for adapter in (falling, rising):
            adapter.run(8)
        assert trainer_of(falling).calls == trainer_of(rising).calls


def test_a_later_stage_of_a_race_does_not_replace_a_better_state_of_an_earlier_one() -> None:
    table = {"1": 5.0, "11": 4.0, "112": 1.0, "1122": 3.0, "11222": 2.0, "112222": 3.0}
    history = table_adapter(table, try_for=4, selection=Racing(every=2)).run(8)
    assert [try_.epochs for try_ in tried(history)[0].tries] == [2, 4]
    assert starts(history)[1] == (3, 3)
