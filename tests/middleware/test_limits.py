"""A time limit ends a run between two rounds: nothing is lost, on any rank, however short it is."""

from __future__ import annotations

import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, adapt, lowest
from dynhp.engine.commands import Snapshot
from dynhp.errors import SettingsError, TimeIsUp
from dynhp.middleware import looking, time_limit
from dynhp.storage import checkpoints, run_with_checkpoints
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import OnPlateau
from tests.support.messages import raises
from tests.support.reference import bits, without_times

pytestmark = pytest.mark.usefixtures("_fast_disk")
SPACE = {"lr": [0.05, 0.1, 0.3]}


class Slow(NoisyQuadratic):
    """Each epoch takes a second by a clock of its own."""

    def __init__(self, pace: float = 1.0) -> None:
        super().__init__(seed=1)
        self.pace = pace
        self.now = 50.0

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, hyperparameters)
        self.now += self.pace * k


def made(trainer: Any, seconds: float | None, **changes: Any) -> DynamicGridAdapter:
    """An adapter whose rounds take six seconds, after a first one of eight."""
    limits = [] if seconds is None else [time_limit(seconds, clock=lambda: trainer.now)]
    settings = {"criterion": lowest("loss"), "adapt_every": 4, "try_for": 1, "middleware": limits}
    return DynamicGridAdapter(trainer, SPACE, **(settings | changes))


@pytest.mark.parametrize(("seconds", "rounds"), [(0.5, 1), (7.9, 1), (8.0, 2), (8.1, 2), (20.5, 4)])
def test_rounds_begin_until_the_time_is_over(seconds: float, rounds: int) -> None:
    trainer = Slow()
    adapter = made(trainer, seconds)
    with raises(TimeIsUp):
        adapter.run(40)
    undisturbed = made(Slow(), None)
    undisturbed.run(4 * rounds)
    assert without_times(adapter.history) == without_times(undisturbed.history)
    assert bits(trainer.get_state()) == bits(undisturbed.trainer.get_state())
    with pytest.raises(TimeIsUp):  # it stays so
        adapter.step()


def test_a_run_that_has_ended_in_time_has_ended() -> None:
    trainer = Slow()
    assert made(trainer, 8.0).run(8).epochs == 8
    assert trainer.now > 50.0 + 8.0


def test_a_round_that_is_not_begun_is_nothing_to_undo() -> None:
    trainer = Slow()
    commands: list[Any] = []
    adapter = made(trainer, 0.5)
    with adapter.through(looking(before=commands.append), first=True):
        adapter.step()
        assert isinstance(commands[0], Snapshot)
        commands.clear()
        with pytest.raises(TimeIsUp):
            adapter.step()
    assert commands == []


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("when", [{"adapt_every": 4}, {"when": OnPlateau("loss", patience=3)}])
def test_a_saved_run_gets_to_its_end_however_short_the_limit(
    when: dict[str, Any], every: int, tmp_path: Path
) -> None:
    settings = {"adapt_every": None, **when}
    whole = made(Slow(), None, **settings)
    whole.run(24)
    for done in range(1, len(whole.history)):  # a process each
        adapter = made(Slow(), 0.5, **settings)
        with pytest.raises(TimeIsUp):
            run_with_checkpoints(adapter, 24, checkpoint=tmp_path, every=every)
        assert len(adapter.history) == done
    last = made(Slow(), 0.5, **settings)
    run_with_checkpoints(last, 24, checkpoint=tmp_path, every=every)
    assert without_times(last.history) == without_times(whole.history)
    assert bits(last.trainer.get_state()) == bits(whole.trainer.get_state())


def test_a_saved_loop_goes_on_where_its_time_was_up(tmp_path: Path) -> None:
    def trained(seconds: float | None, folder: Path) -> Any:
        model = Slow()
        loop = adapt(12, state=[model], space=SPACE, minimize="loss", adapt_every=4, try_for=1)
        limit = time_limit(seconds or 1e9, clock=lambda: model.now)
        with checkpoints(folder, loop), loop.adapter.through(limit):
            try:
                for epoch in loop:
                    model.train_k(1, epoch.values)
                    epoch.report(**model.metrics())
            except TimeIsUp:
                assert seconds is not None
        return loop, model

    for epochs in (4, 8, 12):
        loop, model = trained(0.5, tmp_path / "short")
        assert loop.history.epochs == epochs
    whole, undisturbed = trained(None, tmp_path / "whole")
    assert without_times(loop.history) == without_times(whole.history)
    assert bits(model.get_state()) == bits(undisturbed.get_state())


class Rank(Slow):
    """One of several ranks, each in a thread, which exchange something in every epoch."""

    def __init__(self, ranks: Ranks, number: int, *, pace: float) -> None:
        super().__init__(pace)
        self.ranks = ranks
        self.number = number

    def agree(self, said: Any) -> list[Any]:
        return self.ranks.exchange(self.number, said)

    def train_k(self, k: int, hyperparameters: Any) -> None:
        assert len(set(self.agree(k))) == 1
        super().train_k(k, hyperparameters)


HAS_ENDED = "has ended"


class WaitsForever(BaseException):
    """A rank waits for one that has ended; not an Exception, which would be a failed try."""


class Ranks:
    """Lets ranks exchange values; to wait for one that has ended is an error."""

    def __init__(self, number: int) -> None:
        self.ways = [[SimpleQueue[Any]() for _ in range(number)] for _ in range(number)]

    def exchange(self, rank: int, said: Any) -> list[Any]:
        for way in self.ways[rank]:
            way.put(said)
        heard = [ways[rank].get() for ways in self.ways]
        if HAS_ENDED in heard:
            raise WaitsForever
        return heard


def test_all_ranks_end_before_the_same_round() -> None:
    ranks = Ranks(3)
    ended: dict[int, Any] = {}

    def run(number: int, pace: float) -> None:
        adapter = made(Rank(ranks, number, pace=pace), 20.5)
        try:
            adapter.run(40)
        except BaseException as failure:
            ended[number] = (type(failure), adapter.epoch)
        for way in ranks.ways[number]:
            way.put(HAS_ENDED)

    threads = [threading.Thread(target=run, args=each) for each in enumerate((0.5, 1.0, 0.01))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == dict.fromkeys(range(3), (TimeIsUp, 16))


@pytest.mark.parametrize("seconds", [0, -1.0, float("inf"), float("nan"), "60", None, True])
def test_what_is_no_time_is_refused(seconds: Any) -> None:
    with raises(SettingsError):
        time_limit(seconds)
