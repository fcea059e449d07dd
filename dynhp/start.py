"""Where a run starts: what the trainer says, the value in force, and whether all that fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dynhp._checks import is_number, require_count
from dynhp.advice import canonical_name, misleading
from dynhp.criteria.contract import metrics_of
from dynhp.errors import (
    ContractError,
    LeaveItAlone,
    MetricError,
    SettingsError,
    advise,
    nearest,
    shown,
)
from dynhp.policy import Policy, require_tolerance
from dynhp.read_back import read_metrics, same_value
from dynhp.records import Candidate, Round, Value
from dynhp.records.units import Unit
from dynhp.selection import epochs_of_tries
from dynhp.spaces import Space
from dynhp.tails.contract import (
    Course,
    Tail,
    require_correction,
    require_course,
    require_tail,
    values_at,
)
from dynhp.trainer import Delivers, ReadsBack, Reseeds, Trainer

if TYPE_CHECKING:
    from dynhp.executors import Executor
    from dynhp.triggers import Trigger

__all__ = ["changed_by", "hint_at_edges", "hint_at_length", "longest_run", "policy_for"]
__all__ += ["require_sendable", "require_total", "require_waves", "with_until"]

MANY_TRIES = 1000
"""More candidates in a round than this are probably a mistake: a hint says what they cost."""


def policy_for(policy: Policy, trainer: Trainer) -> Policy:
    """The policy of a run with this trainer: with the value at its start, and its tolerance."""
    if policy.randomness == "independent" and not isinstance(trainer, Reseeds):
        raise SettingsError(
            "randomness='independent' needs a trainer with reseed(seed), "
            f"got {shown(trainer)}; add that method or use randomness='common'"
        )
    _require_metrics(policy, trainer)
    # A wrapper delivers something else, and says whether there is an average inside it.
    delivers = getattr(trainer, "delivers_average", isinstance(trainer, Delivers))
    if policy.course is not None and not delivers:
        _require_no_average(policy.course)
    if policy.tail is not None:
        _require_learning_rate(policy.tail, getattr(trainer, "kinds", None) or {})
    policy = _driven_once(policy, trainer)
    space, start = starting_point(policy.space, trainer, policy.initial)
    declared = getattr(trainer, "tolerance", 0.0)
    tolerance = require_tolerance(declared if policy.tolerance is None else policy.tolerance)
    return replace(policy, space=space, initial=start, tolerance=tolerance)


def _require_no_average(course: Course) -> None:
    """Refuse an ending by averaged weights for a trainer that has no average of them."""
    from dynhp.tails.averaging import Averaged  # few runs have a course

    if isinstance(course, Averaged):
        raise SettingsError(
            f"course={course!r} ends a run by averaged weights, and nothing averages them "
            "here, so it would end at a constant rate that is too high for that; list what does "
            "in the state, such as an integration's AveragedWeights(model, share=0.1), or take "
            "ending='schedule'"
        )


def _require_learning_rate(tail: Tail, kinds: Mapping[str, str]) -> None:
    """Refuse tries that end by annealing a value that is no learning rate, or one but in name."""
    from dynhp.tails.annealing import Annealed  # few runs have a tail

    if not isinstance(tail, Annealed):
        return
    for reasons in misleading([tail.name], kinds).values():
        kind = canonical_name(kinds.get(tail.name, tail.name))
        raise LeaveItAlone(
            f"{tail.name} is a {kind}, and tail={tail!r}, as in recommended('learning_rate'), is "
            f"for learning rates alone; {reasons[0]}. Leave it at a constant value, which a few "
            f"whole runs choose better, or take the cautious settings of recommended({kind!r}, "
            f"name={tail.name!r}, epochs=..., default=..., force=True)"
        )


def with_until(policy: Policy, until: Trigger, trainer: Trainer) -> Policy:
    """The policy of a run that goes on, and ends when this says so."""
    changed = replace(policy, until=until)
    _require_metrics(changed, trainer)
    return changed


def _require_metrics(policy: Policy, trainer: Trainer) -> None:
    """Refuse a metric that the trainer does not have."""
    known = read_metrics(trainer)
    for name in (*metrics_of(policy.criterion), *policy.watched):
        # A trainer that measures nothing before it has trained is checked at its first try.
        if known and name not in known:
            raise MetricError(f"there is no metric {shown(name)}{nearest(name, known)}")


def _driven_once(policy: Policy, trainer: Trainer) -> Policy:
    """The policy, without its course if a schedule of the trainer's own drives the values."""
    drivers: Mapping[str, str] = getattr(trainer, "driven_by", None) or {}
    if policy.course is None or not drivers:
        return policy
    scheduled = changed_by(policy.course, policy.space)
    driven = [name for name in scheduled if name in drivers]
    if not driven:
        return policy
    if len(driven) < len(scheduled):
        raise SettingsError(
            f"{driven[0]}: {drivers[driven[0]]} drives it, so course={shown(policy.course)} must "
            "leave it alone: a value can follow one schedule"
        )
    return replace(policy, course=None)


