"""Whose turn it is: rounds of one adapter are carried out one at a time."""

from __future__ import annotations

import weakref

from dynhp.errors import DynhpError, LoopError, RescuesSpent, StateLost

__all__ = ["OneAtATime", "Turn"]


class Turn:
    """The right to carry out a round, for a ``with`` block: it ends with its holder, however."""

    __slots__ = ("__weakref__", "_guard")

    def __init__(self, guard: OneAtATime) -> None:
        self._guard = guard

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._guard.leave(error)


class OneAtATime:
    """Gives a turn to one at a time and refuses all others. Not a lock: nothing waits.

    >>> guard = OneAtATime()
    >>> with guard.enter():
    ...     try:
    ...         guard.enter()
    ...     except LoopError as error:
    ...         print(str(error).partition(";")[0])
    a round of this adapter is under way
    """

    __slots__ = ("_turns", "ended")

    def __init__(self) -> None:
        self._turns: dict[str, weakref.ref[Turn]] = {}
        self.ended: DynhpError | None = None  # why there is no further turn

    def enter(self) -> Turn:
        """Give a turn, or refuse it."""
        self.require_free()
        if self.ended is not None:
            raise self.ended
        turn = Turn(self)
        given = weakref.ref(turn)
        while self._turns.setdefault("now", given) is not given:  # one step for all threads
            self.require_free()
        return turn

    def leave(self, error: BaseException | None = None) -> None:
        """End the turn; some errors leave nothing to go on with."""
        self._turns.pop("now", None)
        if error is None:
            return
        if isinstance(error, StateLost):
            self.ended = StateLost(
                "a round before could not put the trainer back, so nothing can be trained from "
                "where it is; make trainer and adapter anew, or load a checkpoint into both"
            )
        elif isinstance(error, RescuesSpent):
            self.ended = error

    def require_free(self) -> None:
        """Refuse if another has a turn; one whose holder is gone has ended."""
        before = self._turns.get("now")
        if before is None:
            return
        if before() is not None:
            raise LoopError(
                "a round of this adapter is under way; wait until it has ended, and give each "
                "thread an adapter and a trainer of its own"
            )
        self.leave()

    def __reduce__(self) -> tuple[type[OneAtATime], tuple[()]]:
        return OneAtATime, ()  # a copy belongs to another adapter, which is not under way
