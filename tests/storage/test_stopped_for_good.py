"""A run that was stopped by a broken promise never gets past it by being started again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp import DynamicGridAdapter, History, adapt, recommended
from dynhp.errors import (
    AllTriesFailed,
    CheckpointError,
    ContractError,
    LoopError,
    NotRepeatable,
    ValueNotInForce,
    ValueNotUsed,
)
from dynhp.executors import Processes
from dynhp.loops import Epoch
from dynhp.records import Round, Value
from dynhp.storage import checkpoints, history_from_journal, run_with_checkpoints
from dynhp.storage.checkpoint import resume
from dynhp.storage.codecs import encode
from dynhp.testing import NoisyQuadratic
from dynhp.triggers import At
from tests.support.killing import Killed, KilledAtCommand
from tests.support.loops import run as run_body
from tests.support.messages import raises
from tests.support.resuming import without_times

pytestmark = pytest.mark.usefixtures("_fast_disk")

EPOCHS = 12


class Forgetful(NoisyQuadratic):
    """From some step on it also draws from a generator that is not in the state."""

    def __init__(self, since: int = 0) -> None:
        super().__init__(noise=0.5, seed=4)
        self.since = since
        self.other = np.random.default_rng(7)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        if self.steps > self.since:
            self.weights = self.weights + 0.01 * self.other.normal()


class Deaf(NoisyQuadratic):
    """Uses no value that it is given."""

    def __init__(self, since: int = 0) -> None:
        super().__init__(noise=0.5, seed=4)

    def step(self, lr: float, momentum: float) -> None:
        super().step(0.05, momentum)


class Overruled(NoisyQuadratic):
    """A schedule of its own overwrites the value from some step on."""

    def __init__(self, since: int = 0) -> None:
        super().__init__(noise=0.5, seed=4)
        self.since = since
        self.rate: Any = None

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        super().train_k(k, hyperparameters)
        self.rate = 1e-3 if self.steps > self.since else hyperparameters["lr"]

    def hyperparameters(self) -> dict[str, Any]:
        return {"lr": self.rate}


class Mended(NoisyQuadratic):
    """Each of them as it should be."""

    def __init__(self) -> None:
        super().__init__(noise=0.5, seed=4)


class MendedRate(Overruled):
    """The one that reads back, as it should be."""

    def __init__(self) -> None:
        super().__init__(since=10**9)


# What stops which trainer, from which step on it is broken, and the trainer as it should be.
BROKEN: dict[str, tuple[type[ContractError], Callable[[], Any], Callable[[], Any]]] = {
    "not repeatable": (NotRepeatable, Forgetful, Mended),
    "not repeatable, later": (NotRepeatable, lambda: Forgetful(since=4), Mended),
    "not used": (ValueNotUsed, Deaf, Mended),
    "not in force": (ValueNotInForce, Overruled, MendedRate),
    "not in force, in a stretch": (ValueNotInForce, lambda: Overruled(since=2), MendedRate),
    "not in force, later": (ValueNotInForce, lambda: Overruled(since=5), MendedRate),
}


def adapter_around(trainer: Any, **more: Any) -> DynamicGridAdapter:
    settings: dict[str, Any] = {"adapt_every": 4, "try_for": 2, "check": "every", **more}
    space = {"lr": [0.01, 0.03, 0.1]}
    return DynamicGridAdapter(trainer, space, minimize="loss", initial={"lr": 0.03}, **settings)


def run(folder: Path, trainer: Any, **more: Any) -> History:
    return run_with_checkpoints(adapter_around(trainer, **more), EPOCHS, checkpoint=folder)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("every", [1, 3])
def test_started_again_it_is_stopped_again(name: str, every: int, tmp_path: Path) -> None:
    error, broken, _ = BROKEN[name]
    stopped = []
    for _ in range(3):
        adapter = adapter_around(broken())
        with pytest.raises(error):
            run_with_checkpoints(adapter, EPOCHS, checkpoint=tmp_path, every=every)
        stopped.append(len(adapter.history))
    assert len(set(stopped)) == 1
    assert stopped[0] == ("later" in name)


@pytest.mark.parametrize("trainer", [Forgetful, Deaf])
def test_also_where_there_are_tries_only_once(trainer: Any, tmp_path: Path) -> None:
    policy = recommended("learning_rate", name="lr", default=0.03, loss="loss")
    for _ in range(3):
        adapter = DynamicGridAdapter(trainer(), policy=policy)
        with pytest.raises((NotRepeatable, ValueNotUsed)):
            run_with_checkpoints(adapter, 40, checkpoint=tmp_path)


@pytest.mark.parametrize("name", ["not repeatable", "not used"])
def test_also_where_other_processes_try(name: str, tmp_path: Path) -> None:
    error, broken, _ = BROKEN[name]
    with Processes(type(broken()), workers=2) as executor:
        for _ in range(2):
            with pytest.raises(error):
                run(tmp_path, broken(), executor=executor)


def every_moment(commands: int) -> list[tuple[int, bool]]:
    """Before each command, and after each but the last, which raises."""
    before = [(fatal, False) for fatal in range(1, commands + 1)]
    return before + [(fatal, True) for fatal in range(1, commands)]


@pytest.mark.many
@pytest.mark.parametrize("name", BROKEN)
def test_killed_at_any_command_it_is_stopped_all_the_same(name: str, tmp_path: Path) -> None:
    """Also inside of the check, whose tries are then all in the folder."""
    error, broken, mended = BROKEN[name]
    counted = KilledAtCommand()
    with pytest.raises(error):
        run(tmp_path / "counted", broken(), middleware=[counted.middleware])
    whole = mended()
    wanted = adapter_around(whole).run(EPOCHS)
    for fatal, after in every_moment(counted.commands):
        folder = tmp_path / f"{fatal}{after}"
        with pytest.raises(Killed):
            run(folder, broken(), middleware=[KilledAtCommand(fatal, after=after).middleware])
        with pytest.raises(error):
            run(folder, broken())
        # If the kill cut short the check of the round before, what is saved is refused.
        with pytest.raises((error, CheckpointError)):
            run(folder, broken())
        trainer = mended()
        try:
            history = run(folder, trainer)
        except CheckpointError:
            assert name.endswith("later")
            continue
        assert without_times(history) == without_times(wanted)
        assert encode(trainer.get_state()) == encode(whole.get_state())


@pytest.mark.many
@pytest.mark.parametrize("name", BROKEN)
def test_mended_after_a_kill_it_is_refused_or_ends_as_in_a_new_folder(
    name: str, tmp_path: Path
) -> None:
    """Nothing that was trained by the broken one ends up in the run without a word."""
    error, broken, mended = BROKEN[name]
    counted = KilledAtCommand()
    with pytest.raises(error):
        run(tmp_path / "counted", broken(), middleware=[counted.middleware])
    whole = mended()
    wanted = adapter_around(whole).run(EPOCHS)
    for fatal, after in every_moment(counted.commands):
        folder = tmp_path / f"{fatal}{after}"
        with pytest.raises(Killed):
            run(folder, broken(), middleware=[KilledAtCommand(fatal, after=after).middleware])
        trainer = mended()
        try:
            history = run(folder, trainer)
        except (NotRepeatable, ValueNotUsed):  # what the broken one has tried is in the folder
            trainer = mended()
            history = run(folder, trainer)
        assert without_times(history) == without_times(wanted)
        assert encode(trainer.get_state()) == encode(whole.get_state())


@pytest.mark.parametrize("driven", ["trainer", "loop"])
def test_rounds_since_the_last_check_are_refused_if_a_later_one_fails(
    driven: str, tmp_path: Path
) -> None:
    """The broken trainer passed the first check, and then trained rounds that were not checked."""

    def start(model: NoisyQuadratic, fatal: int | None = None) -> None:
        middleware = [] if fatal is None else [KilledAtCommand(fatal).middleware]
        if driven == "trainer":
            run(tmp_path, model, check="first", middleware=middleware)
            return
        loop = adapt(
            EPOCHS, state=[model], space={"lr": [0.01, 0.03, 0.1]}, minimize="loss",
            adapt_every=4, try_for=2,
        )  # fmt: skip
        with checkpoints(tmp_path, loop):
            for epoch in loop:
                model.train_k(1, epoch.values)
                epoch.report(loss=model.metrics()["loss"])
                if fatal is not None and epoch.main and epoch == 10:
                    raise Killed

    whole = KilledAtCommand()
    adapter_around(Mended(), check="first", middleware=[whole.middleware]).run(8)
    with pytest.raises(Killed):
        start(Forgetful(since=5), fatal=whole.commands + 1)  # in the third round
    with pytest.raises(NotRepeatable):
        start(Forgetful(since=5))
    with raises(CheckpointError):
        start(Mended())
    (tmp_path / "stopped.txt").unlink()
    start(Mended())


def test_rounds_that_a_check_has_proved_are_kept(tmp_path: Path) -> None:
    with pytest.raises(NotRepeatable):
        run(tmp_path, Forgetful(since=4))  # with a check in every round
    trainer, whole = Mended(), Mended()
    history = run(tmp_path, trainer)
    assert without_times(history) == without_times(adapter_around(whole).run(EPOCHS))
    assert encode(trainer.get_state()) == encode(whole.get_state())


def test_an_error_of_the_users_own_keeps_all_finished_rounds(tmp_path: Path) -> None:
    """Also with few checkpoints: a limit of time in each process must not lead in a circle."""

    class OutOfTime(Exception):
        pass

    def after_two_rounds() -> Any:
        rounds = 0

        def passed(commands: Any, memory: Any) -> Any:
            nonlocal rounds
            rounds += 1
            if rounds > 2:
                raise OutOfTime
            return (yield from commands)

        return passed

    def start(**more: Any) -> DynamicGridAdapter:
        adapter = adapter_around(Mended(), check="first", **more)
        run_with_checkpoints(adapter, 24, checkpoint=tmp_path, every=4)
        return adapter

    for _ in range(2):
        with pytest.raises(OutOfTime):
            start(middleware=[after_two_rounds()])
    adapter = start(middleware=[after_two_rounds()])
    whole = Mended()
    wanted = adapter_around(whole, check="first").run(24)
    assert [round_.candidate for round_ in adapter.history] == [each.candidate for each in wanted]
    assert encode(adapter.trainer.get_state()) == encode(whole.get_state())


def test_a_loop_ended_in_mid_epoch_saves_nothing_more(tmp_path: Path) -> None:
    """Its body may hold half an epoch, so it goes on from the last whole checkpoint."""
    model = NoisyQuadratic(noise=0.5, seed=4)

    def crashes_in_round(number: int) -> Any:
        def callback(event: Any) -> None:
            if isinstance(event, Round) and event.index == number:
                raise OSError("no space left on device")

        return callback

    def body(epoch: Epoch) -> None:
        model.train_k(1, epoch.values)
        epoch.report(loss=model.metrics()["loss"])

    def loop(**settings: Any) -> Any:
        return adapt(
            EPOCHS, state=[model], space={"lr": [0.01, 0.1]}, minimize="loss", adapt_every=2,
            try_for=1, **settings,
        )  # fmt: skip

    run_body(loop(), body)
    wanted = encode(model.get_state())
    model = NoisyQuadratic(noise=0.5, seed=4)
    crashing = loop(callbacks=[crashes_in_round(3)])
    with pytest.raises(OSError, match="no space left"), checkpoints(tmp_path, crashing, every=2):
        run_body(crashing, body)
    model = NoisyQuadratic(noise=0.5, seed=4)
    again = loop()
    with checkpoints(tmp_path, again):
        assert len(again.history) == 2
        run_body(again, body)
    assert encode(model.get_state()) == wanted


class Fails(NoisyQuadratic):
    """Raises whatever it is given."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        raise RuntimeError("out of memory")


