"""The tries of a round from its start to the choice, and where the main line goes on after."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import numpy as np

from dynhp.criteria.contract import metrics_of, score
from dynhp.errors import ContractError, advise, shown
from dynhp.main_line.line import Origin
from dynhp.proposers import Known
from dynhp.records import Candidate, Event, Progress, Round, RoundStarted, Try
from dynhp.rounds.attempt import reseed
from dynhp.rounds.jobs import UNKNOWN_STATE
from dynhp.rounds.repeat import self_check
from dynhp.rounds.saved import settings_of
from dynhp.rounds.settings import AdapterView
from dynhp.rounds.steps import CarryOutTries, Step
from dynhp.rounds.tries import RoundTries
from dynhp.selection import epochs_of_tries
from dynhp.tails.contract import require_correction, require_tail
from dynhp.tails.lengths import require_one_stage, restarts, try_epochs
from dynhp.tails.rules import NO_TAIL, tail_rules
from dynhp.trainer import Reseeds, State, trained_unit
from dynhp.triggers import Due

__all__ = ["draw_seed", "go_on", "next_wave", "require_waves", "round_started", "round_tries"]
__all__ += ["try_candidates"]

MANY_TRIES = 1000
"""More candidates in a round than this are hardly meant: it is said what they cost."""


def require_waves(adapter: AdapterView) -> None:
    """Refuse a space that does not suit the proposer, and say what very many candidates cost."""
    require_tail(adapter.tail, adapter.space, adapter.current)
    require_correction(adapter.then, adapter.space)
    _, waves = adapter.proposer.waves(adapter.space, adapter.current)
    if adapter.epochs is None and not isinstance(adapter.try_for, int):
        return  # a share of a run is looked at once that is known
    try_for = try_epochs(adapter)
    if adapter.tail is not None:
        require_one_stage(adapter.selection.stages(waves[0], try_for))
    if sum(waves) > MANY_TRIES:
        epochs = epochs_of_tries(adapter.selection, waves, try_for)
        every = adapter.adapt_every
        advise(
            f"a round tries up to {sum(waves):,} candidates: {epochs:,} "
            f"{trained_unit(adapter.trainer)} in tries"
            + ("" if every is None else f" for {every:,} of the main line")
            + "; thin out the axes of the space, or use OneAxis, Neighbors or Interpolation. "
            "plan_for(...) has the cost of the whole run"
        )


def round_started(adapter: AdapterView, index: int, origin: Origin, epochs: int) -> RoundStarted:
    """The event at the beginning of a round."""
    adapter.described = adapter.described or settings_of(adapter, adapter.history)
    return RoundStarted(
        index=index,
        start=origin.epoch,
        epochs=epochs,
        abandoned=origin.abandoned,
        planned=adapter.epochs,
        settings=adapter.described,
        unit=trained_unit(adapter.trainer),
    )


def round_tries(
    adapter: AdapterView,
    rounds: Sequence[Round],
    started: RoundStarted,
    origin: Origin,
    due: Due | None = None,
    *,
    announce: Callable[[Event], None],
) -> RoundTries:
    """The tries of a round that starts now, none of which has begun; there are none if not due."""
    current, check = adapter.current, None
    if due is not None and adapter.check_is_due:
        first = rounds[0].index if rounds else started.index
        check = self_check(adapter, started.index, first=first)
    return RoundTries(
        started=started,
        origin=origin.state,
        current=current,
        score=lambda series, in_tail: score(
            adapter.criterion, series, Progress(started.start, adapter.epochs, in_tail)
        ),
        ranking=adapter.selection.ranking(rounds, current),
        watch=metrics_of(adapter.criterion),
        announce=announce,
        check=check,
        because="" if due is None else due.because,
        rescue=due is not None and due.alarm and adapter.max_rescues > 0,
        rules=NO_TAIL if due is None else tail_rules(adapter, adapter.space),
        inner_rule=origin.inner,
    )


# fmt: off
def try_candidates(
    adapter: AdapterView,
    tries: RoundTries,
    known: Sequence[Round],
    beta: int,
    *,
    rng: np.random.Generator,
) -> Generator[Step, None, tuple[int, int | None]]:
    """Lines 3 to 6 of Algorithm 1 as steps; the main line is where it goes on afterwards.

    Gives the epochs that the main line has of the round then, and the seed it goes on with.
    """
    at = origin = tries.origin
    if tries.rescue and isinstance(adapter.trainer, Reseeds):
        tries.seed = draw_seed(rng)                 # not to meet again what broke the main line
    while wave := next_wave(adapter, known, tries, rng):
        for stage in tries.stages(wave, adapter.selection.stages(len(wave), beta)):
            yield CarryOutTries(stage, at)                 # lines 3, 4: train each q of Q for beta
            at = UNKNOWN_STATE
    for repeat in tries.repeats():                                      # the promise, proved
        adapter.trainer.set_state(origin)
        repeat.check.watch.back_at_origin()
        yield CarryOutTries(repeat, origin)
    winner = tries.winner(in_force=adapter.dry_run)                     # line 6: argmax of f
    return go_on(adapter, winner, state=tries.take_winner_state(), origin=origin, rng=rng)
# fmt: on


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
    return [(_cast(adapter, each), so_far.seed if common else draw_seed(rng)) for each in wave]


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


def draw_seed(rng: np.random.Generator) -> int:
    """A seed for a trainer."""
    return int(rng.integers(2**63))


def go_on(
    adapter: AdapterView, winner: Try, *, state: State, origin: State, rng: np.random.Generator
) -> tuple[int, int | None]:
    """Bring the main line to where it goes on: epochs it has of this round, and its seed."""
    if adapter.dry_run:  # the plain line, which draws what it would have drawn
        adapter.trainer.set_state(origin)
        return 0, None
    if restarts(adapter):
        seed = draw_seed(rng) if adapter.randomness == "independent" else winner.seed
        adapter.trainer.set_state(origin)
        if seed is not None:
            reseed(adapter.trainer, seed)
        return 0, seed
    if state is not UNKNOWN_STATE:
        adapter.trainer.set_state(state)
    return winner.own.epochs, winner.seed
