"""A run shows what it does on its display, and is the same with and without it."""

from __future__ import annotations

import copy
import math
import pickle
import random
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import Batched, DynamicGridAdapter, History, Processes, Racing, Serial, adapt, lowest
from dynhp.errors import Hint, LoopError, SettingsError
from dynhp.executors.contract import close
from dynhp.middleware.display import (
    Beating,
    Display,
    RunBegins,
    ShownRun,
    StretchBegins,
    TriesBegin,
    TryScored,
    chosen_display,
)
from dynhp.records import Round, RoundStarted, Try
from dynhp.report import LiveDisplay
from dynhp.storage import resume, run_with_checkpoints
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.testing.executors.chameleon import Chameleon
from dynhp.triggers import OnPlateau
from tests.support.messages import raises, warns
from tests.support.terminal import Terminal

SPACE = {"lr": [0.01, 0.1, 0.5]}


class Keeps:
    """A display that keeps all that it is called with."""

    def __init__(self) -> None:
        self.moments: list[Any] = []
        self.beats: list[tuple[int | None, int]] = []
        self.opened: list[str] = []
        self.closed: list[BaseException | None] = []

    def open(self, run: RunBegins) -> None:
        self.opened.append(f"{run.planned} {run.unit}")

    def __call__(self, moment: Any) -> None:
        self.moments.append(moment)

    def beat(self, place: int | None, epochs: int, metrics: Any) -> None:
        self.beats.append((place, epochs))

    def close(self, failure: BaseException | None) -> None:
        self.closed.append(failure)


