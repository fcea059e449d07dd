"""The contract of a trigger: whether a round is due, as a pure function of the main line so far."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from dynhp._checks import is_whole, plain_int, require_whole, require_word, takes
from dynhp.criteria.contract import metrics_of
from dynhp.errors import ContractError, DynhpError, SettingsError, shown
from dynhp.records import Metrics, Round
from dynhp.records.append_only import AppendOnly

Memory = TypeVar("Memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A trigger's answer if a round is due; ``True`` means one without anything to say.

    Attributes:
        because: why, in a few words; it is recorded with the round.
        healthy: after how many epochs of the main line all was still well, None: it is now.
        alarm: whether something broke, so that the round is a rescue.

    >>> Due(because="the loss is nan", healthy=3, alarm=True).healthy
    3
    """

    because: str = ""
    healthy: int | None = None
    alarm: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.because, str):
            raise SettingsError(f"Due: because must be a string, got {shown(self.because)}")
        if self.healthy is not None:
            healthy = require_whole("Due: healthy", self.healthy, least=0)
            object.__setattr__(self, "healthy", healthy)
        require_word("Due: alarm", self.alarm, (True, False))
        object.__setattr__(self, "alarm", bool(self.alarm))  # also where numpy has compared


class LineSoFar:
    """The main line so far, as a trigger sees it: it only reads. What was abandoned is not in it.

    Attributes:
        measured: the number of each epoch that was measured, from 0, and its metrics.
        epoch: the epochs so far.
        planned: the epochs it shall have; None if that is not known.
        rounds: the rounds so far, as they happened.
        began: the epochs before the last round with tries (one under way counts); None: none yet.
        since: the number of the first epoch after the tries of that round.
        fired: the epochs at which rounds with tries became due, whatever state they started from.
        stopped: whether the last round ended before its time: the run was stopped, and goes on.
        failure: the exception that ended the last round, as a line.

    >>> line = LineSoFar([(0, {"loss": 0.5}), (1, {"loss": 0.4})], epoch=2)
    >>> line.fold("lowest", 9.9, lambda best, number, metrics: min(best, metrics["loss"]))
    0.4
    """

    def __init__(
        self,
        measured: Iterable[tuple[int, Metrics]] = (),
        *,
        epoch: int = 0,
        planned: int | None = None,
        rounds: Sequence[Round] = (),
        began: int | None = None,
        since: int = 0,
        fired: Sequence[int] = (),
        stopped: bool = False,
        failure: str | None = None,
    ) -> None:
        self.measured = measured if isinstance(measured, AppendOnly) else AppendOnly(measured)
        self.epoch = epoch
        self.planned = planned
        self.rounds = rounds
        self.began = began
        self.since = since
        self.fired = fired if isinstance(fired, AppendOnly) else AppendOnly(fired)
        self.stopped = stopped
        self.failure = failure
        self._folded: dict[Hashable, tuple[int, Any]] = {}

    def copy(self) -> LineSoFar:
        """The same line, to go on from: whatever becomes of the copy, this one stays as it is."""
        other = LineSoFar(
            self.measured,
            epoch=self.epoch,
            planned=self.planned,
            rounds=self.rounds,
            began=self.began,
            since=self.since,
            fired=self.fired,
            stopped=self.stopped,
            failure=self.failure,
        )
        other._folded = dict(self._folded)
        return other

    @property
    def now(self) -> Metrics | None:
        """What was measured after the newest epoch; None if it was not, or in a try."""
        if not self.measured or self.measured[-1][0] != self.epoch - 1 or self.epoch <= self.since:
            return None
        metrics: Metrics = self.measured[-1][1]
        return metrics

    def fold(
        self, owner: Hashable, start: Memory, step: Callable[[Memory, int, Metrics], Memory]
    ) -> Memory:
        """What ``step`` makes of all that was measured, one after the other, from ``start`` on.

        How far this has come is remembered by its ``owner``, so that to ask after every epoch
        costs one step each.
        """
        place, memory = self._folded.get(owner, (0, start))
        for index in range(place, len(self.measured)):
            memory = step(memory, *self.measured[index])
        self._folded[owner] = len(self.measured), memory
        return memory  # type: ignore[no-any-return]


