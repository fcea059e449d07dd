"""The adapter's settings, checked when it is made: what cannot work is refused at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from dynhp._checks import (
    is_number,
    require_count,
    require_functions,
    require_instance,
    require_number,
    require_seed,
    require_trainer,
    require_word,
)
from dynhp.advice import kind_of
from dynhp.criteria import Criterion
from dynhp.criteria.contract import metrics_of, require_criterion
from dynhp.errors import ContractError, MetricError, SettingsError, advise, nearest, shown
from dynhp.main_line.settings import longest_round, require_when
from dynhp.main_line.snapshots import Snapshots
from dynhp.proposers import Proposer
from dynhp.records import Candidate, History, Round, Value
from dynhp.rounds.jobs import Executor
from dynhp.rounds.read_back import read_metrics, same_value
from dynhp.selection import Selection
from dynhp.spaces import Space
from dynhp.tails import Correction, Tail
from dynhp.tails.lengths import try_epochs
from dynhp.trainer import ReadsBack, Reseeds, Trainer
from dynhp.triggers import Trigger
from dynhp.triggers.contract import looks_at

__all__ = ["AdapterView", "hint_at_edges", "require_settings", "require_total", "round_lengths"]
__all__ += ["starting_point"]


class AdapterView(Protocol):
    """What checks and saved states look at: an adapter's settings, and how far it is."""

    trainer: Trainer
    space: Space
    criterion: Criterion
    adapt_every: int | None
    try_for: float
    tail: Tail | None
    then: Correction | None
    when: Trigger
    start_from: Any
    snapshots: Snapshots
    max_rounds: int | None
    max_rescues: int
    record_every: int | None
    proposer: Proposer
    selection: Selection
    executor: Executor
    keep: Any
    randomness: Any
    epochs: int | None
    seed: int
    described: dict[str, str]
    callbacks: Any
    check: Any
    tolerance: float
    dry_run: bool

    @property
    def check_is_due(self) -> bool:
        """Whether the next round carries out one try once more, to compare."""
        ...

    @property
    def current(self) -> Candidate:
        """The value in force."""
        ...

    @property
    def history(self) -> History:
        """The rounds so far."""
        ...

    @property
    def epoch(self) -> int:
        """The epochs of the main line so far."""
        ...


def require_settings(adapter: AdapterView) -> None:
    """Refuse what cannot work before anything is trained."""
    require_functions("callbacks", adapter.callbacks, "functions of an event")
    require_trainer(adapter.trainer)
    require_criterion(adapter.criterion)
    require_when(adapter)
    if adapter.epochs is not None:
        adapter.epochs = require_count("epochs", adapter.epochs)
    require_instance("proposer", adapter.proposer, Proposer, "a Proposer such as FullGrid()")
    require_instance("selection", adapter.selection, Selection, "a Selection such as Best()")
    require_instance("executor", adapter.executor, Executor, "an Executor such as Serial()")
    require_word("keep", adapter.keep, ("winner", "value"))
    require_word("randomness", adapter.randomness, ("common", "independent"))
    adapter.seed = require_seed("seed", adapter.seed)
    require_word("check", adapter.check, ("first", "every", "off"))
    require_number("tolerance", adapter.tolerance, "be a number from 0 on", _from_0_on)
    require_word("dry_run", adapter.dry_run, (True, False))
    _require_randomness(adapter)
    _require_metrics(adapter)


def _from_0_on(number: float) -> bool:
    return 0 <= number < math.inf


def _require_randomness(adapter: AdapterView) -> None:
    needed = getattr(adapter.proposer, "randomness", adapter.randomness)
    if needed != adapter.randomness:
        raise SettingsError(
            f"{shown(adapter.proposer)} makes sense only with randomness={shown(needed)}, "
            f"got {shown(adapter.randomness)}; leave the argument out"
        )
    if adapter.randomness == "independent" and not isinstance(adapter.trainer, Reseeds):
        raise SettingsError(
            "randomness='independent' needs a trainer with reseed(seed), "
            f"got {shown(adapter.trainer)}; add that method or use randomness='common'"
        )


def _require_metrics(adapter: AdapterView) -> None:
    known = read_metrics(adapter.trainer)
    for name in (*metrics_of(adapter.criterion), *looks_at(adapter.when)):
        # A trainer that measures nothing before it has trained is checked at its first try.
        if known and name not in known:
            raise MetricError(f"there is no metric {shown(name)}{nearest(name, known)}")


def starting_point(
    space: Space, trainer: Trainer, initial: Mapping[str, Value] | None
) -> tuple[Space, Candidate]:
    """The value in force at the start: as given, as the trainer says, or the space's middle.

    What the trainer says need not be on the grid: then it joins the space, which is given back.
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
            advise(f"{name} starts at {shown(values[name])}, which joins the candidates")
    if all(len(axis.grid()) == 1 for axis in joined.values()):
        advise(f"{', '.join(joined)}: with one value there is nothing to choose; list several")
    return joined, joined.candidate(values)


def _require_rates(space: Space, kinds: Mapping[str, str]) -> None:
    """Refuse learning rates that are below zero or no numbers, and say what zero means."""
    for name, axis in space.items():
        bound = name in kinds and kind_of(kinds[name]) == "learning_rate"
        if not bound and kind_of(name) != "learning_rate" and name != "eta":
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


def hint_at_edges(space: Space, rounds: Sequence[Round]) -> None:
    """Say it where the best value of the last two rounds is the last one of its axis."""
    if len(rounds) < 2 or not space.edges:
        return
    before, now = rounds[-2].candidate, rounds[-1].candidate
    for name, edges in space.edges.items():
        value = now[name]
        if value not in edges or before[name] != value or value == 0:
            continue  # zero is where many values end by nature
        if len({try_.candidate[name] for try_ in rounds[-1].tries}) > 1:
            word = "largest" if value == edges[1] else "smallest"
            advise(
                f"{name} was best at its {word} value {value!r} in rounds {rounds[-2].index} and "
                f"{rounds[-1].index}: widen its axis on that side",
                about=(name, value, word),
            )


def _in_force(space: Space, trainer: Trainer) -> Mapping[str, Value]:
    """What the trainer says is in force; that it knows no name of the space is a mistake."""
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


def require_total(epochs: object, done: int) -> int:
    """The epochs a main line shall have in all, and a hint where it has them already."""
    total = require_count("epochs", epochs)
    if done >= total:
        advise(
            f"run({total}) trains until the main line has {total} epochs in all, and it has {done} "
            "already, so nothing is trained; add them, as in run(adapter.epoch + 10)"
        )
    return total


def round_lengths(adapter: AdapterView, *, tries: bool = True) -> tuple[int, int]:
    """The epochs of a round that starts now and of its tries; the last round may be shorter."""
    beta = try_epochs(adapter) if tries else 0
    longest = max(longest_round(adapter), beta)
    left = longest if adapter.epochs is None else adapter.epochs - adapter.epoch
    if left < 1:
        raise SettingsError(
            f"the main line has its {adapter.epochs} planned epochs; call run(n) with a larger n"
        )
    alpha = min(longest, left)
    return alpha, min(beta, alpha)
