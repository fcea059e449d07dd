"""A trainer for what cannot be copied: it gets back to a state by training the way there again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby, takewhile
from typing import Protocol, TypeAlias, runtime_checkable

from dynhp._checks import require_callable, require_instance
from dynhp.errors import NotRepeatable, SettingsError, shown
from dynhp.records import Candidate, Metrics, Value

RetrainedState: TypeAlias = tuple[tuple[tuple[int, dict[str, Value]], ...], str]
"""Runs of epochs with equal values, in order, and the digest of the model after them."""


@runtime_checkable
class Retrainable(Protocol):
    """A model that cannot hand out its state; trained anew with equal values, it ends up equal.

    >>> class Sum:
    ...     total = 0.0
    ...     def train_k(self, k, hyperparameters): self.total += k * hyperparameters["lr"]
    ...     def metrics(self): return {"loss": (self.total - 1) ** 2}
    ...     def hyperparameters(self): return {}
    ...     def digest(self): return repr(self.total)
    >>> isinstance(Sum(), Retrainable)
    True
    """

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train for ``k`` epochs with these values in force; refuse names it does not know."""
        ...

    def metrics(self) -> Metrics:
        """Measure, without changing anything that follows."""
        ...

    def hyperparameters(self) -> Mapping[str, Value]:
        """The values now in force."""
        ...

    def digest(self) -> str:
        """A short text that differs if what was trained differs."""
        ...


@runtime_checkable
class RollsBack(Protocol):
    """Optional: what can undo its last epochs, so that not all of them are trained again.

    >>> class Walk:
    ...     steps = [0.1, 0.2]
    ...     def roll_back(self, epochs):
    ...         del self.steps[len(self.steps) - epochs :]
    ...         return True
    >>> isinstance(Walk(), RollsBack)
    True
    """

    def roll_back(self, epochs: int) -> bool:
        """Undo that many epochs, as if they had never been; false if that is not possible."""
        ...


class Retrained:
    """A trainer whose state is the values of its epochs: it is reached by training them again.

    For models with hidden generators, or without any way to copy them. It is exact and slow: every
    way back costs the epochs that lead there (``epochs_retrained`` counts them), unless the model
    can undo its last ones (``roll_back``). A way back that ends in another model is an error.

    Args:
        make: builds a fresh model at its beginning, each time the same; see ``Retrainable``.

    >>> class Sum:
    ...     total = 0.0
    ...     def train_k(self, k, hyperparameters): self.total += k * hyperparameters["lr"]
    ...     def metrics(self): return {"loss": (self.total - 1) ** 2}
    ...     def hyperparameters(self): return {}
    ...     def digest(self): return repr(self.total)
    >>> trainer = Retrained(Sum)
    >>> trainer.train_k(1, {"lr": 0.25}); state = trainer.get_state()
    >>> trainer.train_k(1, {"lr": 5.0}); trainer.set_state(state); trainer.metrics()
    {'loss': 0.5625}
    """

    def __init__(self, make: Callable[[], Retrainable]) -> None:
        require_callable("Retrained: make", make, "a function that builds a model")
        self._make = make
        self.model = self._made()
        self.epochs_retrained = 0
        self._line: list[Candidate] = []  # the values of each epoch
        self._in_force: Candidate | None = None  # values that no epoch was trained with yet

    def _made(self) -> Retrainable:
        model = self._make()
        needed = "an object with train_k, metrics, hyperparameters and digest"
        require_instance("Retrained: what make() builds", model, Retrainable, needed)
        return model

    def get_state(self) -> RetrainedState:
        """The values of all epochs so far, and a digest of the model after them."""
        runs = ((dict(values), len(list(run))) for values, run in groupby(self._line))
        return tuple((epochs, values) for values, epochs in runs), self.model.digest()

    def set_state(self, state: RetrainedState) -> None:
        """Undo what is not on the way to this state, and train what is missing."""
        try:
            segments, digest = state
            runs = [(int(epochs), dict(values)) for epochs, values in segments]
        except (TypeError, ValueError):
            raise SettingsError(
                f"a state of Retrained is (segments, digest), got {shown(state)}; give what "
                "get_state() handed out"
            ) from None
        line = [Candidate(values) for epochs, values in runs for _ in range(epochs)]
        pairs = zip(self._line, line, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        surplus = len(self._line) - shared
        self._in_force = None
        if surplus:
            if isinstance(self.model, RollsBack) and self.model.roll_back(surplus):
                del self._line[shared:]
            else:
                self.model = self._made()
                self._line = []
        for values, run in groupby(line[len(self._line) :]):
            epochs = len(list(run))
            self.train_k(epochs, values)
            self.epochs_retrained += epochs
        if self.model.digest() != digest:
            raise NotRepeatable(
                f"training the same {len(line)} epochs again did not give the same model, so it "
                "depends on more than data and values; seed it, train with one thread, and leave "
                "nothing to the time or to a generator that others use"
            )

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train, and note with which values."""
        values = Candidate(hyperparameters)
        if k:
            self.model.train_k(k, values)
        # With nothing to train the model is left alone: only a whole epoch can be trained again.
        self._in_force = None if k else values
        self._line += [values] * k

    def metrics(self) -> Metrics:
        """The metrics of the model."""
        return self.model.metrics()

    def hyperparameters(self) -> Mapping[str, Value]:
        """The values that the model says are in force, or those that the next epoch begins with."""
        return {**self.model.hyperparameters(), **(self._in_force or {})}
