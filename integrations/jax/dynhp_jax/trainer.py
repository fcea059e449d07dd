"""A trainer made of a function from carry to carry and an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynhp.errors import MetricError, SettingsError, nearest, shown
from dynhp.loops import Binding, bindings
from dynhp.loops.parts import Parts, global_generators, part_of, parts_of
from dynhp.read_back import plain_metrics
from dynhp.records import Candidate, Metrics, Value
from dynhp_jax.carry import Carry
from dynhp_jax.injected import Injected, bound_settings

__all__ = ["PytreeTrainer", "pytree_trainer"]


class PytreeTrainer:
    """A trainer whose state is a carry; ``pytree_trainer`` makes it, ``carry`` has the result.

    >>> import jax.numpy as jnp
    >>> trainer = pytree_trainer(jnp.ones(1), train_epoch=lambda w, values: w * values["decay"],
    ...                          evaluate=lambda w: {"loss": w.sum()}, reads=["decay"])
    >>> trainer.train_k(2, {"decay": 0.5}); trainer.carry
    Array([0.25], dtype=float32)
    """

    def __init__(
        self,
        carry: Carry,
        train_epoch: Callable[[Any, Mapping[str, Value]], Any],
        evaluate: Callable[[Any], Mapping[str, Any]],
        *,
        bind: Mapping[str, Binding],
        reads: Sequence[str],
        state: Sequence[Any],
    ) -> None:
        self._carry = carry
        self._train_epoch, self._evaluate = train_epoch, evaluate
        self._bind = bind
        self._known = (*bind, *reads)
        others = (*_others(state), *global_generators())
        self._parts = Parts((carry.part(), *others))
        self._generators = Parts([part for part in others if part.reseed is not None])
        self.kinds = bindings.kinds_of(bind)
        if not carry.raw_keys():  # else it is not known which numbers to seed
            self.reseed = self._parts.reseed
        if (averages := carry.part().deliver) is not None:
            self.deliver = averages

    @property
    def carry(self) -> Any:
        """The carry as it is now."""
        return self._carry.tree

    def get_state(self) -> Any:
        """The carry, and what else decides the future."""
        return self._parts.get_state()

    def set_state(self, state: Any) -> None:
        """Go back to such a state."""
        self._parts.set_state(state)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train ``k`` epochs with these values."""
        candidate = Candidate(hyperparameters)
        for name in candidate:
            if name not in self._known:
                raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, self._known)}")
        bound = {name: binding for name, binding in self._bind.items() if name in candidate}
        if not k:
            bindings.apply(bound, candidate)  # in force also where no epoch follows
        for _ in range(k):
            bindings.apply(bound, candidate)
            self._carry.take(self._train_epoch(self._carry.hand_out(), candidate))
            bindings.verify(bound, candidate, "after the epoch")

    def metrics(self) -> Metrics:
        """What ``evaluate`` says of the carry; generators are put back after it."""
        before = self._generators.get_state()
        try:
            measured = self._evaluate(self._carry.hand_out())
            self._carry.require_whole()
            if not isinstance(measured, Mapping):
                raise MetricError(
                    f"evaluate must return a mapping of names to numbers, got {shown(measured)}"
                )
            return plain_metrics(measured)
        finally:
            self._generators.set_state(before)

    def hyperparameters(self) -> Mapping[str, Value]:
        """The values in force, as far as they live in the carry or are bound elsewhere."""
        return bindings.read(self._bind)


def pytree_trainer(
    carry: Any,
    *,
    train_epoch: Callable[[Any, Mapping[str, Value]], Any],
    evaluate: Callable[[Any], Mapping[str, Any]],
    bind: Mapping[str, Binding | Injected] | None = None,
    reads: Sequence[str] = (),
    state: Sequence[Any] = (),
    donated: bool | None = None,
) -> PytreeTrainer:
    """Make a trainer of ``train_epoch(carry, values) -> carry`` and ``evaluate(carry)``.

    Args:
        carry: a pytree with all that decides the future, as in ``adapt_pytree``.
        train_epoch: trains one epoch and returns the new carry; it is given the values by name.
        evaluate: measures, and gives names and numbers.
        bind: where values live, as ``{"lr": injected("learning_rate")}``: set before every epoch,
            read back before and after it.
        reads: the names of the values that ``train_epoch`` takes from its argument; a name that is
            neither here nor in ``bind`` is refused.
        state: what decides the future and is in no pytree, such as a numpy generator that shuffles.
        donated: whether ``train_epoch`` takes the memory of the carry, as in ``adapt_pytree``.

    >>> import jax, jax.numpy as jnp, optax
    >>> from dynhp_jax import injected
    >>> tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    >>> def train_epoch(carry, values):
    ...     params, memory = carry
    ...     updates, memory = tx.update(2 * params, memory)
    ...     return optax.apply_updates(params, updates), memory
    >>> trainer = pytree_trainer(
    ...     (jnp.ones(1), tx.init(jnp.ones(1))), train_epoch=train_epoch,
    ...     evaluate=lambda carry: {"loss": (carry[0] ** 2).sum()},
    ...     bind={"learning_rate": injected("learning_rate")},
    ... )
    >>> trainer.train_k(2, {"learning_rate": 0.5}); trainer.metrics(), trainer.hyperparameters()
    ({'loss': 0.0}, {'learning_rate': 0.5})
    """
    for role, function in (("train_epoch", train_epoch), ("evaluate", evaluate)):
        if not callable(function):
            raise SettingsError(f"pytree_trainer: {role} must be a function, got {shown(function)}")
    if isinstance(reads, str) or not isinstance(reads, Sequence):
        raise SettingsError(f"reads must be a list of names, got {shown(reads)}")
    box = Carry(carry, donated=donated)
    bound = bindings.require_bindings(bound_settings((), bind, box))
    if not bound and not reads:
        raise SettingsError("pytree_trainer needs hyperparameters: name them in bind or in reads")
    return PytreeTrainer(box, train_epoch, evaluate, bind=bound, reads=reads, state=state)


def _others(state: Sequence[Any]) -> tuple[Any, ...]:
    return parts_of(state, part_of) if state else ()