def changed_by(course: Course, space: Space) -> list[str]:
    """The names whose values a course changes."""
    start = space.start()
    require_course(course, space, start)
    points = [values_at(course, start, progress) for progress in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return [name for name in start if any(values[name] != start[name] for values in points)]


def starting_point(
    space: Space, trainer: Trainer, initial: Mapping[str, Value] | None
) -> tuple[Space, Candidate]:
    """The value in force at the start: as given, as the trainer says, or the space's middle.

    A value of the trainer that is not on the grid is added to the space, which is returned.
    """
    _require_rates(space, getattr(trainer, "kinds", None) or {})
    if initial is not None:
        try:
            return space, space.candidate(initial)
        except SettingsError as error:
            raise SettingsError(f"initial: {error}") from None

    in_force = _in_force(space, trainer)
    values = dict(space.start())
    for name, axis in space.items():
        # None says that nothing is in force yet, unless it is one of the values.
        if in_force.get(name) is not None or (name in in_force and axis.admits(None)):
            equal = (value for value in axis.grid() if same_value(value, in_force[name]))
            values[name] = next(equal, in_force[name])

    joined = space.including(values)
    for name in space:
        if joined[name] is not space[name]:
            advise(f"{name} starts at {shown(values[name])}, which is added to the candidates")
    if joined and all(len(axis.grid()) == 1 for axis in joined.values()):
        advise(f"{', '.join(joined)}: with one value there is nothing to choose; list several")
    return joined, joined.candidate(values)


_RATES = ("learning_rate", "shrinkage")


def _require_rates(space: Space, kinds: Mapping[str, str]) -> None:
    """Refuse learning rates that are below zero or no numbers, and say what zero means."""
    for name, axis in space.items():
        bound = name in kinds and canonical_name(kinds[name]) in _RATES
        if not bound and canonical_name(name) != "learning_rate":
            continue
        words = [value for value in axis.grid() if not is_number(value)]
        if words and bound:
            raise SettingsError(
                f"{name}: a learning rate must be a number, got {shown(words[0])}; list numbers "
                "alone, such as [0.01, 0.1]"
            )
        lowest = min((value for value in axis.grid() if is_number(value)), default=math.inf)
        if lowest < 0:
            raise SettingsError(
                f"{name}: a learning rate must be above 0, got {shown(lowest)}; a negative one "
                "climbs"
            )
        if lowest == 0:
            advise(f"{name}: with a learning rate of 0 a try learns nothing; leave the 0 out")


def _in_force(space: Space, trainer: Trainer) -> Mapping[str, Value]:
    """What the trainer says is in force; refused if it knows no name of the space."""
    if not isinstance(trainer, ReadsBack):
        return {}
    in_force: object = trainer.hyperparameters()
    if not isinstance(in_force, Mapping):
        raise ContractError(f"hyperparameters() must map names to values, got {shown(in_force)}")
    if in_force and not set(in_force) & set(space):
        raise ContractError(
            f"hyperparameters() names {_named(in_force)}, but {_named(space)} is adapted, so "
            "nothing could be read back; use the same names"
        )
    return in_force


def _named(names: Iterable[object]) -> str:
    return ", ".join(map(repr, names))[:200]


def require_waves(policy: Policy, start: Candidate, *, planned: int | None, unit: Unit) -> None:
    """Refuse what does not suit the space, and say what very many candidates cost.

    Tail, schedule and correction are checked first, then the proposer, then the selection.
    """
    require_tail(policy.tail, policy.space, start)
    require_course(policy.course, policy.space, start)
    require_correction(policy.then, policy.space)
    _, most = policy.proposer.waves(policy.space, start)
    if planned is None and not isinstance(policy.try_for, int):
        return  # a share of a run is looked at once that is known
    try_for = policy.try_epochs(planned)
    policy.stages(most[0], try_for)  # refuses a selection that does not suit

    if sum(most) > MANY_TRIES:
        epochs = epochs_of_tries(policy.selection, most, try_for)
        every = policy.adapt_every
        advise(
            f"a round tries up to {sum(most):,} candidates: {epochs:,} {unit} in tries"
            + ("" if every is None else f" for {every:,} of the main line")
            + "; thin out the axes of the space, or use OneAxis, Neighbors or Interpolation. "
            "plan_for(...) has the cost of the whole run"
        )


def require_sendable(policy: Policy, executor: Executor) -> None:
    """Refuse a criterion that cannot be sent to workers, if they judge the epochs of a try."""
    from dynhp.executors.contract import SendsJobs  # loads the engine

    inside = policy.start_from == "best" and policy.try_for != 1 and not policy.restarts
    if inside and isinstance(executor, SendsJobs):
        executor.require_sendable(
            "with start_from='best' and tries of several epochs the criterion", policy.criterion
        )


def longest_run(epochs: object, at_most: object, until: object) -> object:
    """The most epochs of a run that ``until`` ends; refused if they are given in another way.

    >>> longest_run(None, 500, lambda line: line.epoch >= 7)
    500
    """
    if until is None:
        raise SettingsError(
            f"at_most={shown(at_most)} is the limit of a run that ends by itself; say when with "
            "until=Settled('val_loss'), or give its length without at_most="
        )
    if epochs is not None or at_most is None:
        raise SettingsError(
            f"a run with until={shown(until)} has no planned length, but needs a limit: give "
            f"at_most=500 alone, got epochs={shown(epochs)} and at_most={shown(at_most)}"
        )
    return at_most


def require_total(epochs: object, done: int) -> int:
    """The total epochs of a main line, and a hint if it has them already."""
    total = require_count("epochs", epochs)
    if done >= total:
        advise(
            f"run({total}) trains until the main line has {total} epochs in all, and it has {done} "
            "already, so nothing is trained; add them, as in run(adapter.epoch + 10)"
        )
    return total


def hint_at_length(policy: Policy, before: int | None, now: int | None) -> None:
    """Give a hint if a run that has a schedule becomes longer or shorter than it was planned."""
    if policy.course is not None and before is not None and now != before:
        advise(
            f"course={shown(policy.course)} was that of a run of {before}, and from now on it is "
            f"that of a run of {now}: the values jump to where such a run would be. Say the whole "
            "length from the start",
            about=object(),  # each run is another
        )


def hint_at_edges(space: Space, rounds: Sequence[Round]) -> None:
    """Give a hint if the best value of the last two rounds is the last one of its axis."""
    if len(rounds) < 2 or not space.edges:
        return
    before, last = rounds[-2], rounds[-1]
    for name, edges in space.edges.items():
        value = last.candidate[name]
        if value not in edges or before.candidate[name] != value or value == 0:
            continue  # zero is where many values end by nature
        tried = {try_.candidate[name] for try_ in last.tries}
        if len(tried) > 1:
            word = "largest" if value == edges[1] else "smallest"
            advise(
                f"{name} was best at its {word} value {value!r} in rounds {before.index} and "
                f"{last.index}: widen its axis on that side",
                about=(name, value, word),
            )
