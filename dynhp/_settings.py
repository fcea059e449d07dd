"""The adapter's settings: checked when it is made, compared when a saved state is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynhp.attempt import read_metrics
from dynhp.criteria import metrics_of, require_criterion
from dynhp.errors import MetricError, SettingsError, nearest
from dynhp.executors import Executor
from dynhp.plain import history_from_plain
from dynhp.proposers import Proposer, require_count
from dynhp.records import Candidate, History, Value
from dynhp.selection import Selection
from dynhp.space import Space
from dynhp.trainer import ReadsBack, Reseeds, Trainer, require_trainer

if TYPE_CHECKING:
    from dynhp.adapter import DynamicGridAdapter


STATE_VERSION = 1


def require_settings(adapter: DynamicGridAdapter) -> None:
    """Refuse what cannot work before anything is trained."""
    require_trainer(adapter.trainer)
    require_criterion(adapter.criterion)
    require_count("adapt_every", adapter.adapt_every)
    require_count("try_for", adapter.try_for)
    if adapter.try_for > adapter.adapt_every:
        raise SettingsError(
            "try_for must be at most adapt_every, "
            f"got try_for={adapter.try_for!r}, adapt_every={adapter.adapt_every!r}"
        )
    if adapter.epochs is not None:
        require_count("epochs", adapter.epochs)
    _require_part("proposer", adapter.proposer, Proposer, "FullGrid()")
    _require_part("selection", adapter.selection, Selection, "Best()")
    _require_part("executor", adapter.executor, Executor, "Serial()")
    _require_word("keep", adapter.keep, ("winner", "value"))
    _require_word("randomness", adapter.randomness, ("common", "independent"))
    _require_randomness(adapter)
    for callback in adapter.callbacks:
        if not callable(callback):
            raise SettingsError(f"a callback must be a function of an event, got {callback!r}")
    _require_metrics(adapter)


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
    in_force = trainer.hyperparameters() if isinstance(trainer, ReadsBack) else {}
    start = space.start()
    found = {
        name: in_force[name] if in_force.get(name) in axis.grid() else start[name]
        for name, axis in space.items()
    }
    return space.candidate(found)


def lengths_of(adapter: DynamicGridAdapter) -> tuple[int, int]:
    """The epochs of the next round and of its tries; the last round may be shorter."""
    left = adapter.adapt_every if adapter.epochs is None else adapter.epochs - adapter.epoch
    if left < 1:
        raise SettingsError(
            f"the main line has its {adapter.epochs} planned epochs; call run(n) with a larger n"
        )
    alpha = min(adapter.adapt_every, left)
    return alpha, min(adapter.try_for, alpha)


def settings_of(adapter: DynamicGridAdapter) -> dict[str, str]:
    """The settings that decide the answer, as text to compare; the executor is not among them."""
    parts: dict[str, Any] = {
        "space": adapter.space,
        "criterion": adapter.criterion,
        "adapt_every": adapter.adapt_every,
        "try_for": adapter.try_for,
        "proposer": adapter.proposer,
        "selection": adapter.selection,
        "keep": adapter.keep,
        "randomness": adapter.randomness,
    }
    return {name: _text(part) for name, part in parts.items()}


def _text(part: object) -> str:
    # A function's repr has its address, which differs from process to process: use its name.
    name = getattr(part, "__qualname__", None)
    return f"{getattr(part, '__module__', '?')}.{name}" if name else repr(part)


def require_same(ours: Mapping[str, str], theirs: Mapping[str, str]) -> None:
    """Refuse a saved state that was made with other settings, and show the difference."""
    other = [
        f"{name}: saved {theirs.get(name)}, here {value}"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]
    if other:
        raise SettingsError(
            "this state was saved with other settings; make the adapter with the same ones. "
            + "; ".join(other)
        )


def parse_state(
    adapter: DynamicGridAdapter, state: Mapping[str, Any]
) -> tuple[History, Candidate, dict[str, Any]]:
    """Read a saved state whole before any of it is used, or say what is wrong with it."""
    if not isinstance(state, Mapping) or state.get("version") != STATE_VERSION:
        raise SettingsError(
            f"not a state of version {STATE_VERSION} of this adapter, got {str(state)[:80]!r}"
        )
    try:
        require_same(settings_of(adapter), state["settings"])
        history = history_from_plain(state["history"])
        current = adapter.space.candidate(state["current"])
        probe = np.random.default_rng()
        probe.bit_generator.state = state["generator"]
    except SettingsError:
        raise
    except Exception as damage:
        raise SettingsError(
            f"the saved state is damaged ({type(damage).__name__}: {damage}); use another one"
        ) from damage
    return history, current, dict(state["generator"])
