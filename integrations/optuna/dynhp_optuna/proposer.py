"""A proposer that asks a sampler of Optuna for candidates, with the rounds so far as its trials."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseGASampler, BaseSampler, CmaEsSampler, QMCSampler
from optuna.trial import create_trial

from dynhp.errors import SettingsError, advise, shown
from dynhp.proposers import Known, Waves
from dynhp.records import Candidate
from dynhp.spaces import Space
from dynhp_optuna.checks import require_count, require_sampler
from dynhp_optuna.distributions import distribution_of, from_optuna, size_of, to_optuna, values_of
from dynhp_optuna.quiet import quiet_optuna
from dynhp_optuna.ranks import ranks_of, ranks_of_tries

__all__ = ["OptunaProposer"]

ASKS = 8
"""So often a sampler is asked for a candidate that the round has not tried yet."""

IN_TRIALS = (CmaEsSampler, BaseGASampler, QMCSampler)
"""Samplers whose memory is in the trials, or the study, that they have begun themselves."""


@dataclass(frozen=True, slots=True)
class OptunaProposer:
    """Ask a sampler of Optuna for ``k`` candidates a round, beside the value in force.

    The tries of the last rounds are its trials. Scores of different rounds cannot be compared, so
    a trial's value is the share of its round's other tries that it beat: from 0 to 1. A sampler is
    made anew for each wave, with a seed drawn from the adapter's generator, and sees nothing but
    the records: so it is the same after a resume, and for any executor.

    Args:
        sampler: a class such as ``TPESampler``, or a function of ``seed`` that makes a sampler.
        k: how many candidates a round tries beside the value in force.
        at_once: how many are asked for before the sampler sees what came of them; all by default.
            One at a time searches best; more at once is what other processes can work on.
        window: how many rounds the sampler remembers, since what was good long ago may not be now.
        replay: whether the sampler begins all these trials itself again, as one must whose memory
            is in them; known by itself for CMA-ES, genetic and quasi-random ones.

    >>> from dynhp import DynamicGridAdapter, Float, lowest
    >>> from dynhp.testing import Quadratic
    >>> from optuna.samplers import TPESampler
    >>> adapter = DynamicGridAdapter(
    ...     Quadratic(), {"lr": Float(0.01, 1.5, log=True)}, criterion=lowest("loss"),
    ...     adapt_every=5, try_for=1, proposer=OptunaProposer(TPESampler, k=3),
    ... )
    >>> [len(round_.tries) for round_ in adapter.run(20)]
    [4, 4, 4, 4]
    """

    sampler: Callable[..., BaseSampler]
    k: int = 4
    at_once: int | None = field(default=None, kw_only=True)
    window: int = field(default=10, kw_only=True)
    replay: bool | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", require_count("OptunaProposer: k", self.k))
        object.__setattr__(self, "window", require_count("OptunaProposer: window", self.window))
        if self.at_once is not None:
            at_once = require_count("OptunaProposer: at_once", self.at_once)
            object.__setattr__(self, "at_once", at_once)
        if not (self.replay is None or isinstance(self.replay, bool)):
            raise SettingsError(
                f"OptunaProposer: replay must be True, False or None, got {shown(self.replay)}"
            )
        require_sampler("OptunaProposer", self.sampler)

    def __repr__(self) -> str:
        return (
            f"OptunaProposer({sampler_text(self.sampler)}, k={self.k}, at_once={self.at_once}, "
            f"window={self.window}, replay={self.replay})"
        )

    def propose(self, known: Known, rng: np.random.Generator) -> list[Candidate]:
        """The value in force and the first candidates; then further ones, as many as are left."""
        first = [] if known.tries else [known.current]
        left = self._others(known.space) - max(0, len(known.tries) - 1)
        count = min(left, self.at_once or left)
        if count <= 0:
            return first
        tried = {*first, *(try_.candidate for try_ in known.tries)}
        with quiet_optuna("OptunaProposer"):
            return [*first, *self._new(known, rng, tried, count)]

    def waves(self, space: Space, current: Candidate) -> Waves:
        """The value in force and ``at_once`` more, then ``at_once`` a wave, ``k`` in all."""
        others = self._others(space)
        at_once = min(others, self.at_once or others)
        sizes = [1 + at_once]
        while (left := others - (sum(sizes) - 1)) > 0:
            sizes.append(min(at_once, left))
        return Waves(tuple(sizes), tuple(sizes))

    def _others(self, space: Space) -> int:
        """How many candidates a round has beside the value in force; a small space has fewer."""
        return int(min(self.k, math.prod(map(size_of, space.values())) - 1))

    def _new(
        self, known: Known, rng: np.random.Generator, tried: set[Candidate], count: int
    ) -> Iterator[Candidate]:
        sampler = self.sampler(seed=int(rng.integers(2**32)))
        study = optuna.create_study(sampler=sampler, direction="maximize")
        replay = isinstance(sampler, IN_TRIALS) if self.replay is None else self.replay
        add = _begin_again if replay else _add
        for candidate, rank in _trials(known, self.window):
            add(study, known.space, candidate, rank)
        for _ in range(count):
            asked = (_ask(study, known.space, replay) for _ in range(ASKS))
            drawn = _without_sampler(known.space, rng)
            new = next(each for each in itertools.chain(asked, drawn) if each not in tried)
            tried.add(new)
            yield new


def sampler_text(sampler: Callable[..., Any]) -> str:
    """What a sampler is made by, the same in every process: checkpoints compare it.

    >>> sampler_text(functools.partial(optuna.samplers.TPESampler, n_startup_trials=5))
    'TPESampler(n_startup_trials=5)'
    """
    if isinstance(sampler, functools.partial):
        given = [*map(repr, sampler.args), *(f"{k}={v!r}" for k, v in sampler.keywords.items())]
        return f"{sampler_text(sampler.func)}({', '.join(given)})"
    return str(getattr(sampler, "__qualname__", repr(sampler)))


def _trials(known: Known, window: int) -> Iterator[tuple[Candidate, float]]:
    """What was tried in the last rounds and in this one, oldest first, with its rank."""
    rounds = [(round_.tries, ranks_of(round_)) for round_ in known.history[-window:]]
    under_way = (known.tries, ranks_of_tries(known.tries, known.current))
    for tries, ranks in [*rounds, under_way]:
        for try_, rank in zip(tries, ranks, strict=True):
            if rank is not None:
                yield try_.candidate, rank


def _parameters(space: Space, candidate: Candidate) -> dict[str, Any]:
    return {name: to_optuna(axis, candidate[name]) for name, axis in space.items()}


def _distributions(space: Space) -> dict[str, Any]:
    return {name: distribution_of(axis) for name, axis in space.items()}


def _add(study: optuna.Study, space: Space, candidate: Candidate, rank: float) -> None:
    params = _parameters(space, candidate)
    study.add_trial(create_trial(params=params, distributions=_distributions(space), value=rank))


def _begin_again(study: optuna.Study, space: Space, candidate: Candidate, rank: float) -> None:
    """Let the sampler begin a trial, but with these values in place of what it would have said."""
    study.enqueue_trial(_parameters(space, candidate))
    trial = study.ask(_distributions(space))
    trial.relative_params  # noqa: B018 - asking for them is when a sampler writes its memory
    study.tell(trial, rank)


def _ask(study: optuna.Study, space: Space, replay: bool) -> Candidate:
    trial = study.ask(_distributions(space))
    written = study.get_trials(deepcopy=False)[trial.number].system_attrs
    memory = [name for name in written if ":relative_params" not in name]
    if memory and not replay:
        advise(
            f"OptunaProposer: {type(study.sampler).__name__} keeps its memory in the trials that "
            f"it begins (it has written {shown(memory[0])}), so it learns nothing from rounds "
            "before; give replay=True, or replay=False where you know better",
            about=("optuna replay", type(study.sampler)),
        )
    return Candidate({name: from_optuna(axis, trial.params[name]) for name, axis in space.items()})


def _without_sampler(space: Space, rng: np.random.Generator) -> Iterator[Candidate]:
    """Candidates at random for a while, then all that there are: one of them is new."""
    for _ in range(100):
        yield space.draw(rng)
    for row in itertools.product(*map(values_of, space.values())):
        yield Candidate(dict(zip(space, row, strict=True)))
