"""A loop without a ``for``: driven from the hooks of a framework that owns the loop."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from dynhp._checks import require_count
from dynhp.engine.commands import Attempt
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.loops.epoch import Epoch
from dynhp.loops.loop import Loop
from dynhp.start import changed_by

_MOST_VALUES = 20_000
"""How many values of a schedule a run records, if they move within its epochs."""


class Move(Enum):
    """What a framework does after an epoch; ``LoopDriver.end_epoch`` gives it.

    >>> [move.name for move in Move]
    ['GO_ON', 'RESTORED', 'STOP']
    """

    GO_ON = "go on"  # the next epoch follows on the one before
    RESTORED = "restored"  # the state was put back or reseeded: the next epoch starts elsewhere
    STOP = "stop"  # the main line is complete


class LoopDriver:
    """Drives a loop from hooks: a pass begins, is reported, ends, and the loop moves on.

    A framework that owns its loop calls ``begin_epoch`` when an epoch starts and ``end_epoch`` when
    all of it is over, schedulers and counters included: the state is put back inside that call.
    Epochs of tries must be hidden from everything that counts or records. The epochs of the try
    that is kept become part of the main line: ``kept`` has them as soon as that is known.

    With ``steps``, the steps of an epoch, a schedule or a tail of the policy changes its values
    from step to step, if ``move(step)`` is called before each of them; else they stay for an epoch.
    A run records up to 20,000 values: in a longer one several steps have the same.

    >>> from dynhp import adapt
    >>> from dynhp.testing import Quadratic
    >>> model = Quadratic()
    >>> run = LoopDriver(adapt(4, state=[model], space={"lr": [0.5, 3.0]}, minimize="loss",
    ...                        adapt_every=2, try_for=1, check="off"))
    >>> move = Move.GO_ON
    >>> while move is not Move.STOP:
    ...     epoch = run.begin_epoch()
    ...     model.train_k(1, epoch.values)
    ...     move = run.end_epoch(model.metrics())
    ...     print(repr(epoch), move.value, [int(each) for each in run.kept])
    Epoch(0, {'lr': 0.5}, a try) restored []
    Epoch(0, {'lr': 3.0}, a try) restored [0]
    Epoch(1, {'lr': 0.5}, main line) go on []
    Epoch(2, {'lr': 0.5}, a try) restored []
    Epoch(2, {'lr': 3.0}, a try) restored [2]
    Epoch(3, {'lr': 0.5}, main line) stop []
    """

    def __init__(self, loop: Loop, *, steps: int = 1) -> None:
        policy = loop.adapter.policy
        if policy.start_from != "here" or policy.max_rescues:
            raise SettingsError(
                "a framework that owns the loop has counted and logged what a way back would "
                f"abandon, got start_from={shown(policy.start_from)} and max_rescues="
                f"{policy.max_rescues}; write the loop yourself with adapt(...), or leave both "
                'out: policy=plateau(...), start_from="here" goes on from where the training is'
            )
        self.loop = loop
        self._steps = require_count("LoopDriver: steps", steps)
        loop.driven = True
        loop.adapter.per_epoch = max(1, min(steps, _MOST_VALUES // len(loop)))
        self.kept: tuple[Epoch, ...] = ()  # what has become part of the main line by the last move
        self._passes: Iterator[Epoch] | None = None  # held, because a loop that is not held ends
        self._next: Epoch | None = None
        self._under_way = False
        self._tried: defaultdict[int, list[Epoch]] = defaultdict(list)

    def __repr__(self) -> str:
        return f"LoopDriver({self.loop!r})"

    @property
    def epoch(self) -> Epoch | None:
        """The pass that is under way, None between two of them."""
        return self._next if self._under_way else None

    @property
    def complete(self) -> bool:
        """Whether the main line has all its epochs; a resumed run may have them at its start."""
        return self.loop.history.epochs >= len(self.loop)

    def begin_epoch(self) -> Epoch:
        """Begin the next pass: its values are in force, and the framework is in its state."""
        if self._under_way:
            raise LoopError(f"{shown(self._next)} is under way; end it before the next begins")
        if self._passes is None:
            self._passes = iter(self.loop)
            self._next = next(self._passes, None)
        if self._next is None:
            raise LoopError(
                f"the run has ended after {self.loop.history.epochs} of {len(self.loop)} epochs; "
                "stop where end_epoch() says so, and make a new loop for another run"
            )
        self._under_way = True
        return self._next

    def move(self, step: int) -> None:
        """Put in force what a schedule or a tail has for this step of the epoch, from 0."""
        self.loop.move(self._required(), step, self._steps)

    def moves(self, step: int) -> bool:
        """Whether that changes a value, where it costs something to change one."""
        passes = self._required()._passes
        return passes.at_step(step, self._steps) != passes.values

    def report(self, metrics: Mapping[str, Any]) -> None:
        """Say what was measured; from here on the epoch counts as done in ``state_dict``."""
        self._required().report(metrics)

    def end_epoch(self, metrics: Mapping[str, Any] | None = None) -> Move:
        """End the pass, with its metrics unless they are reported already, and move on at once."""
        epoch = self._required()
        if metrics is not None:
            epoch.report(metrics)
        return self._move(epoch)

    def fail_epoch(self, error: Exception) -> Move:
        """End a pass that raised: a try has failed and the run moves on; else it is raised."""
        epoch = self._required()
        if not epoch.__exit__(type(error), error, error.__traceback__):
            raise error
        return self._move(epoch)

    def close(self) -> None:
        """End the run as ``break`` would: a try is undone, the main line stays as it is."""
        self._under_way, self._next = False, None
        self.loop.close()

    def state_dict(self) -> dict[str, Any]:
        """The loop's own state, on the main line: after ``report`` and before ``end_epoch``."""
        return self.loop.state_dict()

    def state_between(self) -> dict[str, Any]:
        """As ``state_dict``, but before the epoch that is under way, or that comes next.

        For frameworks that save in the middle of an epoch, and for the epochs of a try that were
        held back until it was kept. In a try it is the state in which the round began.
        """
        loop = self.loop
        under_way = None if isinstance(loop.work, Attempt) else loop.round_so_far(None)
        return loop.saved(under_way)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave, before the first epoch."""
        self.loop.load_state_dict(state)

    def require_end_of_try(self, epoch: int, done: int) -> None:
        """Refuse to go on at an epoch inside a kept try if a schedule moved the values of the rest.

        A framework that saved there trains the rest of the try, up to ``done`` epochs, once more:
        with one value throughout, so that it would not come to where the try came.
        """
        policy = self.loop.adapter.policy
        if epoch < done and policy.course is not None and changed_by(policy.course, policy.space):
            raise SettingsError(
                f"the checkpoint was saved after {epoch} epochs, inside a try that was kept and "
                f"ended after {done}, and course={shown(policy.course)} moved its values; resume "
                "from a checkpoint of another epoch, such as the last of the try"
            )

    def _required(self) -> Epoch:
        if self._next is None or not self._under_way:
            raise LoopError("no epoch is under way; call begin_epoch() where one starts")
        return self._next

    def _move(self, epoch: Epoch) -> Move:
        loop, passes = self.loop, self._passes
        assert passes is not None
        if epoch.place is not None and not epoch.tail:
            self._tried[epoch.place].append(epoch)

        changes = loop.parts.changes
        rounds = len(loop.history)
        loop.kept = None
        self._under_way, self._next = False, None  # also if the next line raises
        self._next = next(passes, None)
        self.kept = () if loop.kept is None else tuple(self._tried[loop.kept])

        if self._next is None:
            return Move.STOP
        if self._next.main or len(loop.history) > rounds:
            self._tried.clear()
        return Move.GO_ON if loop.parts.changes == changes else Move.RESTORED
