"""What a trainer must be able to do, what else it may offer, and one made of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dynhp._checks import require_callable, require_trainer
from dynhp.records import Metrics, Value

__all__ = ["ReadsBack", "Reseeds", "State", "Trainer", "TriesBatches", "require_trainer"]
__all__ += ["trainer_from"]

State: TypeAlias = Any
"""All that decides the future of a training run; opaque to everyone but its trainer."""


@runtime_checkable
class Trainer(Protocol):
    """Anything that trains, and can hand out and take back its state.

    The state holds *all that decides the future*: weights, buffers, optimiser, schedule, scaler,
    random generators, data position, counters. Hyperparameters under adaptation are not in it:
    they are passed to ``train_k``. ``dynhp.testing.check_trainer`` proves that a trainer obeys.
    """

    def get_state(self) -> State:
        """Hand out the state; later training must not change what was handed out."""
        ...

    def set_state(self, state: State) -> None:
        """Take a state back; training must not write into it."""
        ...

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train for ``k`` epochs with these values in force; refuse names it does not know."""
        ...

    def metrics(self) -> Metrics:
        """Measure, without changing anything that follows."""
        ...


@runtime_checkable
class ReadsBack(Protocol):
    """Optional: a trainer that can tell which values are in force."""

    def hyperparameters(self) -> Mapping[str, Value]:
        """The values now in force."""
        ...


@runtime_checkable
class Reseeds(Protocol):
    """Optional: a trainer whose random generators can be seeded, for independent tries."""

    def reseed(self, seed: int) -> None:
        """Seed all generators that belong to the state."""
        ...


@runtime_checkable
class TriesBatches(Protocol):
    """Optional: a trainer that can carry out all tries of a round in one pass."""

    def try_batch(
        self, origin: State, candidates: Sequence[Mapping[str, Value]], k: int
    ) -> Sequence[tuple[Sequence[Metrics], State]]:
        """Train each candidate for ``k`` epochs from ``origin``: metrics per epoch, end state."""
        ...


class _FunctionTrainer:
    """A trainer whose methods are the functions it was given; no others are there."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.__dict__.update(functions)

    def __repr__(self) -> str:
        return f"trainer_from({', '.join(self.__dict__)})"


def trainer_from(
    *,
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    train_k: Callable[[int, Mapping[str, Value]], None],
    metrics: Callable[[], Metrics],
    hyperparameters: Callable[[], Mapping[str, Value]] | None = None,
    reseed: Callable[[int], None] | None = None,
) -> Trainer:
    """Make a trainer of functions.

    Args:
        get_state: hands out the state; see ``Trainer.get_state``.
        set_state: takes a state back.
        train_k: trains for ``k`` epochs with the given hyperparameters.
        metrics: measures, without changing anything that follows.
        hyperparameters: optional, says which values are in force, so that they can be checked.
        reseed: optional, seeds all generators, for ``randomness="independent"``.

    >>> weights = [0.0]
    >>> def train_k(k, hyperparameters):
    ...     weights[0] += k * hyperparameters["lr"]
    >>> trainer = trainer_from(
    ...     get_state=lambda: weights[0],
    ...     set_state=lambda state: weights.__setitem__(0, state),
    ...     train_k=train_k,
    ...     metrics=lambda: {"loss": (weights[0] - 1.0) ** 2},
    ... )
    >>> trainer.train_k(2, {"lr": 0.25}); trainer.metrics()
    {'loss': 0.25}
    """
    given: dict[str, Any] = {
        "get_state": get_state,
        "set_state": set_state,
        "train_k": train_k,
        "metrics": metrics,
        "hyperparameters": hyperparameters,
        "reseed": reseed,
    }
    functions = {name: function for name, function in given.items() if function is not None}
    for name, function in functions.items():
        require_callable(f"trainer_from: {name}", function)
    made: Any = _FunctionTrainer(functions)
    require_trainer(made)
    return made  # type: ignore[no-any-return]
