"""A saved state of the adapter: read whole and compared before any of it is used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dynhp._checks import is_whole, require_count
from dynhp.errors import SettingsError, shown
from dynhp.records import Candidate, History
from dynhp.rounds.plain import history_from_plain, history_to_plain
from dynhp.rounds.read_back import same_value
from dynhp.rounds.settings import AdapterView
from dynhp.rounds.texts import same_settings
from dynhp.spaces import Space
from dynhp.trainer import ReadsBack

__all__ = ["SavedState", "parse_state", "state_of"]

STATE_VERSION = 1
# Settings that are written only where they are another.
_SELDOM: dict[str, Any] = {"dry_run": False, "when": None, "start_from": "here"}
_SELDOM |= {"snapshots": None, "max_rounds": None, "max_rescues": 0, "record_every": None}
_SELDOM |= {"tail": None, "then": None}


def state_of(
    adapter: AdapterView, rng: np.random.Generator, main_line: Mapping[str, Any], *, since: int
) -> dict[str, Any]:
    """All that decides the adapter's own future, as plain data; rounds from ``since`` on."""
    history = adapter.history
    return {
        "version": STATE_VERSION,
        "settings": settings_of(adapter, history),
        "epochs": adapter.epochs,
        "current": dict(adapter.current),
        "generator": rng.bit_generator.state,
        "history": history_to_plain(History(history[since:])),
        **({"main_line": dict(main_line)} if main_line else {}),
    }


def settings_of(adapter: AdapterView, history: History) -> dict[str, str]:
    """The settings that decide the answer, as text to compare; the executor is not among them."""
    parts: dict[str, Any] = {
        "space": adapter.space.given,
        "criterion": adapter.criterion,
        "adapt_every": adapter.adapt_every,
        "try_for": adapter.try_for,
        "proposer": adapter.proposer,
        "selection": adapter.selection,
        "keep": adapter.keep,
        "randomness": adapter.randomness,
        "seed": adapter.seed,
        "initial": dict(history[0].previous if history else adapter.current),
    }
    seldom: dict[str, Any] = {name: getattr(adapter, name) for name in _SELDOM}
    if adapter.adapt_every is not None:
        seldom["when"] = None  # said already
    if adapter.start_from != "before":
        seldom["snapshots"] = None  # not used
    parts |= {name: part for name, part in seldom.items() if part != _SELDOM[name]}
    return {name: _text(part) for name, part in parts.items()}


def _text(part: object) -> str:
    # The repr of a function, or of what holds one, has its address: another in each process.
    name = getattr(part, "__qualname__", None)
    text = f"{getattr(part, '__module__', '?')}.{name}" if name else repr(part)
    if type(part).__repr__ is object.__repr__:  # which has only the address
        text += f" with {_public(part)}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _public(part: object) -> dict[str, Any]:
    # What begins with an underscore may be a cache or a counter, which changes as the run goes.
    plain = (bool, int, float, str, tuple, type(None))
    items = sorted(getattr(part, "__dict__", {}).items())
    return {name: value for name, value in items if name[0] != "_" and isinstance(value, plain)}


def _require_same(settings: dict[str, str], saved: Any) -> None:
    """Refuse a saved state that was made with other settings, and show the difference."""
    saved = saved if isinstance(saved, Mapping) else {}
    usual = {name: repr(value) for name, value in _SELDOM.items()}
    differences = [
        f"{name}: saved {before}, here {value}"
        for name, value in (usual | settings).items()
        if not same_settings(value, before := saved.get(name, usual.get(name)))
    ]
    if differences:
        raise SettingsError(
            "this state was saved with other settings; make the adapter with the same ones. "
            + "; ".join(differences)
        )


class SavedState(NamedTuple):
    """A saved state, read and checked."""

    history: History
    current: Candidate
    generator: dict[str, Any]
    epochs: int | None
    main_line: dict[str, Any]

    @property
    def start(self) -> Candidate:
        """The value in force before the first round."""
        return self.history[0].previous if self.history else self.current


def parse_state(adapter: AdapterView, state: Mapping[str, Any]) -> SavedState:
    """Read a saved state whole before any of it is used, or say what is wrong with it."""
    if not isinstance(state, Mapping) or state.get("version") != STATE_VERSION:
        raise SettingsError(
            f"not a state of version {STATE_VERSION} of this adapter, got {shown(str(state)[:80])}"
        )
    settings = settings_of(adapter, adapter.history)
    # A start that joined the space is the trainer's value, which may be that of another moment.
    if adapter.space is not adapter.space.given or _is_restored(adapter, state.get("current")):
        del settings["initial"]
    _require_same(settings, state.get("settings"))
    try:
        history = history_from_plain(_list(state["history"]))
        start = history[0].previous if history else state["current"]
        space = adapter.space.given.including(start)
        saved = SavedState(
            history,
            space.candidate(state["current"]),
            dict(state["generator"]),
            state["epochs"],
            dict(state.get("main_line", ())),
        )
        _require_whole(space, saved)
    except Exception as damage:
        raise SettingsError(
            f"the saved state is damaged ({type(damage).__name__}: {damage}); use another one"
        ) from damage
    return saved


def _is_restored(adapter: AdapterView, current: Any) -> bool:
    """Whether a new adapter was made around a trainer that is in the saved state already.

    Then its value at the start, which it read from the trainer, is that of the saved run.
    """
    trainer, start = adapter.trainer, adapter.current
    if adapter.history or start != current or not isinstance(trainer, ReadsBack):
        return False
    in_force = trainer.hyperparameters()
    return all(name in in_force and same_value(in_force[name], start[name]) for name in start)


def _list(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise TypeError(f"history must be a list, got {shown(plain)}")
    return plain


def _require_main_line(saved: SavedState) -> None:
    """Refuse states that are held, or a way back, that no run has left."""
    back = saved.main_line.get("back")
    held = (*saved.main_line.get("held", ()), *saved.main_line.get("growing", ()))
    for each in (*held, *(() if back is None else (back,))):
        needed = "because" if each is back else "state"
        if not is_whole(each["epoch"], least=0) or needed not in each:
            raise ValueError("the main line was never held, or put back, like this")


def _require_whole(space: Space, saved: SavedState) -> None:
    """Refuse rounds that do not follow each other, or a state that fits no generator."""
    _require_main_line(saved)
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