class FaultyDisplay(Keeps):
    """A display with a mistake, which also draws random numbers where it is opened."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def open(self, run: RunBegins) -> None:
        random.random()
        super().open(run)
        self._raise("open")

    def __call__(self, moment: Any) -> None:
        self._raise("call")

    def beat(self, place: int | None, epochs: int, metrics: Any) -> None:
        self._raise("beat")

    def close(self, failure: BaseException | None) -> None:
        super().close(failure)
        self._raise("close")

    def _raise(self, where: str) -> None:
        if where == self._where:
            raise OSError(f"no screen to {where}")


def an_adapter(**settings: Any) -> DynamicGridAdapter:
    return DynamicGridAdapter(
        settings.pop("trainer", None) or NoisyQuadratic(),
        SPACE,
        criterion=lowest("loss"),
        **{"adapt_every": 5, "try_for": 2, **settings},
    )


@pytest.fixture(autouse=True)
def _beats_all_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.middleware.display.BEATS", 0.0)


def test_a_display_is_opened_with_all_that_is_known_of_a_run() -> None:
    runs: list[RunBegins] = []

    class KeepsRuns(Keeps):
        def open(self, run: RunBegins) -> None:
            runs.append(run)

    adapter = an_adapter()
    adapter.run(5)
    before = adapter.history
    adapter.run(10, progress=KeepsRuns())
    values = before[-1].candidate
    assert runs == [
        RunBegins(
            policy=adapter.policy,
            history=before,
            values=values,
            planned=10,
            unit="epochs",
            checked=True,
        )
    ]


@pytest.mark.parametrize("asked", [False, True])
def test_a_run_is_shown_only_on_request(asked: bool) -> None:
    def shown(method: str) -> set[int]:
        watching: set[int] = set()
        adapter = an_adapter(callbacks=[lambda _: watching.add(len(adapter.middleware) - 1)])
        list(getattr(adapter, method)(5, **({"progress": Keeps()} if asked else {})))
        return watching

    assert shown("run") == shown("rounds") == {int(asked)}


def test_what_a_display_is_called_with_and_in_which_order() -> None:
    seen = Keeps()
    history = an_adapter(check="off").run(5, progress=seen)
    assert isinstance(seen, Display)
    kinds = [type(moment) for moment in seen.moments]
    tries = [Try, TryScored] * 3
    assert kinds == [RoundStarted, TriesBegin, *tries, StretchBegins, Round]
    begin = seen.moments[1]
    assert begin.places == (0, 1, 2)
    assert begin.epochs == 2
    assert [each["lr"] for each in begin.candidates] == [0.1, 0.01, 0.5]
    scored = [moment for moment in seen.moments if isinstance(moment, TryScored)]
    assert tuple(moment.try_ for moment in scored) == history[0].tries
    [stretch] = [moment for moment in seen.moments if isinstance(moment, StretchBegins)]
    assert (stretch.start, stretch.epochs, stretch.kept) == (2, 3, history[0].chosen)
    tries_beat = [(place, epoch) for place in range(3) for epoch in (1, 2)]
    assert seen.beats == [*tries_beat, (None, 3)]  # a trainer says nothing within its stretch
    assert (seen.opened, seen.closed) == (["5 epochs"], [None])


def test_a_loop_beats_on_the_main_line_too_and_counts_its_own_unit() -> None:
    model, seen = Quadratic(), Keeps()
    for step in adapt(
        steps=10,
        state=[model],
        space=SPACE,
        minimize="loss",
        adapt_every=5,
        try_for=1,
        check="off",
        progress=seen,
    ):
        model.train_k(1, step.values)
        step.report(model.metrics())
    main = [epoch for place, epoch in seen.beats if place is None]
    assert main == [1, 2, 3, 4] * 2
    assert (seen.opened, seen.closed) == (["10 steps"], [None])


def test_repeats_have_no_place_and_races_go_on() -> None:
    seen = Keeps()
    an_adapter(selection=Racing(), adapt_every=8, try_for=8).run(8, progress=seen)
    begins = [moment.places for moment in seen.moments if isinstance(moment, TriesBegin)]
    assert begins[0] == (0, 1, 2)
    assert len(begins[1]) < 3
    assert begins[-2:] == [(None,), (None,)]
    scored = [moment.place for moment in seen.moments if isinstance(moment, TryScored)]
    assert len(scored) > 3


def test_beats_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.middleware.display.BEATS", 3600.0)
    seen = Keeps()
    an_adapter().run(20, progress=seen)
    assert len(seen.beats) == 1


EXECUTORS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "serial": lambda: (Serial(), NoisyQuadratic()),
    "batched": lambda: (Batched(), Chameleon(NoisyQuadratic)),
    "processes": lambda: (Processes(NoisyQuadratic, workers=2), NoisyQuadratic()),
}


def whole_run(name: str, progress: Any, **settings: Any) -> tuple[History, Any, Any]:
    executor, trainer = EXECUTORS[name]()
    adapter = an_adapter(executor=executor, trainer=trainer, seed=3, **settings)
    history = adapter.run(23, progress=progress)
    close(executor)
    return history, adapter.trainer.get_state(), adapter.state_dict(since=len(history))


@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("settings", [{}, {"selection": Racing(), "try_for": 4}])
def test_with_every_executor_a_run_is_the_same_to_the_bit(name: str, settings: Any) -> None:
    plain = whole_run(name, False, **settings)
    for progress in (LiveDisplay(stream=Terminal()), Keeps()):
        shown = whole_run(name, progress, **settings)
        assert pickle.dumps(shown[1]) == pickle.dumps(plain[1])
        assert shown[0] == plain[0]
        assert repr(shown[2]) == repr(plain[2])


def test_a_run_that_is_saved_is_the_same(tmp_path: Path) -> None:
    histories = []
    for name, progress in (("plain", False), ("shown", LiveDisplay(stream=Terminal()))):
        adapter = an_adapter()
        saved = {"checkpoint": tmp_path / name, "progress": progress}
        run_with_checkpoints(adapter, 20, **saved)
        seen = Keeps()
        histories.append(resume(tmp_path / name, an_adapter(), progress=seen))
        assert seen.opened == []  # nothing was left
    assert histories[0] == histories[1]


class DrawingModel:
    """A model whose every step draws from all global generators."""

    def __init__(self) -> None:
        self.weight = 1.0

    def state_dict(self) -> dict[str, float]:
        return {"weight": self.weight}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.weight = state["weight"]

    def train(self, lr: float) -> None:
        noise = random.gauss(0, 0.1) + np.random.normal(0, 0.1)
        self.weight -= lr * (self.weight + noise)


def looped(progress: Any, **settings: Any) -> tuple[History, float, Any]:
    random.seed(1)
    np.random.seed(1)
    walk = DrawingModel()
    loop = adapt(
        12,
        state=[walk],
        space=SPACE,
        minimize="loss",
        progress=progress,
        **{"adapt_every": 4, "try_for": 2, **settings},
    )
    for epoch in loop:
        walk.train(epoch["lr"])  # type: ignore[arg-type]
        epoch.report(loss=walk.weight**2)
    return loop.history, walk.weight, (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[union-attr]


@pytest.mark.parametrize("settings", [{}, {"dry_run": True}, {"selection": Racing()}])
def test_a_loop_is_the_same_and_so_are_the_global_generators(settings: Any) -> None:
    plain = looped(False, **settings)
    assert looped(LiveDisplay(stream=Terminal()), **settings) == plain
    assert looped(FaultyDisplay("never"), **settings) == plain


@pytest.mark.parametrize("where", ["open", "call", "beat", "close"])
@pytest.mark.parametrize("filtered", ["always", "error"])
def test_a_display_that_raises_is_switched_off_and_ends_no_run(where: str, filtered: Any) -> None:
    display, plain = FaultyDisplay(where), an_adapter().run(10)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(filtered)
        assert an_adapter().run(10, progress=display) == plain
    said = [str(each.message) for each in caught if "display" in str(each.message)]
    if filtered == "always":
        assert said == [
            f"the display of this run is off, because it raised OSError('no screen to {where}')"
        ]
    assert len(display.closed) == 1


@pytest.fixture(autouse=True)
def _hints_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp.errors._given", set())
    warnings.simplefilter("ignore", Hint)


def test_a_display_is_closed_whatever_ends_the_run() -> None:
    seen = Keeps()
    with pytest.raises(KeyboardInterrupt):
        an_adapter(trainer=NoisyQuadratic(), callbacks=[interrupt]).run(10, progress=seen)
    assert isinstance(seen.closed[0], KeyboardInterrupt)
    model, left = Quadratic(), Keeps()
    for epoch in adapt(
        9, state=[model], space=SPACE, minimize="loss", adapt_every=3, try_for=1, progress=left
    ):
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())
        if epoch.main:
            break
    assert isinstance(left.closed[0], GeneratorExit)
    rounds = an_adapter().rounds(20, progress=(last := Keeps()))
    next(rounds)
    rounds.close()  # type: ignore[attr-defined]
    assert isinstance(last.closed[0], GeneratorExit)


def interrupt(event: Any) -> None:
    if isinstance(event, Try):
        raise KeyboardInterrupt


def test_middleware_is_as_before_and_a_second_run_goes_on() -> None:
    adapter, seen = an_adapter(), Keeps()
    adapter.run(10, progress=seen)
    assert len(adapter.middleware) == 1
    adapter.run(10, progress=seen)  # nothing is left to train, so nothing is shown
    assert seen.opened == ["10 epochs"]
    adapter.run(20, progress=seen)
    assert seen.opened == ["10 epochs", "20 epochs"]
    assert len(seen.closed) == 2


def test_what_is_no_display_is_refused_at_once() -> None:
    with raises(SettingsError):
        an_adapter().rounds(5, progress=Keeps)  # type: ignore[arg-type]
    with raises(SettingsError):
        adapt(
            5, state=[Quadratic()], space=SPACE, minimize="x", adapt_every=1, try_for=1, progress=1
        )  # type: ignore[arg-type]


def test_a_beat_stays_in_its_process() -> None:
    beat = Beating(ShownRun(Keeps(), lambda: None), 0)  # type: ignore[arg-type,return-value]
    assert pickle.loads(pickle.dumps(beat)) is None
    assert copy.deepcopy([beat]) == [None]


def test_an_error_of_the_run_itself_is_raised_as_usual() -> None:
    def refuse(event: Any) -> None:
        if isinstance(event, Round):
            raise LoopError("not this round")

    with raises(LoopError):
        an_adapter(callbacks=refuse).run(10, progress=(seen := Keeps()))
    assert isinstance(seen.closed[0], LoopError)


def test_a_partial_is_a_display_only_with_all_methods() -> None:
    with raises(SettingsError):
        an_adapter().run(5, progress=partial(print))  # type: ignore[arg-type]


def test_the_usual_display_is_the_live_one() -> None:
    assert isinstance(chosen_display(True), LiveDisplay)
    assert chosen_display(False) is chosen_display(None) is None


def test_a_stretch_in_pieces_begins_once() -> None:
    seen = Keeps()
    an_adapter(
        adapt_every=None, when=OnPlateau("loss", patience=50), record_every=5, check="off"
    ).run(5, progress=seen)
    assert [type(moment) for moment in seen.moments].count(StretchBegins) == 1
    assert seen.beats == [(None, epoch) for epoch in range(1, 6)]


def test_a_display_that_raises_at_a_try_is_not_told_of_its_score() -> None:
    class Falls(Keeps):
        def __call__(self, moment: Any) -> None:
            super().__call__(moment)
            if isinstance(moment, Try):
                raise OSError("no screen")

    display = Falls()
    assert an_adapter().run(5, progress=display) == an_adapter().run(5)
    assert isinstance(display.moments[-1], Try)


class QuietDisplay(Keeps):
    """A display that wants to hear little of rounds that are over in a moment."""

    quiet_until = float("inf")


def test_a_display_that_wants_to_be_quiet_sees_the_ends_of_quick_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "dynhp.middleware.display.QUICK", math.inf
    )  # on a busy machine none is quick
    quiet, every = QuietDisplay(), Keeps()
    history = an_adapter(check="off").run(20, progress=quiet)
    assert an_adapter(check="off").run(20, progress=every) == history
    ends = [moment for moment in every.moments if isinstance(moment, RoundStarted | Round)]
    first = every.moments[: len(every.moments) // 4]  # how quick rounds are is not known yet
    assert quiet.moments == first + ends[2:]
    assert [round_ for round_ in quiet.moments if isinstance(round_, Round)] == list(history)
    assert quiet.beats == every.beats[:7]


def test_a_quiet_display_is_told_everything_of_a_slow_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dynhp.middleware.display.QUICK", 0.0)
    quiet, every = QuietDisplay(), Keeps()
    an_adapter(check="off").run(20, progress=quiet)
    an_adapter(check="off").run(20, progress=every)
    assert (quiet.moments, quiet.beats) == (every.moments, every.beats)


def test_a_display_that_is_no_longer_quiet_sees_everything_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dynhp.middleware.display.QUICK", math.inf)
    quiet = QuietDisplay()
    adapter = an_adapter(check="off")
    rounds = adapter.rounds(25, progress=quiet)
    next(rounds), next(rounds)
    quiet.quiet_until = 0.0
    before = len(quiet.moments)
    next(rounds)
    assert [type(moment) for moment in quiet.moments[before:]].count(TryScored) == 3
    rounds.close()  # type: ignore[attr-defined]


class DoesNotKnowWhen(Keeps):
    """Its silence has no end that is a number."""

    quiet_until = None


def test_a_display_that_cannot_say_when_it_is_quiet_ends_no_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dynhp.middleware.display.QUICK", math.inf)  # else it may not be asked
    display = DoesNotKnowWhen()
    with warns(Hint):
        history = an_adapter().run(20, progress=display)
    assert history == an_adapter().run(20)
    assert len(display.closed) == 1
