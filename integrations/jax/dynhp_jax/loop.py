"""Adaptation in a functional loop: each pass is given a carry and hands back the next one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dynhp
from dynhp.adapter import DynamicGridAdapter
from dynhp.best import BestEpoch
from dynhp.errors import SettingsError, advise
from dynhp.loops import Binding, Loop, LoopOptions, policy_and_others, with_options
from dynhp.records import History
from dynhp.spaces import SpaceLike
from dynhp_jax.carry import Carry
from dynhp_jax.epoch import PytreeEpoch
from dynhp_jax.injected import Injected, bound_settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["PytreeLoop", "adapt_pytree"]


class PytreeLoop:
    """A run inside a functional loop: iterate over it once, then take ``loop.carry``.

    >>> import jax.numpy as jnp
    >>> loop = adapt_pytree({"w": jnp.ones(1)}, 2, space={"lr": [0.1, 0.5]}, minimize="loss",
    ...                     adapt_every=2, try_for=1)
    >>> for epoch, carry in loop:
    ...     carry = {"w": carry["w"] * (1 - epoch["lr"])}
    ...     epoch.report(carry, loss=carry["w"].sum())
    >>> loop.carry["w"], [round_.candidate["lr"] for round_ in loop.history]
    (Array([0.25], dtype=float32), [0.5])
    """

    def __init__(self, loop: Loop, carry: Carry) -> None:
        self.loop = loop
        self._carry = carry

    @property
    def carry(self) -> Any:
        """The carry of the main line: after the loop the final one, whatever the last pass was."""
        return self._carry.tree

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.loop.history

    @property
    def adapter(self) -> DynamicGridAdapter:
        """What chooses the values, and can be saved."""
        return self.loop.adapter

    @property
    def best(self) -> BestEpoch | None:
        """The best reported epoch of the main line (``keep_best=True``)."""
        return self.loop.best

    def restore_best(self) -> None:
        """Make ``carry`` the one after the best epoch."""
        self.loop.restore_best()

    def deliver(self) -> None:
        """Make ``carry`` the one of the best epoch; the averages in it have its weights."""
        self.loop.deliver()

    def state_dict(self) -> dict[str, Any]:
        """The loop's own state on the main line, after a report; the carry is saved beside it."""
        return self.loop.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take it back before the first pass; the carry is given to ``adapt_pytree``."""
        self.loop.load_state_dict(state)

    def close(self) -> None:
        """End the run as ``break`` would."""
        self.loop.close()

    def __len__(self) -> int:
        return len(self.loop)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Pytree{self.loop!r}"

    def __str__(self) -> str:
        return str(self.loop)

    def __iter__(self) -> Iterator[tuple[PytreeEpoch, Any]]:
        return self._passes(iter(self.loop))

    def _passes(self, run: Any) -> Generator[tuple[PytreeEpoch, Any], None, None]:
        last: PytreeEpoch | None = None
        try:
            for epoch in run:
                last = PytreeEpoch(epoch, self._carry)
                yield last, self._carry.hand_out()
                last.require_handed_back()
        finally:
            run.close()
        if last is not None and last.trying:
            advise(
                "the last pass of the loop was a try, so the variable that its body filled is not "
                "the final carry; take loop.carry, as in loop = adapt_pytree(...)",
                about=object(),  # each loop is another model: say it for each
            )


@with_options
def adapt_pytree(
    carry: Any,
    epochs: int | range | None = None,
    *,
    space: SpaceLike | None = None,
    bind: Mapping[str, Binding | Injected] | None = None,
    state: Sequence[Any] = (),
    donated: bool | None = None,
    **options: Unpack[LoopOptions],
) -> PytreeLoop:
    """Adapt hyperparameters in a functional loop of your own, whose passes take and give a carry.

    Args:
        carry: a pytree with all that decides the future: parameters, optimiser state, keys (typed
            or raw), counters; each pass is given one and hands back the next of the same structure.
        epochs: the epochs of the main line: their number, or a range to count as it counts.
        space: the hyperparameters and their values. Names that ``optax.inject_hyperparams`` knows
            are set in the carry and read back; the others are read from the epoch. It is left out
            where a ``policy`` has it.
        bind: where other values live, such as ``{"lr": injected("learning_rate")}``.
        state: what decides the future and is in no pytree, such as a numpy generator that shuffles.
        donated: whether functions of the body take the memory of the carry (``donate_argnums``), so
            that snapshots must be copies; by default the first pass shows it.
        options: all others as in ``dynhp.adapt``: a ``policy`` or its fields, such as ``minimize``,
            ``adapt_every`` and ``try_for``; ``steps``, ``keep_best``, ``callbacks``, ``progress``.

    >>> import jax, jax.numpy as jnp, optax
    >>> tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.01)
    >>> def start(params): return {"params": params, "opt": tx.init(params)}
    >>> @jax.jit
    ... def train(carry):
    ...     loss, grads = jax.value_and_grad(lambda w: (w ** 2).sum())(carry["params"])
    ...     updates, opt = tx.update(grads, carry["opt"])
    ...     return {"params": optax.apply_updates(carry["params"], updates), "opt": opt}
    >>> loop = adapt_pytree(start(jnp.ones(3)), 6, space={"learning_rate": [0.01, 0.03, 0.1]},
    ...                     minimize="loss", adapt_every=3, try_for=1)
    >>> for epoch, carry in loop:
    ...     carry = train(carry)
    ...     epoch.report(carry, loss=(carry["params"] ** 2).sum())
    >>> [round_.candidate["learning_rate"] for round_ in loop.history]
    [0.1, 0.1]
    """
    if isinstance(carry, int) and not isinstance(epochs, int | range):
        raise SettingsError("adapt_pytree takes the carry first, then the epochs")
    if isinstance(state, str):
        raise SettingsError(f"state must be a list of objects beside the carry, got {state!r}")
    box = Carry(carry, donated=donated)
    policy, others = policy_and_others(space, options, caller="adapt_pytree")
    loop = dynhp.adapt(
        epochs,
        state=[box.part(), *state],
        policy=policy,
        bind=bound_settings(policy.space, bind, box),
        **others,
    )
    return PytreeLoop(loop, box)
