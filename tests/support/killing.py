"""Trainers that are killed while they train, for tests of what is saved and resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynhp.engine.commands import Command
from dynhp.middleware import looking


class Killed(BaseException):
    """Stands for the end of a process: nothing catches it."""


class MortalTrainer:
    """Records the calls of ``train_k``, and is killed after so many of them."""

    def __init__(
        self,
        inner: Any,
        left: int | None = None,
        *,
        powers: Sequence[str] = ("reseed", "hyperparameters"),
    ) -> None:
        self.inner = inner
        self.left = left
        self.asked: list[tuple[int, Mapping[str, Any]]] = []
        for name in ("get_state", "set_state", "metrics", *powers):
            setattr(self, name, getattr(inner, name))

    @property
    def calls(self) -> int:
        """How often it was asked to train."""
        return len(self.asked)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        if not k:  # a value is put in force, and nothing is trained
            return self.inner.train_k(k, hyperparameters)
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.asked.append((k, dict(hyperparameters)))
        self.inner.train_k(k, hyperparameters)


class KilledAtCommand:
    """Middleware that counts commands, and is killed before the n-th of them, or after it."""

    def __init__(self, fatal: int | None = None, *, after: bool = False) -> None:
        self.commands = 0
        self._fatal = fatal
        self._after = after
        self.middleware = looking(self._before, self._answered)

    def _before(self, command: Command) -> None:
        self.commands += 1
        if self.commands == self._fatal and not self._after:
            raise Killed

    def _answered(self, command: Command, reply: Any) -> None:
        if self.commands == self._fatal:
            raise Killed
