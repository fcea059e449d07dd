"""How a round starts: its tries to be, the candidates that the proposer names, their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError, advise, shown
from dynhp.proposers import Known
from dynhp.records import Candidate, Event, Progress, Round, RoundStarted, Try
from dynhp.rounds.attempt import reseed
from dynhp.rounds.jobs import UNKNOWN_STATE
from dynhp.rounds.repeat import self_check
from dynhp.rounds.settings import AdapterView
from dynhp.rounds.tries import RoundTries
from dynhp.selection import epochs_of_tries
from dynhp.trainer import State

__all__ = ["draw_seed", "go_on", "next_wave", "require_waves", "round_tries"]

MANY_TRIES = 1000
"""More candidates in a round than this are hardly meant: it is said what they cost."""


def require_waves(adapter: AdapterView) -> None:
    """Refuse a space that does not suit the proposer, and say what very many candidates cost."""
    _, waves = adapter.proposer.waves(adapter.space, adapter.current)
    if sum(waves) > MANY_TRIES:
        epochs = epochs_of_tries(adapter.selection, waves, adapter.try_for)
        advise(
            f"a round tries up to {sum(waves):,} candidates: {epochs:,} epochs in tries for "
            f"{adapter.adapt_every:,} of the main line; thin out the axes of the space, or use "
            "OneAxis, Neighbors or Interpolation. plan_for(...) has the cost of the whole run"
        )


def round_tries(
    adapter: AdapterView,
    rounds: Sequence[Round],
    started: RoundStarted,
    origin: State,
    announce: Callable[[Event], None],
) -> RoundTries:
    """The tries of a round that starts now, none of which has begun."""
    progress, current = Progress(started.start, adapter.epochs), adapter.current
    return RoundTries(
        started=started,
        origin=origin,
        current=current,
        score=lambda series: score(adapter.criterion, series, progress),
        ranking=adapter.selection.ranking(rounds, current),
        watch=metrics_of(adapter.criterion),
        announce=announce,
        check=self_check(adapter, started.index) if adapter.check_is_due else None,
    )


def next_wave(
    adapter: AdapterView, rounds: Sequence[Round], so_far: RoundTries, rng: np.random.Generator
) -> list[tuple[Candidate, int | None]]:
    """The next candidates, each with the seed of its try; none: the round has them all."""
    tries, current = so_far.records, so_far.current
    known = Known(space=adapter.space, current=current, history=rounds, tries=tries)
    wave = list(adapter.proposer.propose(known, rng))
    if not wave:
        if not tries:
            raise ContractError(f"{shown(adapter.proposer)} proposed nothing for a new round")
        if not adapter.dry_run or any(each.candidate == current for each in tries):
            return []
        wave = [current]  # a dry run keeps the value in force, so it needs its try
    common = adapter.randomness == "common"
    return [(_cast(adapter, each), None if common else draw_seed(rng)) for each in wave]


def _cast(adapter: AdapterView, candidate: Candidate) -> Candidate:
    if isinstance(candidate, Candidate) and candidate.is_admitted_by(adapter.space):
        return candidate
    if not adapter.space.admits(candidate):
        raise ContractError(
            f"{shown(adapter.proposer)} proposed {shown(candidate)}, which is not in "
            f"{shown(adapter.space)}"
        )
    cast = adapter.space.cast(candidate)
    cast.mark_admitted_by(adapter.space)
    return cast


def go_on(
    adapter: AdapterView, winner: Try, state: State, origin: State, rng: np.random.Generator
) -> tuple[int, int | None]:
    """Bring the main line to where it goes on: epochs it has of this round, and its seed."""
    if adapter.dry_run:  # the plain line, which draws what it would have drawn
        adapter.trainer.set_state(origin)
        return 0, None
    if adapter.keep == "value" and adapter.randomness == "independent":
        seed = draw_seed(rng)
        adapter.trainer.set_state(origin)
        reseed(adapter.trainer, seed)
        return 0, seed
    # Under common random numbers the way back would lead through the winner's copy again.
    if state is not UNKNOWN_STATE:
        adapter.trainer.set_state(state)
    return winner.epochs, winner.seed


def draw_seed(rng: np.random.Generator) -> int:
    """A seed for a trainer."""
    return int(rng.integers(2**63))