def test_where_all_tries_failed_they_are_carried_out_anew(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(AllTriesFailed):
            run(tmp_path, Fails(noise=0.5, seed=4))
    trainer, whole = Mended(), Mended()
    assert run(tmp_path, trainer) == adapter_around(whole).run(EPOCHS)
    assert encode(trainer.get_state()) == encode(whole.get_state())


def test_what_failed_by_itself_is_not_forgotten(tmp_path: Path) -> None:
    """Only a broken promise makes what was trained useless, a full disk does not."""

    def full(event: Any) -> None:
        if len(list(tmp_path.glob("try-*.zip"))) == 2:
            raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        run(tmp_path, Mended(), callbacks=[full])
    assert len(list(tmp_path.glob("try-*.zip"))) == 2


@pytest.mark.parametrize("forgets", ["value", "state"])
def test_a_loop_is_stopped_again_too(forgets: str, tmp_path: Path) -> None:
    for _ in range(3):
        model, outside = NoisyQuadratic(), np.random.default_rng(3)
        loop = adapt(
            EPOCHS, state=[model], space={"lr": [0.01, 0.1]}, minimize="loss", adapt_every=4,
            try_for=1,
        )  # fmt: skip

        def body(epoch: Epoch, model: Any = model, outside: Any = outside) -> None:
            model.train_k(1, epoch.values if forgets == "state" else {"lr": 0.1})
            if forgets == "state":
                model.weights = model.weights + 0.01 * outside.normal()
            epoch.report(loss=model.metrics()["loss"])

        error = NotRepeatable if forgets == "state" else LoopError
        with pytest.raises(error), checkpoints(tmp_path, loop):
            run_body(loop, body)
        assert len(loop.history) == 0


class Larger(Mended):
    """Mended by a generator of its own, which is in the state from now on."""

    def get_state(self) -> Any:
        return {**super().get_state(), "other": 7}

    def set_state(self, state: Any) -> None:
        assert state["other"] == 7
        super().set_state(state)


def test_what_is_mended_before_anything_was_trained_starts_anew(tmp_path: Path) -> None:
    """Also where the mended trainer would not take the old state, and where its start is other."""
    journal = tmp_path / "run.jsonl"
    folder = tmp_path / "saved"
    for _ in range(2):
        with pytest.raises(NotRepeatable):
            run_with_checkpoints(
                adapter_around(Forgetful()), EPOCHS, checkpoint=folder, journal=journal
            )
    mended, whole = Larger(), Larger()
    for trainer in (mended, whole):
        trainer.weights = trainer.weights + 1
    history = run_with_checkpoints(
        adapter_around(mended), EPOCHS, checkpoint=folder, journal=journal
    )
    assert history == adapter_around(whole).run(EPOCHS)
    assert encode(mended.get_state()) == encode(whole.get_state())
    assert history_from_journal(journal) == history
    assert run(folder, Larger()) == history  # from here on it is a run like any other


@pytest.mark.parametrize("name", ["not repeatable", "not used", "not in force, later"])
@pytest.mark.parametrize("every", [1, 50])
def test_rounds_without_tries_by_what_broke_its_promise_are_refused(
    name: str, every: int, tmp_path: Path
) -> None:
    """Nobody knows whether the mended trainer would have trained them alike."""
    error, broken, mended = BROKEN[name]

    def start(trainer: Any) -> History:
        adapter = adapter_around(trainer, adapt_every=None, when=At([4, 8]), record_every=2)
        return run_with_checkpoints(adapter, EPOCHS, checkpoint=tmp_path, every=every)

    with pytest.raises(error):
        start(broken())
    if every == 50:  # only the start is saved, so that all of it is trained anew
        wanted = adapter_around(mended(), adapt_every=None, when=At([4, 8]), record_every=2)
        assert start(mended()) == wanted.run(EPOCHS)
        return
    for trainer in (broken(), mended()):
        with raises(CheckpointError):
            start(trainer)
    (tmp_path / "stopped.txt").unlink()  # who knows better may go on
    with pytest.raises(error):
        start(broken())
    (tmp_path / "stopped.txt").unlink()
    assert start(mended()).epochs == EPOCHS
    assert not (tmp_path / "stopped.txt").exists()


def test_an_error_that_says_nothing_about_the_line_before_is_no_reason(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"adapt_every": None, "when": At([4]), "record_every": 2}
    for trainer in (FailsLater(), FailsLater()):
        with pytest.raises(AllTriesFailed):
            run(tmp_path, trainer, **settings)
    whole = adapter_around(Mended(), **settings).run(EPOCHS)
    assert run(tmp_path, Mended(), **settings) == whole


class FailsLater(Mended):
    """Raises after the fourth step."""

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        if self.steps >= 4:
            raise RuntimeError("out of memory")
        super().train_k(k, hyperparameters)


def test_resume_starts_a_mended_trainer_anew_for_as_many_epochs_as_were_planned(
    tmp_path: Path,
) -> None:
    def adapter(trainer: NoisyQuadratic) -> DynamicGridAdapter:
        return DynamicGridAdapter(
            trainer, {"lr": [0.03, 0.1]}, minimize="loss", adapt_every=3, try_for=1
        )

    with pytest.raises(NotRepeatable):
        run_with_checkpoints(adapter(Forgetful()), EPOCHS, checkpoint=tmp_path)
    assert resume(tmp_path, adapter(Mended())) == adapter(Mended()).run(EPOCHS)
