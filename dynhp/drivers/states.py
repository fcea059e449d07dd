"""The states of one trainer by name; a state is copied only when the trainer leaves it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dynhp.engine.memory import StateRef
from dynhp.errors import StateLost
from dynhp.executors.attempt import Restorable, put_back, reseed
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.snapshots import StateStore
from dynhp.trainer import State

__all__ = ["StateTable"]


class StateTable:
    """Knows which state the trainer is in, and has copies of the others that may be needed.

    ``store`` keeps the states that later rounds may start from, in memory or on disk.

    >>> from dynhp.snapshots import InMemory
    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> table = StateTable(trainer, InMemory())
    >>> start = table.snapshot()
    >>> table.leave(); trainer.train_k(1, {"lr": 0.5})
    >>> table.restore(start); trainer.get_state()
    1.0
    """

    def __init__(self, trainer: Restorable, store: StateStore) -> None:
        self.here: StateRef | None = None  # the name of the state that the trainer is in
        self._trainer = trainer
        self._store = store
        self._states: dict[StateRef, State] = {}  # copies in memory
        self._stored: dict[StateRef, Any] = {}  # the keys of states that are in the store
        self._wanted: set[StateRef] = set()  # the states that may be needed, copied or not
        self._entry: StateRef | None = None  # where the round under way began
        self._last = 0  # the number of the newest name

    def __len__(self) -> int:
        return len(self._states.keys() | self._stored.keys())

    def new_name(self) -> StateRef:
        """A name that no state has had before."""
        self._last += 1
        return StateRef(self._last)

    def snapshot(self) -> StateRef:
        """Name the state that the trainer is in; it is copied when the trainer leaves it."""
        if self.here is None:
            self.here = self.new_name()
        self._wanted.add(self.here)
        return self.here

    def begin_round(self) -> None:
        """Remember the state that the trainer is in until the round has ended."""
        self._entry = self.snapshot()

    def start_from(self, ref: StateRef) -> None:
        """The round starts from another state, which is remembered instead of the first one.

        The first one is left without a copy: a trainer that broke may have none to give.
        """
        self.get(ref)  # in memory, because undoing a round must not depend on a file
        before = self._entry
        self._entry = ref
        if before is not None and before not in self._stored:
            self.drop(before)
        self.restore(ref)

    def end_round(self, needed: Collection[StateRef]) -> None:
        """Forget all states except these, in memory and in the store."""
        self._entry = None
        if not needed and not self._stored:  # as in most runs
            self._wanted.clear()
            self._states.clear()
            return
        self._wanted.intersection_update(needed)
        self._states = {
            ref: state
            for ref, state in self._states.items()
            if ref in self._wanted and ref not in self._stored
        }
        self._forget_stored(set(self._stored).difference(needed))

    def undo_round(self, needed: Collection[StateRef], failure: BaseException) -> None:
        """Bring the trainer back to where the round began, whatever has happened to it."""
        entry = self._entry
        if entry is not None and entry != self.here:
            if entry not in self._states:
                raise StateLost(
                    "the state in which the round began was never copied; make the trainer anew, "
                    "or go on from a checkpoint"
                ) from failure
            self.here = None
            put_back(self._trainer, self._states[entry], failure)
            self.here = entry
        self.end_round(needed)

    def leave(self) -> None:
        """The trainer is about to change: its state is copied if it may be needed."""
        here = self.here
        if here in self._wanted and (here == self._entry or here not in self._stored):
            self.get(here)  # copies it
        self.here = None
        for ref in [each for each in self._states if each not in self._wanted]:
            del self._states[ref]

    def get(self, ref: StateRef) -> State:
        """The state itself, taken from the trainer or from the store if it is only there."""
        if ref not in self._states:
            if ref in self._stored:
                self._states[ref] = self._store.get(self._stored[ref])
            elif ref == self.here:
                self._states[ref] = self._trainer.get_state()
            else:
                raise KeyError(f"{ref} is not held")
        return self._states[ref]

    def here_state(self) -> State:
        """The state that the trainer is in, if there is a copy of it."""
        return UNKNOWN_STATE if self.here is None else self._states.get(self.here, UNKNOWN_STATE)

    def adopt(self, state: State) -> StateRef:
        """Take in a state that an earlier process had, and keep it."""
        ref = self.new_name()
        self._states[ref] = state
        self._wanted.add(ref)
        return ref

    def put(self, ref: StateRef, state: State) -> None:
        """Take in a state that comes from elsewhere; it is forgotten unless it is kept."""
        self._states[ref] = state

    def keep(self, ref: StateRef) -> None:
        """This state may be needed."""
        self._wanted.add(ref)

    def hold(self, ref: StateRef) -> None:
        """Keep a state in the store, for later rounds to start from."""
        self._wanted.add(ref)
        if ref in self._stored:
            return
        if ref in self._states or ref == self._entry:
            state = self.get(ref)
        else:  # the trainer is in it; only the store needs a copy
            state = self._trainer.get_state()
        self._stored[ref] = self._store.put(state)

    def drop(self, ref: StateRef) -> None:
        """Forget a state; the one in which the round began stays until the round has ended."""
        if ref != self._entry:
            self._wanted.discard(ref)
            self._states.pop(ref, None)
        if ref in self._stored:
            self._forget_stored({ref})

    def restore(self, ref: StateRef, seed: int | None = None) -> None:
        """Bring the trainer to a state, if it is not there already, and seed its generators."""
        if ref != self.here:
            state = self.get(ref)
            self.leave()
            self._trainer.set_state(state)
        self.here = ref
        if seed is not None:
            self.leave()
            reseed(self._trainer, seed)

    def _forget_stored(self, refs: Collection[StateRef]) -> None:
        for ref in refs:
            del self._stored[ref]
        if refs:
            self._store.keep_only(list(self._stored.values()))