@runtime_checkable
class Trigger(Protocol):
    """Any callable like this: a pure function of the main line so far.

    It may have an attribute ``metrics``, the names it reads: they are checked before the run, and
    a loop must report them. It may have a method ``next_look(line)``, the epoch at which it must be
    asked again (None: never); until then the main line is trained without a look. Without one it is
    asked after every epoch. One with that method and ``metrics = ()`` goes by the epochs alone: it
    is shown no metrics, and what its rounds cost is known beforehand.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> def below(line):  # one round, when the loss is below 0.1
    ...     return line.began is None and line.now is not None and line.now["loss"] < 0.1
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              when=below, try_for=1, initial={"lr": 0.1}, record_every=20)
    >>> [(round_.start, len(round_.tries)) for round_ in adapter.run(20)]
    [(0, 0), (8, 2)]
    """

    def __call__(self, line: LineSoFar) -> Due | bool | None:
        """Whether a round is due now."""
        ...


def require_trigger(what: str, trigger: object) -> None:
    """Refuse what cannot be asked with a line."""
    if not callable(trigger) or isinstance(trigger, type) or not takes(trigger, 1):
        raise SettingsError(
            f"{what} must be a trigger such as Every(10) or OnPlateau('val_loss', patience=5), or "
            f"a function of a LineSoFar, got {shown(trigger)}"
        )
    looks_at(trigger)


def looks_at(trigger: Any) -> tuple[str, ...]:
    """The metrics that a trigger says it reads."""
    return metrics_of(trigger)


def goes_by_epochs(trigger: Any) -> bool:
    """Whether a trigger, or all that it is made of, says that it reads no metrics and knows when.

    >>> from dynhp.triggers import Every, OnPlateau, any_of
    >>> goes_by_epochs(any_of(Every(3))), goes_by_epochs(any_of(Every(3), lambda line: True))
    (True, False)
    """
    if parts := getattr(trigger, "triggers", None):
        return all(map(goes_by_epochs, parts))
    says = getattr(trigger, "metrics", None) is not None and hasattr(trigger, "next_look")
    return says and not looks_at(trigger)


def ask(trigger: Trigger, line: LineSoFar) -> Due | None:
    """What a trigger answers, or an error that says when it is at fault."""
    try:
        answer = trigger(line)
    except DynhpError:
        raise
    except Exception as failure:
        raise ContractError(
            f"the trigger {shown(trigger)} raised {type(failure).__name__}: {str(failure)[:200]}; "
            "it gets a LineSoFar, whose last metrics are line.now (None if nothing was measured)"
        ) from failure
    if isinstance(answer, Due):
        return answer
    if answer is None or isinstance(answer, bool | np.bool_):
        return Due() if answer else None
    raise ContractError(
        f"the trigger {shown(trigger)} must answer True, False, None or a Due, got {shown(answer)}"
    )


def next_look(trigger: Trigger, line: LineSoFar) -> int | None:
    """The epoch at which a trigger must be asked again; None: never."""
    method = getattr(trigger, "next_look", None)
    if method is None:
        return line.epoch + 1
    try:
        epoch = plain_int(method(line))
    except DynhpError:
        raise
    except Exception as failure:
        raise ContractError(
            f"next_look of {shown(trigger)} raised {type(failure).__name__}: {str(failure)[:200]}; "
            "it gets a LineSoFar and gives an epoch, or None for never"
        ) from failure
    if epoch is None or is_whole(epoch, least=line.epoch + 1):
        return epoch
    raise ContractError(
        f"next_look of {shown(trigger)} must give an epoch after {line.epoch}, or None for never, "
        f"got {shown(epoch)}"
    )
