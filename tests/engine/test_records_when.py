"""Rounds without tries and what was abandoned, in every place that reads a history."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import dynhp.adapter
from dynhp import DynamicGridAdapter, Neighbors, lowest, rescue, schedule_of, spent
from dynhp.engine.commands import Snapshot, StateRef, Train
from dynhp.errors import DamagedFile
from dynhp.records import Candidate, History, Round
from dynhp.records.history import kept_epochs, measured_on
from dynhp.records.plain import history_from_plain, history_to_plain
from dynhp.records.text import round_cells
from dynhp.report import html_report
from dynhp.report.scalars import Totals, scalars_of
from dynhp.report.text import schedule_picture, summary
from dynhp.snapshots import InMemory, Snapshots
from dynhp.storage import Journal, history_from_journal
from dynhp.storage.on_disk import on_disk
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import OnPlateau, OnSpike
from tests.support.messages import raises
from tests.support.pages import run_on
from tests.support.reference import Toy, bits, without_times

EPOCHS = 16


def made(callbacks: Any = (), **changes: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {
        "when": OnPlateau("loss", patience=2), "try_for": 2, "start_from": "before",
        "snapshots": Snapshots(k=3, every=2), "max_rounds": 4, "proposer": Neighbors(),
        "record_every": 3,
    }  # fmt: skip
    return DynamicGridAdapter(
        NoisyQuadratic(seed=3), {"lr": [0.01, 0.1, 0.3]}, criterion=lowest("loss"),
        callbacks=callbacks, **(given | changes),
    )  # fmt: skip


@pytest.fixture(scope="module")
def history() -> History:
    adapter = made()
    history = adapter.run(EPOCHS)
    assert sum(round_.abandoned for round_ in history) > 0
    return history


def untried(**fields: Any) -> Round:
    given: dict[str, Any] = {
        "index": 0, "start": 0, "epochs": 3, "previous": Candidate({"lr": 0.1}), "tries": (),
        "chosen": -1, "reason": "no round was due", "metrics": {},
    }  # fmt: skip
    return Round(**(given | fields))


def test_a_round_without_tries() -> None:
    round_ = untried(failure="ValueError: bad")
    assert (round_.candidate, round_.overhead, round_.changed) == ({"lr": 0.1}, 0, False)
    assert round_.measured == ()
    assert round_cells(round_)["reason"] == "no round was due, then ValueError: bad"
    assert str(round_) == "round 0, epochs 0-3: lr=0.1 (no round was due)"
    with raises(LookupError):
        round_.winner  # noqa: B018
    assert spent([round_]).abandoned == 1  # the epoch that raised


def test_what_is_kept_of_each_round() -> None:
    rounds = [
        untried(epochs=5),
        untried(index=1, start=5, epochs=5),
        untried(index=2, start=3, epochs=4, abandoned=7),
        untried(index=3, start=6, epochs=2, abandoned=1),
    ]
    assert kept_epochs(rounds) == [3, 0, 3, 2]
    assert kept_epochs(rounds, until=4) == [3, 0, 1, 0]
    cost = spent(rounds)
    assert (cost.main_line, cost.abandoned, cost.total) == (8, 8, 16)
    assert str(cost) == "8 epochs on the main line + 0 overhead + 8 abandoned = 16: 2.00 runs"
    assert schedule_of(rounds).as_list() == [(8, {"lr": 0.1})]


def test_records_agree(history: History) -> None:
    assert history.epochs == EPOCHS == sum(kept_epochs(history)) == schedule_of(history).epochs
    assert [number for number, _ in history.measured] == list(range(EPOCHS))
    assert history.measured == measured_on(history)
    assert history_from_plain(json.loads(json.dumps(history_to_plain(history)))) == history


def test_reports(history: History) -> None:
    text = summary(history)
    assert f"+ {spent(history).abandoned} abandoned" in text
    assert "Self-check: in 1 round" in text
    assert "of 4 rounds" in text or "in all 4 rounds" in text
    page = html_report(history, title="Run")
    assert "(due: loss has not improved for 2 epochs)" in page
    assert "no round was due" in page
    assert str(EPOCHS) in schedule_picture(history, "lr")
    lines = str(history).splitlines()
    assert len(lines) < len(history)  # rounds without tries that follow each other are one line


def test_reports_of_runs_in_which_no_round_was_due() -> None:
    nothing = made(when=OnSpike("loss", factor=1e9)).run(5)
    assert summary(nothing).endswith("No round was due.")
    assert "1.00 runs" in summary(nothing)
    assert len(run_on(html_report(nothing, title="Run"))["line"]["loss"][0])
    assert "0.1 ┤" in schedule_picture(nothing, "lr")
    bare = untried()
    assert run_on(html_report([bare], title="Run"))["axes"][0]["name"] == "lr"


def test_loggers_see_rounds_without_tries(history: History) -> None:
    totals, spent_series = Totals(), []
    for round_ in history:
        for scalar in scalars_of(round_, totals):
            if scalar.series == "cost/spent":
                spent_series.append(scalar.value)
        totals = totals.after(round_)
    assert len(spent_series) == sum(round_.epochs > 0 for round_ in history)
    assert totals.spent == spent_series[-1] == spent(history).total


def test_a_summary_counts_the_rescues() -> None:
    trainer = Toy(2, raising=[0.3])
    adapter = DynamicGridAdapter(trainer, **rescue("lr", default=0.3, loss="loss", factor=2.0))
    assert "The main line was rescued 1 times." in summary(adapter.run(9))


def test_a_journal_holds_all_of_it(tmp_path: Path, history: History) -> None:
    path = tmp_path / "run.jsonl"
    assert made([Journal(path)]).run(EPOCHS) == history_from_journal(path) == history
    lines = path.read_text().splitlines()
    back = next(n for n, line in enumerate(lines) if '"abandoned"' in line)
    wrong = json.loads(lines[back])
    for damage in ({"abandoned": wrong["abandoned"] + 1}, {"abandoned": -1, "start": 99}):
        path.write_text("\n".join([*lines[:back], json.dumps(wrong | damage), ""]))
        with raises(DamagedFile):
            history_from_journal(path)
    first = json.loads(lines[3])
    assert first["event"] == "round"
    path.write_text("\n".join([*lines[:3], json.dumps({**first, "chosen": 0}), ""]))
    with raises(DamagedFile):
        history_from_journal(path)


@pytest.mark.parametrize("damage", [{"abandoned": 1}, {"abandoned": -1}, {"chosen": 0}])
def test_a_damaged_history(damage: dict[str, Any]) -> None:
    from dynhp.errors import SettingsError

    adapter = made()
    adapter.run(6)
    state = adapter.state_dict()
    state["history"][1] |= damage
    with raises(SettingsError):
        made().load_state_dict(state)


TRACED = tuple(
    str(Path(dynhp.adapter.__file__).parent / name) for name in ("adapter.py", "engine", "drivers")
)


class InterruptAt:
    """Raises KeyboardInterrupt when so many lines have been run, as a signal may."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


