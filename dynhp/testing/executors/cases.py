"""What executors are examined with: tries that are carried out at once, and whole runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from dynhp.best import BestRule
from dynhp.criteria import highest, lowest
from dynhp.executors.contract import Job
from dynhp.proposers import FullGrid, Interpolation, Neighbors, Placebo
from dynhp.records import Candidate, Metrics
from dynhp.selection import BestByMargin, Racing
from dynhp.spaces import Space
from dynhp.tails import annealed
from dynhp.testing.executors.chameleon import Chameleon, LiesAboutValues, RaisesLater
from dynhp.testing.laws.experiments import Make
from dynhp.testing.toys import NoisyQuadratic, Quadratic
from dynhp.testing.toys.fragile import Fragile
from dynhp.trainer import State, Trainer

RATES: Final = (0.05, 0.02, 0.1, 0.5, 0.3)
TOYS: Final[Mapping[str, Make]] = {
    "without noise": Quadratic,
    "noisy": functools.partial(NoisyQuadratic, noise=0.5, seed=2),
    "large": functools.partial(NoisyQuadratic, dimensions=6000),  # too large for a message
    "raises": functools.partial(Fragile, NoisyQuadratic, bad=(0.05, 0.5), failure="raise"),
    "measures nan": functools.partial(Fragile, NoisyQuadratic, bad=(0.02, 0.3), failure="nan"),
    "raises later": RaisesLater,
    "always raises": functools.partial(Fragile, NoisyQuadratic, bad=RATES, failure="raise"),
    "value not in force": LiesAboutValues,
}
_HIGHEST_LOSS: Final = BestRule(criterion=highest("loss"))


Beat: TypeAlias = tuple[int, Metrics | None, bool]
"""The epochs of a job so far, the metrics of the last, whether this came on the thread of a run."""


class Beats:
    """Notes the beats of a job, made on the thread that begins the run.

    In another process it becomes None, as what displays give to jobs.
    """

    def __init__(self) -> None:
        self.heard: list[Beat] = []
        self._thread = threading.get_ident()

    def __call__(self, epochs: int, metrics: Metrics | None) -> None:
        """Note one beat."""
        self.heard.append((epochs, metrics, threading.get_ident() == self._thread))

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriesCase:
    """Tries that are carried out at once, from one origin or each from another."""

    name: str
    make: Make  # the main line's trainer
    candidates: tuple[Candidate, ...]
    epochs: int = 3
    watch: tuple[str, ...] = ()  # the metrics that must stay finite
    seeds: bool = False  # each try has one of its own
    origins: int = 1  # from how many states they start, in turn
    tail: bool = False  # two epochs more, with half the value
    keeps: bool = True  # the state before the tail may be asked for
    compared: bool = False  # the state after the tail may be asked for too
    inside: bool = False  # the best state inside of a try is wanted, and any loss is good
    closed: bool = False  # a run of these tries is closed after its first outcome, too

    def jobs(self, trainer: Trainer, beats: Sequence[Beats]) -> list[Job]:
        """The jobs; the first origin is the state that the trainer is in afterwards."""
        origins = list(self._origins(trainer))
        return [
            Job(
                origin=origins[place % self.origins],
                candidate=candidate,
                epochs=self.epochs,
                seed=1000 + place if self.seeds else None,
                watch=self.watch,
                tail=_halves(candidate) if self.tail else (),
                keeps=self.keeps,
                compared=self.compared,
                inner_rule=_HIGHEST_LOSS if self.inside else None,
                start=7,
                beat=beats[place],
            )
            for place, candidate in enumerate(self.candidates)
        ]

    def _origins(self, trainer: Trainer) -> Iterator[State]:
        first = trainer.get_state()
        yield first
        for place in range(1, self.origins):
            trainer.train_k(1, self.candidates[place])
            yield trainer.get_state()
        trainer.set_state(first)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCase:
    """A whole run of the adapter."""

    name: str
    make: Make
    space: Space
    criterion: Any
    settings: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 10


def _halves(candidate: Candidate) -> tuple[Candidate, ...]:
    return (candidate.but({"lr": float(candidate["lr"]) / 2}),) * 2  # type: ignore[arg-type]


def _toy(name: str) -> Make:
    return functools.partial(Chameleon, TOYS[name])


def toy_tries_cases() -> Iterator[TriesCase]:
    """Tries of toys: large and small states, every way to fail, partial epochs, seeds."""
    rates = tuple(Candidate({"lr": rate}) for rate in RATES)
    for name in TOYS:
        yield TriesCase(name=name, make=_toy(name), candidates=rates, watch=("loss",))
    noisy = functools.partial(TriesCase, make=_toy("noisy"), candidates=rates)
    yield noisy(name="seeds", seeds=True)
    yield noisy(name="one try", candidates=rates[:1])
    yield noisy(name="from origins of their own", origins=3, closed=True)
    yield noisy(name="no such metric", watch=("loss", "missing"))
    yield noisy(name="tails", tail=True)
    yield noisy(name="tails that are compared", tail=True, compared=True)
    yield noisy(name="tails alone", tail=True, keeps=False, epochs=0)
    yield noisy(name="the best inside", inside=True)
    yield noisy(name="the best inside, of one that fails", inside=True, make=_toy("raises later"))
    yield noisy(name="the best inside, and a tail", inside=True, tail=True, compared=True)
    raising = functools.partial(TriesCase, make=_toy("raises later"), candidates=rates)
    yield raising(name="a tail raises", tail=True, epochs=1)


def toy_run_cases() -> Iterator[RunCase]:
    """Runs of toys: every kind of proposer, selection and randomness, and all tries failing."""
    run = functools.partial(RunCase, space=Space({"lr": sorted(RATES)}), criterion=lowest("loss"))
    for name, toy, settings in (
        ("grid", "raises", {"proposer": FullGrid()}),
        ("main line raises", "raises later", {"keep": "value"}),
        ("racing", "raises", {"selection": Racing()}),
        ("margin", "noisy", {"selection": BestByMargin(noise=1.0)}),
        ("waves", "noisy", {"proposer": Interpolation(), "selection": Racing()}),
        ("seeds", "large", {"proposer": Neighbors(), "randomness": "independent"}),
        ("value", "measures nan", {"proposer": Neighbors(), "keep": "value"}),
        ("placebo", "noisy", {"proposer": Placebo(3)}),
        ("nothing works", "always raises", {}),
        ("from the best state", "noisy", {"start_from": "best", "max_rounds": 4}),
        ("tails", "noisy", {"tail": annealed("lr", epochs=3)}),
        ("tails alone", "large", {"tail": annealed("lr", epochs=2), "keep": "value"}),
    ):
        yield run(name=name, make=_toy(toy), settings=settings)


def tries_cases(make: Make, space: Space) -> Iterator[TriesCase]:
    """Tries of any trainer, over the first candidates of its space."""
    candidates = tuple(space.grid())[:5]
    tries = functools.partial(TriesCase, make=make, candidates=candidates, epochs=2)
    yield tries(name="tries")
    yield tries(name="from origins of their own", origins=min(2, len(candidates)), closed=True)


def run_cases(make: Make, space: Space) -> Iterator[RunCase]:
    """Runs of any trainer, judged by the first metric that it measures."""
    trainer = make()
    trainer.train_k(1, space.start())
    criterion = lowest(next(iter(trainer.metrics())))
    run = functools.partial(RunCase, make=make, space=space, criterion=criterion, epochs=6)
    yield run(name="grid")
    yield run(name="racing", settings={"selection": Racing()})
