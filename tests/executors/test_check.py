"""``check_executor``: sound executors pass, and each mistake is caught and named."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from dynhp import Serial
from dynhp.errors import LawBroken, SettingsError
from dynhp.executors import Processes
from dynhp.executors.attempt import attempt
from dynhp.executors.contract import Outcome
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.testing.executors.chameleon import Chameleon
from dynhp.testing.executors.check import check_executor
from tests.support.messages import raises

SPACE = {"lr": [0.01, 0.1, 0.3]}


class SerialWithMistake:
    """Serial; those that inherit from it make one mistake."""

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        for place, job in enumerate(jobs):
            yield self.attempted(trainer, job, place, len(jobs))

    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        return attempt(trainer, job)


class Reorders(SerialWithMistake):
    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        done = []
        for job in jobs:
            outcome = attempt(trainer, job)
            state = outcome.keep()
            done.append(replace(outcome, in_place=False, keep=lambda state=state: state))
        yield from reversed(done)


class DropsError(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        return replace(attempt(trainer, job), error=None)


class CountsAllEpochs(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        return replace(attempt(trainer, job), epochs=job.epochs)


class SharesState(SerialWithMistake):
    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        for job in jobs:
            yield attempt(trainer, job, at=job.origin)  # never restored


class ForgetsSeed(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        return attempt(trainer, replace(job, seed=None))


class ForgetsInside(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        return attempt(trainer, replace(job, inner_rule=None))


class KeepsLive(SerialWithMistake):
    """All states kept are one, written over by the next."""

    def __init__(self) -> None:
        self.live: Any = {}

    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        outcome = attempt(trainer, job)

        def keep() -> Any:
            make, inner = outcome.keep()
            if not isinstance(inner, dict):
                return make, inner
            self.live.update(inner)
            return make, self.live

        return replace(outcome, keep=keep, in_place=False)


class KeepsOther(SerialWithMistake):
    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        for job in jobs:
            yield replace(attempt(trainer, job), keep=lambda job=job: job.origin, in_place=False)


class WritesOrigin(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        outcome = attempt(trainer, job)
        inner = job.origin[1]
        if place == number - 1 and isinstance(inner, dict) and "weights" in inner:
            np.copyto(inner["weights"], 0.0)
        return outcome


class SkipsLast(SerialWithMistake):
    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        return super().run(trainer, jobs[:-1] if len(jobs) > 1 else jobs, at=at)


class Swallows(SerialWithMistake):
    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        try:
            yield from super().run(trainer, jobs, at=at)
        except Exception:
            return


class SaysInPlace(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        outcome = attempt(trainer, job)
        state = outcome.keep()
        trainer.set_state(job.origin)
        return replace(outcome, keep=lambda: state)


class Crashes(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        if isinstance(job.origin[1], float):
            raise OSError("broken pipe")
        return attempt(trainer, job)


class BeatsTwice(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        def beat(epochs: int, metrics: Any) -> None:
            job.beat and job.beat(epochs, metrics)
            job.beat and job.beat(epochs, metrics)

        return attempt(trainer, replace(job, beat=beat))


class BeatsNever(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        return attempt(trainer, replace(job, beat=None))


class BeatsElsewhere(SerialWithMistake):
    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        def beat(*told: Any) -> None:
            if job.beat is not None:
                thread = threading.Thread(target=job.beat, args=told)
                thread.start()
                thread.join()

        return attempt(trainer, replace(job, beat=beat))


class BeatsLate(SerialWithMistake):
    """Trains the same epochs again if a state is asked for."""

    def attempted(self, trainer: Any, job: Any, place: int, number: int) -> Outcome:
        again = partial(attempt, trainer, job)
        return replace(again(), in_place=False, keep=lambda: again().keep())


class GoesOn(SerialWithMistake):
    """What a run has left when it is closed comes first in the next."""

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        self.waiting += jobs
        try:
            while self.waiting:
                yield attempt(trainer, self.waiting.popleft())
        except Exception:
            self.waiting.clear()
            raise


class TrainsOn(SerialWithMistake):
    """Carries out in the next run what was left, and keeps it to itself."""

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        while self.waiting:
            attempt(*self.waiting.popleft())
        self.waiting += [(trainer, job) for job in jobs]
        try:
            while self.waiting:
                yield attempt(*self.waiting.popleft())
        except Exception:
            self.waiting.clear()
            raise


class AnyOrder(SerialWithMistake):
    """Hands out the last first, and each state as it was then."""

    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        trainer = Chameleon()
        for place, job in reversed(list(enumerate(jobs))):
            yield place, attempt_there(trainer, job)


def attempt_there(trainer: Any, job: Any) -> Outcome:
    return replace(attempt(trainer, job), in_place=False)


class GoesOnThere(AnyOrder):
    """What is left when a run of any order is closed comes first in the next."""

    def __init__(self) -> None:
        self.left: list[Outcome] = []

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        yield from self.left
        yield from super().run(trainer, jobs, at=at)

    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        outcomes = super().as_completed(jobs)
        try:
            yield from outcomes
        except GeneratorExit:
            self.left = [attempt_there(Chameleon(), jobs[0])]
            raise


class Listed(SerialWithMistake):
    """All at once, on a trainer of its own: what it hands out has nothing to close."""

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
        mine = Chameleon()
        done = []
        for job in jobs:
            outcome = attempt(mine, job)
            states = outcome.keep()
            done.append(replace(outcome, in_place=False, keep=lambda states=states: states))
        return iter(done)


class CountsByItself(AnyOrder):
    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        for place, (_, outcome) in enumerate(super().as_completed(jobs)):
            yield place, outcome


class LeavesOneOut(AnyOrder):
    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        return super().as_completed(jobs[:-1])


class ForgetsSeedThere(AnyOrder):
    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        return super().as_completed([replace(job, seed=None) for job in jobs])


class SwallowsThere(AnyOrder):
    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        try:
            yield from super().as_completed(jobs)
        except Exception:
            return


@pytest.mark.parametrize(
    "executor",
    [
        CountsByItself,
        LeavesOneOut,
        ForgetsSeedThere,
        SwallowsThere,
        Reorders,
        DropsError,
        CountsAllEpochs,
        SharesState,
        ForgetsSeed,
        ForgetsInside,
        KeepsLive,
        KeepsOther,
        WritesOrigin,
        SkipsLast,
        Swallows,
        SaysInPlace,
        Crashes,
        BeatsTwice,
        BeatsNever,
        BeatsElsewhere,
        BeatsLate,
        GoesOn,
        TrainsOn,
        GoesOnThere,
    ],
)
def test_a_mistake_is_caught_and_named(executor: Any) -> None:
    with raises(LawBroken):
        check_executor(lambda make: executor())


@pytest.mark.parametrize("sound", [SerialWithMistake, AnyOrder, Listed])
def test_the_base_of_the_mistakes_makes_none(sound: Any) -> None:
    assert check_executor(lambda make: sound()).broken == ()


def test_a_mistake_in_runs_alone_is_caught() -> None:
    class ForgetsWinner(SerialWithMistake):
        stages = 0

        def run(self, trainer: Any, jobs: Any, *, at: Any) -> Iterator[Outcome]:
            yield from super().run(trainer, jobs, at=at)
            self.stages += 1
            if self.stages > 45:  # all that comes before the runs
                trainer.train_k(1, jobs[0].candidate)

    with raises(LawBroken) as caught:
        check_executor(lambda make: ForgetsWinner())
    assert all(line.startswith("run: ") for line in str(caught.value).splitlines())


class Closing(SerialWithMistake):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_what_can_be_closed_is_closed() -> None:
    executor = Closing()
    check_executor(lambda make: executor, make_trainer=NoisyQuadratic, space=SPACE)
    assert executor.closed == 1


def test_somebodys_trainer_is_used_for_all() -> None:
    made: list[Any] = []
    report = check_executor(
        lambda make: made.append(make) or Serial(),  # type: ignore[func-returns-value]
        make_trainer=Quadratic,
        space=SPACE,
    )
    assert made == [Quadratic]
    assert [verdict.status for verdict in report.verdicts] == ["ok"] * 4


def test_a_mistake_shows_with_somebodys_trainer_too() -> None:
    with raises(LawBroken):
        check_executor(lambda make: SharesState(), make_trainer=NoisyQuadratic, space=SPACE)


@pytest.mark.parametrize("half", [{"make_trainer": Quadratic}, {"space": SPACE}], ids=str)
def test_trainer_and_space_belong_together(half: Any) -> None:
    with raises(SettingsError):
        check_executor(lambda make: Serial(), **half)


def test_processes_give_what_serial_gives() -> None:
    report = check_executor(lambda make: Processes(make, workers=2))
    assert len(report.verdicts) == 31


def test_a_chameleon_lacks_no_power() -> None:
    calm, noisy = Chameleon(Quadratic), Chameleon()
    calm.reseed(7)
    assert calm.hyperparameters() == {}
    noisy.reseed(7)
    assert noisy.inner.draw()[0] == NoisyQuadratic(seed=7).draw()[0]
