"""The adapter's settings, checked when it is made: what cannot work is refused at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynhp._checks import require_count
from dynhp.criteria import metrics_of, require_criterion
from dynhp.errors import ContractError, MetricError, SettingsError, nearest
from dynhp.proposers import Proposer
from dynhp.records import Candidate, Value
from dynhp.rounds.jobs import Executor
from dynhp.rounds.read_back import read_metrics, same_value
from dynhp.selection import Selection
from dynhp.spaces import Space
from dynhp.trainer import ReadsBack, Reseeds, Trainer, require_trainer

if TYPE_CHECKING:
    from dynhp.adapter import Callback, DynamicGridAdapter


def require_settings(adapter: DynamicGridAdapter) -> None:
    """Refuse what cannot work before anything is trained."""
    require_trainer(adapter.trainer)
    require_criterion(adapter.criterion)
    require_lengths(adapter.adapt_every, adapter.try_for)
    if adapter.epochs is not None:
        require_count("epochs", adapter.epochs)
    _require_part("proposer", adapter.proposer, Proposer, "FullGrid()")
    _require_part("selection", adapter.selection, Selection, "Best()")
    _require_part("executor", adapter.executor, Executor, "Serial()")
    _require_word("keep", adapter.keep, ("winner", "value"))
    _require_word("randomness", adapter.randomness, ("common", "independent"))
    _require_randomness(adapter)
    _require_metrics(adapter)


def require_lengths(adapt_every: int, try_for: int) -> None:
    """Refuse rounds and tries of no length, or tries that are longer than their round."""
    require_count("adapt_every", adapt_every)
    require_count("try_for", try_for)
    if try_for > adapt_every:
        raise SettingsError(
            "try_for must be at most adapt_every, "
            f"got try_for={try_for!r}, adapt_every={adapt_every!r}"
        )


def callbacks_of(callbacks: Any) -> tuple[Callback, ...]:
    """The callbacks, or an error where it is not a list of functions."""
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise SettingsError(f"callbacks must be a list of functions of an event, got {callbacks!r}")
    return tuple(callbacks)


def generator(seed: Any) -> np.random.Generator:
    """The adapter's own generator."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise SettingsError(f"seed must be a whole number of 0 or more, got {seed!r}")
    return np.random.default_rng(seed)


def _require_part(name: str, part: object, kind: type, example: str) -> None:
    if not isinstance(part, kind) or isinstance(part, type):
        raise SettingsError(f"{name} must be a {kind.__name__} such as {example}, got {part!r}")


def _require_word(name: str, word: object, known: Sequence[str]) -> None:
    if word not in known:
        raise SettingsError(f"{name} must be {' or '.join(map(repr, known))}, got {word!r}")


def _require_randomness(adapter: DynamicGridAdapter) -> None:
    needed = getattr(adapter.proposer, "randomness", adapter.randomness)
    if needed != adapter.randomness:
        raise SettingsError(
            f"{adapter.proposer!r} makes sense only with randomness={needed!r}, "
            f"got {adapter.randomness!r}; leave the argument out"
        )
    if adapter.randomness == "independent" and not isinstance(adapter.trainer, Reseeds):
        raise SettingsError(
            "randomness='independent' needs a trainer with reseed(seed), "
            f"got {adapter.trainer!r}; add that method or use randomness='common'"
        )


def _require_metrics(adapter: DynamicGridAdapter) -> None:
    known = read_metrics(adapter.trainer)
    for name in metrics_of(adapter.criterion):
        # A trainer that measures nothing before it has trained is checked at its first try.
        if known and name not in known:
            raise MetricError(f"there is no metric {name!r}{nearest(name, known)}")


def initial_candidate(
    space: Space, trainer: Trainer, initial: Mapping[str, Value] | None
) -> Candidate:
    """The value in force at the start: as given, as the trainer says, or the space's middle."""
    if initial is not None:
        return space.candidate(initial)
    in_force = _in_force(space, trainer)
    start = space.start()
    found = {
        name: next((value for value in axis.grid() if same_value(value, in_force[name])), middle)
        if name in in_force
        else middle
        for (name, axis), middle in zip(space.items(), start.values(), strict=True)
    }
    return space.candidate(found)


def _in_force(space: Space, trainer: Trainer) -> Mapping[str, Value]:
    """What the trainer says is in force; a read-back that knows no name of the space is a slip."""
    if not isinstance(trainer, ReadsBack):
        return {}
    found: object = trainer.hyperparameters()
    if not isinstance(found, Mapping):
        raise ContractError(f"hyperparameters() must map names to values, got {found!r}")
    if found and not set(found) & set(space):
        raise ContractError(
            f"hyperparameters() tells of {', '.join(map(repr, found))}, but "
            f"{', '.join(map(repr, space))} is adapted, so nothing could be read back; "
            "use the same names"
        )
    return found


def lengths_of(adapter: DynamicGridAdapter) -> tuple[int, int]:
    """The epochs of the next round and of its tries; the last round may be shorter."""
    left = adapter.adapt_every if adapter.epochs is None else adapter.epochs - adapter.epoch
    if left < 1:
        raise SettingsError(
            f"the main line has its {adapter.epochs} planned epochs; call run(n) with a larger n"
        )
    alpha = min(adapter.adapt_every, left)
    return alpha, min(adapter.try_for, alpha)
