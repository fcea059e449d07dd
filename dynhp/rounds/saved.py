"""A saved state of the adapter: read whole and compared before any of it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dynhp._checks import require_count
from dynhp.errors import SettingsError
from dynhp.records import Candidate, History
from dynhp.rounds.plain import history_from_plain
from dynhp.rounds.read_back import same_value
from dynhp.spaces import Space
from dynhp.trainer import ReadsBack

if TYPE_CHECKING:
    from dynhp.adapter import DynamicGridAdapter


STATE_VERSION = 1


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
        "seed": seed_of(adapter),
        "initial": dict(initial_of(adapter)),
    }
    return {name: _text(part) for name, part in parts.items()}


def seed_of(adapter: DynamicGridAdapter) -> Any:
    """The seed that the adapter was made with, which its generator remembers all its life."""
    sequence: Any = adapter._rng.bit_generator.seed_seq
    return sequence.entropy


def initial_of(adapter: DynamicGridAdapter) -> Candidate:
    """The value that was in force before the first round."""
    history = adapter.history
    return history[0].previous if history else adapter.current


def _text(part: object) -> str:
    # The repr of a function, or of what holds one, has its address: other in every process.
    name = getattr(part, "__qualname__", None)
    text = f"{getattr(part, '__module__', '?')}.{name}" if name else repr(part)
    if type(part).__repr__ is object.__repr__:  # which tells nothing but the address
        text += f" with {_public(part)}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _public(part: object) -> dict[str, Any]:
    # What begins with an underscore may be a cache or a counter, which changes as the run goes.
    plain = (bool, int, float, str, tuple, type(None))
    found = sorted(getattr(part, "__dict__", {}).items())
    return {name: value for name, value in found if name[0] != "_" and isinstance(value, plain)}


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
    ours = settings_of(adapter)
    if _is_restored(adapter, state.get("current")):
        del ours["initial"]
    require_same(ours, state.get("settings"))
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


def _is_restored(adapter: DynamicGridAdapter, current: Any) -> bool:
    """Whether a new adapter was made around a trainer that is in the saved state already.

    Then its value at the start, which the trainer has told, is where the saved run was going on.
    """
    trainer, start = adapter.trainer, adapter.current
    if adapter.history or start != current or not isinstance(trainer, ReadsBack):
        return False
    found = trainer.hyperparameters()
    return all(name in found and same_value(found[name], start[name]) for name in start)


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
