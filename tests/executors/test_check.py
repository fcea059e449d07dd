"""``check_executor``: sound executors pass, and each mistake is caught and named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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


class AnyOrder(SerialWithMistake):
    """Hands out the last first, and each state as it was then."""

    def as_completed(self, jobs: Any) -> Iterator[tuple[int, Outcome]]:
        trainer = Chameleon()
        for place, job in reversed(list(enumerate(jobs))):
            yield place, attempt_there(trainer, job)


def attempt_there(trainer: Any, job: Any) -> Outcome:
    return replace(attempt(trainer, job), in_place=False)


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
    ],
)
def test_a_mistake_is_caught_and_named(executor: Any) -> None:
    with raises(LawBroken):
        check_executor(lambda make: executor())


@pytest.mark.parametrize("sound", [SerialWithMistake, AnyOrder])
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
