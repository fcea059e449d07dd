"""All that decides the future of a run between two rounds, as one value that never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NewType

import numpy as np

from dynhp.records import Candidate, Round
from dynhp.records.append_only import AppendOnly
from dynhp.triggers import LineSoFar

__all__ = ["Held", "Memory", "RunGenerator", "StateRef", "first_memory"]


StateRef = NewType("StateRef", int)
"""The name of a state that a driver holds; the engine never holds a state itself."""


class Held(NamedTuple):
    """A state of the main line that a later round may start from."""

    epoch: int  # the epochs of the main line up to it
    score: float
    ref: StateRef


class RunGenerator:
    """The random generator that the rounds of one run draw from; the memory has its state.

    It is made once, and set only if its state differs, because both take long compared to a round.

    >>> generator = RunGenerator()
    >>> before = np.random.default_rng(7).bit_generator.state
    >>> first = generator.at(before).random(); after = generator.state()
    >>> generator.at(before).random() == first, generator.at(after).random() == first
    (True, False)
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng()
        self._at: Mapping[str, Any] | None = None  # its state, if nothing was drawn since

    def at(self, state: Mapping[str, Any]) -> np.random.Generator:
        """The generator in this state, to draw from."""
        if self._at is not state:
            self._rng.bit_generator.state = state
        self._at = None
        return self._rng

    def state(self) -> Mapping[str, Any]:
        """Its state now."""
        self._at = self._rng.bit_generator.state
        return self._at


class Memory(NamedTuple):
    """All that decides the future of a run between two rounds; a round replaces it whole.

    So whatever interrupts a round, the run is as it was after the round before.
    """

    rounds: AppendOnly[Round]
    tried: AppendOnly[Round]  # those of them that have tries: all that proposers look at
    epoch: int  # the epochs of the main line so far
    current: Candidate  # the values in force
    generator: Mapping[str, Any]  # the state of the run's own random generator
    held: tuple[Held, ...] = ()  # the oldest first
    checked: bool = False  # by this process: a resumed run checks itself again
    line: LineSoFar | None = None  # as triggers see it; follows from the rounds, and saves time

    @classmethod
    def of(
        cls,
        rounds: Sequence[Round],
        *,
        current: Candidate,
        generator: Mapping[str, Any],
        held: Sequence[Held] = (),
        checked: bool = False,
    ) -> Memory:
        """The memory after these rounds."""
        return cls(
            rounds=AppendOnly(rounds),
            tried=AppendOnly(round_ for round_ in rounds if round_.tries),
            epoch=rounds[-1].start + rounds[-1].epochs if rounds else 0,
            current=current,
            generator=generator,
            held=tuple(held),
            checked=checked,
        )

    def after(
        self,
        round_: Round,
        *,
        generator: Mapping[str, Any],
        checked: bool,
        held: tuple[Held, ...] = (),
    ) -> Memory:
        """The memory after one more round."""
        rounds = self.rounds.and_then([round_])
        tried = self.tried.and_then([round_]) if round_.tries else self.tried
        epoch = round_.start + round_.epochs
        return Memory(rounds, tried, epoch, round_.candidate, generator, held, checked)

    @property
    def refs(self) -> frozenset[StateRef]:
        """The names of the states that must stay."""
        return frozenset([each.ref for each in self.held])


def first_memory(start: Candidate, *, seed: int) -> Memory:
    """The memory before the first round."""
    generator = np.random.default_rng(seed)
    return Memory.of([], current=start, generator=generator.bit_generator.state)
