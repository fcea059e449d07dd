"""How a round starts: its tries to be, and the candidates that the proposer names for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError, shown
from dynhp.proposers import Known
from dynhp.records import Candidate, Event, Progress, Round, RoundStarted, Try
from dynhp.rounds.repeat import self_check
from dynhp.rounds.settings import AdapterView
from dynhp.rounds.tries import RoundTries
from dynhp.trainer import State

__all__ = ["draw_seed", "next_wave", "round_tries"]


def round_tries(
    adapter: AdapterView,
    rounds: Sequence[Round],
    started: RoundStarted,
    origin: State,
    announce: Callable[[Event], None],
) -> RoundTries:
    """The tries of a round that starts now, none of which has begun."""
    progress = Progress(adapter.epoch, adapter.epochs)
    return RoundTries(
        started=started,
        origin=origin,
        current=adapter.current,
        score=lambda series: score(adapter.criterion, series, progress),
        ranking=adapter.selection.ranking(rounds, adapter.current),
        watch=metrics_of(adapter.criterion),
        announce=announce,
        check=self_check(adapter, started.index) if adapter.check_is_due else None,
    )


def next_wave(
    adapter: AdapterView, rounds: Sequence[Round], tries: tuple[Try, ...], rng: np.random.Generator
) -> list[tuple[Candidate, int | None]]:
    """The next candidates, each with the seed of its try; none: the round has them all."""
    known = Known(space=adapter.space, current=adapter.current, history=rounds, tries=tries)
    wave = list(adapter.proposer.propose(known, rng))
    if not wave and not tries:
        raise ContractError(f"{shown(adapter.proposer)} proposed nothing for a new round")
    if not wave and adapter.dry_run and all(each.candidate != adapter.current for each in tries):
        wave = [adapter.current]  # a dry run keeps the value in force, so it needs its try
    common = adapter.randomness == "common"
    return [(_cast(adapter, each), None if common else draw_seed(rng)) for each in wave]


def _cast(adapter: AdapterView, candidate: Candidate) -> Candidate:
    if not adapter.space.admits(candidate):
        raise ContractError(
            f"{shown(adapter.proposer)} proposed {shown(candidate)}, which is not in "
            f"{shown(adapter.space)}"
        )
    return adapter.space.cast(candidate)


def draw_seed(rng: np.random.Generator) -> int:
    """A seed for a trainer."""
    return int(rng.integers(2**63))
