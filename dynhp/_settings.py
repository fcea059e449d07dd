"""The adapter's settings: checked when it is made, compared when a saved state is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
    from dynhp.adapter import Callback, DynamicGridAdapter


STATE_VERSION = 1


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
    in_force = trainer.hyperparameters() if isinstance(trainer, ReadsBack) else {}
    start = space.start()
    found = {
        name: in_force[name] if name in in_force and in_force[name] in axis.grid() else start[name]
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
    # The repr of a function, or of what holds one, has its address: other in every process.
    name = getattr(part, "__qualname__", None)
    text = f"{getattr(part, '__module__', '?')}.{name}" if name else repr(part)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def require_same(ours: Mapping[str, str], saved: Any) -> None:
    """Refuse a saved state that was made with other settings, and show the difference."""
    theirs = saved if isinstance(saved, Mapping) else {}
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


class Saved(NamedTuple):
    """A saved state, read and found whole."""

    history: History
    current: Candidate
    generator: dict[str, Any]
    epochs: int | None


def parse_state(adapter: DynamicGridAdapter, state: Mapping[str, Any]) -> Saved:
    """Read a saved state whole before any of it is used, or say what is wrong with it."""
    if not isinstance(state, Mapping) or state.get("version") != STATE_VERSION:
        raise SettingsError(
            f"not a state of version {STATE_VERSION} of this adapter, got {str(state)[:80]!r}"
        )
    require_same(settings_of(adapter), state.get("settings"))
    try:
        saved = Saved(
            history_from_plain(_list(state["history"])),
            adapter.space.candidate(state["current"]),
            dict(state["generator"]),
            state["epochs"],
        )
        _require_whole(adapter.space, saved)
    except Exception as damage:
        raise SettingsError(
            f"the saved state is damaged ({type(damage).__name__}: {damage}); use another one"
        ) from damage
    return saved


def _list(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise TypeError(f"history must be a list, got {plain!r}")
    return plain


def _require_whole(space: Space, saved: Saved) -> None:
    """Refuse rounds that do not follow one on the other, or a generator that is none."""
    np.random.default_rng(0).bit_generator.state = saved.generator
    if saved.epochs is not None:
        require_count("epochs", saved.epochs)
    start = 0
    for index, round_ in enumerate(saved.history):
        if (round_.index, round_.start) != (index, start) or not round_.epochs >= 0:
            raise ValueError(f"round {index} does not follow on the epochs before it")
        if not 0 <= round_.chosen < len(round_.tries):
            raise ValueError(f"round {index} chose try {round_.chosen} of {len(round_.tries)}")
        if not all(space.admits(try_.candidate) for try_ in round_.tries):
            raise ValueError(f"round {index} has a candidate that is not in {space!r}")
        start += round_.epochs
    if saved.history and saved.history[-1].candidate != saved.current:
        raise ValueError(f"the last round chose another value than {saved.current!r}")