@pytest.mark.many
def test_an_interrupt_on_any_line() -> None:
    def short() -> DynamicGridAdapter:
        return made(snapshots=Snapshots(k=2), max_rounds=2)

    undisturbed = short()
    undisturbed.run(EPOCHS)
    assert sum(round_.abandoned for round_ in undisturbed.history) > 0
    lines, before = 0, sys.gettrace()
    for after in range(1, 10_000, 61):
        adapter = short()
        sys.settrace(InterruptAt(after))
        try:
            adapter.run(EPOCHS)
        except KeyboardInterrupt:
            lines += 1
        else:
            break
        finally:
            sys.settrace(before)
        if lines % 2:  # in a new process, too
            saved, state = adapter.state_dict(), adapter.trainer.get_state()
            adapter = short()
            adapter.load_state_dict(saved)
            adapter.trainer.set_state(state)
        adapter.run(EPOCHS)
        assert without_times(adapter.history) == without_times(undisturbed.history)
        assert bits(adapter.trainer.get_state()) == bits(undisturbed.trainer.get_state())
    assert lines > 20


def test_states_on_disk_are_the_same(tmp_path: Path, history: History) -> None:
    store = on_disk(tmp_path)
    assert made(snapshots=Snapshots(k=3, every=2, store=store)).run(EPOCHS) == history
    assert len(list(tmp_path.iterdir())) <= 6


@pytest.mark.parametrize("start_from", ["best", "before"])
def test_few_states_are_held(start_from: str) -> None:
    stores: list[InMemory] = []

    class CountedStore(InMemory):
        most = 0

        def __init__(self) -> None:
            super().__init__()
            stores.append(self)

        def put(self, state: Any) -> int:
            key = super().put(state)
            self.most = max(self.most, len(self))
            return key

    made(snapshots=Snapshots(k=3, store=CountedStore), start_from=start_from, record_every=50).run(
        40
    )
    [store] = stores
    assert isinstance(store, CountedStore)
    k = 3 if start_from == "before" else 1
    assert store.most <= 2 * k + 1  # those from before the round, those since, and the newest


def test_a_round_that_was_left_before_its_first_epoch_is_taken_up() -> None:
    adapter = made(epochs=EPOCHS)
    commands = adapter.commands(untried(epochs=0))
    assert next(commands) == Snapshot()
    stretch = commands.send(StateRef(0))
    assert isinstance(stretch, Train)
    assert (stretch.start, stretch.planned) == (0, 3)
    commands.close()
    assert adapter.run(EPOCHS) == made().run(EPOCHS)
