"""A saved state of a run: read as a whole and compared before any of it is used."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dynhp._checks import is_whole, require_count
from dynhp.engine.memory import Held, Memory
from dynhp.errors import SettingsError, shown
from dynhp.policy import Policy
from dynhp.records import Candidate, History, Value
from dynhp.records.plain import history_from_plain, history_to_plain
from dynhp.spaces import Space
from dynhp.texts import same_settings
from dynhp.trainer import State

if TYPE_CHECKING:
    from dynhp.drivers import StateTable

__all__ = ["SavedState", "held_states", "memory_of", "parse_state", "policy_text", "state_of"]
__all__ += ["values_left"]

STATE_VERSION = 2
# Written in any case, in this order.
_ALWAYS: tuple[str, ...] = ("space", "criterion", "adapt_every", "try_for", "proposer")
_ALWAYS += ("selection", "keep", "randomness", "seed", "initial")
_NOT_COMPARED = ("check", "tolerance")  # they decide what is proved, not what comes out
# All other fields are written only if they differ from their defaults.
_SELDOM: dict[str, Any] = {
    each.name: None if each.default is MISSING else each.default
    for each in fields(Policy)
    if each.init and each.name not in (*_ALWAYS, *_NOT_COMPARED)
}
_MAY_CHANGE = {each.name for each in fields(Policy) if each.metadata.get("may_change")}


def policy_text(policy: Policy) -> dict[str, str]:
    """The settings that decide the result, by name and as text to compare and to show."""
    parts: dict[str, Any] = {name: getattr(policy, name) for name in _ALWAYS}
    parts["space"] = policy.space.given
    parts["initial"] = dict(policy.initial or {})
    seldom: dict[str, Any] = {name: getattr(policy, name) for name in _SELDOM}
    if policy.adapt_every is not None:
        seldom["when"] = None  # adapt_every says it already
    if policy.start_from != "before":
        seldom["snapshots"] = None  # not used
    parts |= {name: part for name, part in seldom.items() if part != _SELDOM[name]}
    return {name: _text(part) for name, part in parts.items()}


def _text(part: object) -> str:
    # The repr of a function, or of an object that holds one, has an address, which differs.
    name = getattr(part, "__qualname__", None)
    text = f"{getattr(part, '__module__', '?')}.{name}" if name else repr(part)
    if type(part).__repr__ is object.__repr__:  # which has only the address
        # A name that begins with an underscore may be a cache or a counter, which changes in a run.
        plain = (bool, int, float, str, tuple, type(None))
        public = {
            name: value
            for name, value in sorted(getattr(part, "__dict__", {}).items())
            if name[0] != "_" and isinstance(value, plain)
        }
        text += f" with {public}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def state_of(
    policy: Policy, memory: Memory, epochs: int | None, table: StateTable, *, since: int = 0
) -> dict[str, Any]:
    """All that decides the run's own future, as plain data; with the rounds from ``since`` on.

    The states that later rounds may start from are in it unchanged; the trainer's own is not.
    """
    return {
        "version": STATE_VERSION,
        "settings": policy_text(policy),
        "epochs": epochs,
        "current": dict(memory.current),
        "generator": dict(memory.generator),
        "history": history_to_plain(History(memory.rounds[since:])),
        "held": held_states(memory.held, table),
    }


def held_states(held: Sequence[Held], table: StateTable) -> list[dict[str, Any]]:
    """The states that are held, with their scores."""
    return [
        {
            "epoch": each.epoch,
            "score": each.score if math.isfinite(each.score) else None,
            "state": table.get(each.ref),
        }
        for each in held
    ]


class SavedHeld(NamedTuple):
    """A state that was held."""

    epoch: int
    score: float
    state: State

    def adopted(self, table: StateTable) -> Held:
        """Hold it again."""
        ref = table.adopt(self.state)
        table.hold(ref)
        return Held(self.epoch, self.score, ref)


class SavedState(NamedTuple):
    """A saved state, read and checked."""

    history: History
    current: Candidate
    generator: dict[str, Any]
    epochs: int | None
    held: tuple[SavedHeld, ...]

    @property
    def start(self) -> Candidate:
        """The value in force before the first round."""
        return self.history[0].previous if self.history else self.current


def values_left(state: Any, moving: Mapping[str, Value] = MappingProxyType({})) -> list[Any]:
    """The values that may be in force where this state was saved, if it is one.

    Under a course they are those of the last epoch, not the height that the state has. Where it was
    saved within an epoch they may be any: ``moving`` has those that a course moves, as they are.
    """
    if not isinstance(state, Mapping) or "current" not in state:
        return []
    current = state["current"]
    try:
        scheduled = state["history"][-1].get("scheduled", {})
        last = {name: along[-1] for name, along in scheduled.items()}
        return [current, {**current, **last}, {**current, **moving}]
    except (LookupError, TypeError, AttributeError):
        return [current]


def memory_of(saved: SavedState, held: Sequence[Held] = ()) -> Memory:
    """The memory that a saved state stands for."""
    return Memory.of(saved.history, current=saved.current, generator=saved.generator, held=held)


def parse_state(policy: Policy, state: Any, *, compare_start: bool) -> SavedState:
    """Read a whole saved state before any of it is used, or say what is wrong with it.

    The value at the start is not always compared: if it was the trainer's own, the trainer may have
    another one now.
    """
    if not isinstance(state, Mapping) or state.get("version") != STATE_VERSION:
        raise SettingsError(
            f"not a state of version {STATE_VERSION} of this adapter, got {shown(str(state)[:80])}"
        )
    settings = policy_text(policy)
    if not compare_start:
        del settings["initial"]
    _require_same(settings, state.get("settings"))
    try:
        history = history_from_plain(_list("history", state["history"]))
        start = history[0].previous if history else state["current"]
        space = policy.space.given.including(start)
        saved = SavedState(
            history,
            space.candidate(state["current"]),
            dict(state["generator"]),
            state["epochs"],
            parse_held(state["held"]),
        )
        _require_whole(space, saved)
    except Exception as damage:
        raise SettingsError(
            f"the saved state is damaged ({type(damage).__name__}: {damage}); use another one"
        ) from damage
    return saved


def parse_held(plain: Any) -> tuple[SavedHeld, ...]:
    """Read the states that were held; refuse what no run has held."""
    held = []
    for each in _list("held", plain):
        if not is_whole(each["epoch"], least=0):
            raise ValueError("no state was ever held like this")
        score = -math.inf if each["score"] is None else float(each["score"])
        held.append(SavedHeld(each["epoch"], score, each["state"]))
    return tuple(held)


def _require_same(settings: dict[str, str], saved: Any) -> None:
    """Refuse a saved state that was made with other settings, and show the difference."""
    saved = saved if isinstance(saved, Mapping) else {}
    usual = {name: repr(value) for name, value in _SELDOM.items()}
    differences = [
        f"{name}: saved {before}, here {value}"
        for name, value in (usual | settings).items()
        if name not in _MAY_CHANGE
        and not same_settings(value, before := saved.get(name, usual.get(name)))
    ]
    if differences:
        raise SettingsError(
            "this state was saved with other settings; make the adapter with the same ones. "
            + "; ".join(differences)
        )


def _list(what: str, plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise TypeError(f"{what} must be a list, got {shown(plain)}")
    return plain


def _require_whole(space: Space, saved: SavedState) -> None:
    """Refuse rounds that do not follow each other, or a state that fits no generator."""
    generator = np.random.default_rng(0).bit_generator
    generator.state = saved.generator
    if generator.state != saved.generator:  # numpy 1 takes numbers that do not fit
        raise ValueError("the generator was never in this state")
    if saved.epochs is not None:
        require_count("epochs", saved.epochs)
    start = 0
    for index, round_ in enumerate(saved.history):
        back = round_.abandoned
        if (round_.index, round_.start) != (index, start - back) or not round_.epochs >= 0 <= back:
            raise ValueError(f"round {index} does not follow on the epochs before it")
        if not 0 <= round_.chosen < len(round_.tries) and (round_.tries or round_.chosen != -1):
            raise ValueError(f"round {index} chose try {round_.chosen} of {len(round_.tries)}")
        after = () if round_.corrected is None else (round_.corrected,)
        if not all(map(space.admits, (*(try_.candidate for try_ in round_.tries), *after))):
            raise ValueError(f"round {index} has a candidate that is not in {shown(space)}")
        start += round_.epochs - back
    if saved.history and saved.history[-1].candidate != saved.current:
        raise ValueError(f"the last round chose another value than {shown(saved.current)}")
