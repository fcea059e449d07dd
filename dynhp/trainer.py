"""What a trainer must be able to do, what else it may offer, and one made of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dynhp._checks import require_callable
from dynhp._checks import require_trainer as require_trainer  # the check of the contract below
from dynhp.records import Metrics, Value
from dynhp.records.units import EPOCHS, Unit

__all__ = ["State", "Trainer", "trainer_from"]

State: TypeAlias = Any
"""All that decides the future of a training run; opaque to everyone but its trainer."""


@runtime_checkable
class Trainer(Protocol):
    """Anything that trains, and can hand out and take back its state.

    The state holds *all that decides the future*: weights, buffers, optimiser, schedule, scaler,
    random generators, data position, counters. Hyperparameters under adaptation are not in it:
    they are passed to ``train_k``. ``dynhp.testing.check_trainer`` proves that a trainer obeys.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> class Descent:
    ...     x = 1.0
    ...     def get_state(self): return self.x
    ...     def set_state(self, state): self.x = state
    ...     def train_k(self, k, hyperparameters): self.x *= (1 - hyperparameters["lr"]) ** k
    ...     def metrics(self): return {"loss": self.x**2}
    >>> adapter = DynamicGridAdapter(Descent(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1)
    >>> adapter.run(4)[-1].candidate
    Candidate(lr=0.5)
    """

    def get_state(self) -> State:
        """Hand out the state; later training must not change what was handed out."""
        ...

    def set_state(self, state: State) -> None:
        """Take a state back; training must not write into it."""
        ...

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train for ``k`` epochs with these values in force; refuse names it does not know.

        With ``k`` 0 the values are put in force and nothing is trained.
        """
        ...

    def metrics(self) -> Metrics:
        """Measure, without changing anything that follows."""
        ...


@runtime_checkable
class ReadsBack(Protocol):
    """Optional: a trainer that can say which values are in force, so that they are checked.

    >>> from dynhp import DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Overwritten(Quadratic):  # as if a scheduler set its own value
    ...     def hyperparameters(self): return {"lr": 0.1}
    >>> adapter = DynamicGridAdapter(Overwritten(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1)
    >>> try:
    ...     adapter.step()
    ... except RuntimeError as error:
    ...     print(str(error).partition(";")[0])
    lr should be 0.5 but is 0.1 after training with it
    """

    def hyperparameters(self) -> Mapping[str, Value]:
        """The values now in force."""
        ...


@runtime_checkable
class Reseeds(Protocol):
    """Optional: a trainer whose random generators can be seeded, for independent tries.

    >>> import random
    >>> class Noisy:
    ...     rng = random.Random()
    ...     def reseed(self, seed): self.rng.seed(seed)
    >>> trainer = Noisy(); trainer.reseed(7); first = trainer.rng.random()
    >>> trainer.reseed(7); trainer.rng.random() == first
    True
    """

    def reseed(self, seed: int) -> None:
        """Seed all generators that belong to the state."""
        ...


@runtime_checkable
class TriesBatches(Protocol):
    """Optional: a trainer that can carry out all tries of a round in one pass.

    >>> from dynhp import Batched, DynamicGridAdapter, lowest
    >>> from dynhp.testing import Quadratic
    >>> class Formula(Quadratic):
    ...     def try_batch(self, origin, candidates, k):
    ...         factors = [1 - values["lr"] for values in candidates]
    ...         paths = [[origin * factor**n for n in range(1, k + 1)] for factor in factors]
    ...         return [([{"loss": x**2 / 2} for x in path], path[-1]) for path in paths]
    >>> adapter = DynamicGridAdapter(Formula(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                              adapt_every=2, try_for=1, executor=Batched())
    >>> adapter.step().candidate
    Candidate(lr=0.5)
    """

    def try_batch(
        self, origin: State, candidates: Sequence[Mapping[str, Value]], k: int
    ) -> Sequence[tuple[Sequence[Metrics], State]]:
        """Train each candidate for ``k`` epochs from ``origin``: metrics per epoch, end state."""
        ...


@runtime_checkable
class Delivers(Protocol):
    """Optional: what has something better to hand over than the weights of the last step.

    A trainer, or an object in the state of a loop: averaged weights, which take the model's place
    after the run. A policy that ends by averages needs one.

    >>> class Average:
    ...     def deliver(self): print("the model has the averaged weights")
    >>> isinstance(Average(), Delivers)
    True
    """

    def deliver(self) -> None:
        """Give the model these weights for good, after the run."""
        ...


@runtime_checkable
class Agrees(Protocol):
    """Optional: a trainer that runs on several ranks and can exchange values with the others.

    If one rank finds a mistake, all of them must stop. A kill reaches ranks at different moments,
    so that one may have saved what another has not; ``agree`` lets them go on from what all of them
    have.

    >>> from dynhp.testing import Quadratic
    >>> class OnOneRank(Quadratic):
    ...     def agree(self, said): return [said]
    >>> isinstance(OnOneRank(), Agrees), isinstance(Quadratic(), Agrees)
    (True, False)
    """

    def agree(self, said: Any) -> list[Any]:
        """What every rank passes here, in the order of the ranks."""
        ...


def trained_unit(trainer: object) -> Unit:
    """What a trainer counts: epochs, unless it has an attribute ``unit`` that is "steps".

    Records, plans, reports and the live view then speak of steps; nothing else changes.

    >>> from dynhp.testing import Quadratic
    >>> class Stepwise(Quadratic):
    ...     unit = "steps"
    >>> trained_unit(Quadratic()), trained_unit(Stepwise())
    ('epochs', 'steps')
    """
    unit = getattr(trainer, "unit", None)  # which may be something else of the trainer's own
    return "steps" if isinstance(unit, str) and unit == "steps" else EPOCHS


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
