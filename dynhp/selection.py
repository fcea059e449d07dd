"""Selection: which tries of a round go on, and which one is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from dynhp._checks import require_count, require_number
from dynhp.records import Candidate, Round, Try
from dynhp.records.noise import paired_noise

__all__ = ["Best", "BestByMargin", "Racing", "Selection", "Stage"]

Ranking: TypeAlias = Callable[[Sequence[Try]], Sequence[int]]
"""Puts tries in order: the places of those that may be kept, the best first."""


_RECENT = 50  # rounds; enough for an estimate, and late rounds cost no more than early ones


class Stage(NamedTuple):
    """A part of the tries: each trains for ``epochs`` more, then the best ``keep`` go on.

    >>> Racing(keep=0.5).stages(tries=4, epochs=2)
    (Stage(epochs=1, keep=2), Stage(epochs=1, keep=1))
    """

    epochs: int
    keep: int


@runtime_checkable
class Selection(Protocol):
    """Which tries go on and which is kept. Costs follow from ``stages`` alone.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class SmallestThatWorks:  # the smallest rate whose try did not fail
    ...     def stages(self, tries, epochs): return [Stage(epochs, keep=1)]
    ...     def ranking(self, history, current): return self.rank
    ...     def rank(self, tries):
    ...         able = [place for place, try_ in enumerate(tries) if try_.error is None]
    ...         return sorted(able, key=lambda place: tries[place].candidate["lr"])
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1, selection=SmallestThatWorks())
    >>> adapter.step().candidate
    Candidate(lr=0.1)
    """

    def stages(self, tries: int, epochs: int) -> Sequence[Stage]:
        """How that many tries of that many epochs are run; the last stage keeps one."""
        ...

    def ranking(self, history: Sequence[Round], current: Candidate) -> Ranking:
        """The order of tries in this round, given what was seen and the value in force.

        It is asked again each time a try ends, with the tries that still lead, the try of the value
        in force and the new one: a try that has fallen behind must not be needed to decide later.

        A ranking by what each try is by itself may have a method ``key(try_)``, so that thousands
        are ranked fast: the smallest number is the best, and a try without one (None) is not kept.
        """
        ...


@dataclass(frozen=True, slots=True)
class Best:
    """Keep the try that scores best; the first of equals wins.

    >>> Best().stages(tries=9, epochs=2)
    (Stage(epochs=2, keep=1),)
    """

    def stages(self, tries: int, epochs: int) -> tuple[Stage, ...]:
        """All at once."""
        return (Stage(epochs, 1),)

    def ranking(self, history: Sequence[Round], current: Candidate) -> Ranking:
        """By score."""
        return by_score


@dataclass(frozen=True, slots=True)
class Racing:
    """Every few epochs only the better part goes on, until one is left or the tries are over.

    Args:
        keep: the share of the tries that goes on each time.
        every: after how many epochs that is.

    >>> [stage.keep for stage in Racing(keep=0.5).stages(tries=5, epochs=5)]
    [3, 2, 1, 1]
    >>> Racing(every=4).stages(tries=2, epochs=10)
    (Stage(epochs=4, keep=1), Stage(epochs=6, keep=1))
    """

    keep: float = 0.5
    every: int = 1

    def __post_init__(self) -> None:
        require_number("Racing: keep", self.keep, "lie between 0 and 1", lambda keep: 0 < keep < 1)
        object.__setattr__(self, "every", require_count("Racing: every", self.every))

    def stages(self, tries: int, epochs: int) -> tuple[Stage, ...]:
        """``every`` epochs each; the last try left over is finished in one stage."""
        stages: list[Stage] = []
        left = epochs
        while tries > 1 and left > self.every:
            # The small subtraction keeps 100 * 0.07 at 7, which in binary fractions is a bit more.
            tries = max(1, math.ceil(tries * self.keep - 1e-9))
            stages.append(Stage(self.every, tries))
            left -= self.every
        return (*stages, Stage(left, 1))

    def ranking(self, history: Sequence[Round], current: Candidate) -> Ranking:
        """By score."""
        return by_score


@dataclass(frozen=True, slots=True, kw_only=True)
class BestByMargin:
    """Leave the value in force only for a clear gain.

    Args:
        delta: the gain in score that is needed at least.
        noise: the gain that is needed, in multiples of the noise. The noise is estimated from the
            paired differences of the last 50 rounds (``paired_noise``); until two rounds have
            tried the same candidate, ``delta`` alone decides.

    >>> BestByMargin(delta=0.01).stages(tries=9, epochs=2)
    (Stage(epochs=2, keep=1),)
    """

    delta: float = 0.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("delta", self.delta), ("noise", self.noise)):
            require_number(
                f"BestByMargin: {name}", value, "be 0 or more", lambda gain: 0 <= gain < math.inf
            )

    def stages(self, tries: int, epochs: int) -> tuple[Stage, ...]:
        """All at once."""
        return (Stage(epochs, 1),)

    def ranking(self, history: Sequence[Round], current: Candidate) -> Ranking:
        """By score, but the value in force comes first unless the best is clearly better."""
        spread = paired_noise(history[-_RECENT:]) if self.noise else 0.0
        margin = max(self.delta, self.noise * spread)

        def rank(tries: Sequence[Try]) -> Sequence[int]:
            order = by_score(tries)
            # Of a placebo's copies only the first is the value in force: so it is our control.
            copies = (place for place, try_ in enumerate(tries) if try_.candidate == current)
            held = next(copies, None)
            if held not in order or tries[order[0]].rank_key - tries[held].rank_key > margin:
                return order
            return [held, *(place for place in order if place != held)]

        return rank


@dataclass(frozen=True, slots=True)
class _ByScore:
    """The places of the tries that did not fail, the best score first, first of equals first."""

    def __call__(self, tries: Sequence[Try]) -> list[int]:
        able = [place for place, try_ in enumerate(tries) if try_.error is None]
        return sorted(able, key=lambda place: -tries[place].rank_key)

    def key(self, try_: Try) -> float | None:
        """The same order, of each try by itself."""
        return None if try_.error is not None else -try_.rank_key


by_score = _ByScore()


def epochs_of_tries(selection: Selection, waves: Sequence[int], epochs: int) -> int:
    """The epochs that a round trains in its tries: those of the stages of all its waves.

    >>> epochs_of_tries(Racing(), (4,), 2)
    6
    """
    trained = 0
    for tries in waves:
        for stage in selection.stages(tries, epochs):
            trained += tries * stage.epochs
            tries = min(tries, stage.keep)
    return trained


def reason(tries: Sequence[Try], chosen: int, current: Candidate) -> str:
    """Say in a few words why this try was kept."""
    winner = tries[chosen]
    if len(tries) == 1:
        return "the only candidate"
    if winner.rank_key == -math.inf:
        return "no score is finite, so the first that did not fail is kept"
    compared = [try_ for try_ in tries if try_.error is None and try_.epochs == winner.epochs]
    if winner.candidate == current:
        best = max([try_.rank_key for try_ in compared])
        if best > winner.rank_key:
            return f"the gain of {best - winner.rank_key:.3g} did not clear the margin"
        return "the value in force scored best"
    held = [try_ for try_ in tries if try_.candidate == current]
    if not held:
        return f"scored best of {len(tries)}"
    if held[0].error is not None:
        return f"the value in force failed: {held[0].error}"
    if held[0] not in compared:
        return "the value in force was overtaken earlier"
    return f"scored {winner.rank_key - held[0].rank_key:.3g} above the value in force"
