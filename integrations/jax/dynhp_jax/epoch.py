"""One pass through the body of a functional loop: it hands back the new carry with its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from dynhp.errors import LoopError
from dynhp.loops import Epoch
from dynhp.loops.named_number import NamedNumber
from dynhp.records import Value
from dynhp_jax.carry import Carry

__all__ = ["PytreeEpoch"]


class PytreeEpoch(NamedNumber):
    """A pass as ``dynhp.loops.Epoch`` is one, whose report begins with the new carry.

    It is the epoch's number, has its values (``epoch["dropout"]``, ``epoch.values``), ``main`` and
    ``trying``. Where a pass measures nothing, ``epoch.carry = carry`` hands the carry back alone.

    >>> import jax.numpy as jnp
    >>> from dynhp_jax import adapt_pytree
    >>> loop = adapt_pytree({"w": jnp.ones(1)}, 4, space={"lr": [0.1, 0.5]}, minimize="loss",
    ...                     adapt_every=2, try_for=1)
    >>> for epoch, carry in loop:
    ...     carry = {"w": carry["w"] * (1 - 2 * epoch["lr"])}
    ...     epoch.report(carry, loss=(carry["w"] ** 2).sum())
    >>> loop.carry
    {'w': Array([0.], dtype=float32)}
    """

    _epoch: Epoch
    _carry: Carry
    _handed_back: bool

    def __new__(cls, epoch: Epoch, carry: Carry) -> PytreeEpoch:
        """Wrap a pass of the loop."""
        made = int.__new__(cls, int(epoch))
        made._epoch, made._carry, made._handed_back = epoch, carry, False
        return made

    def __repr__(self) -> str:
        return f"Pytree{self._epoch!r}"

    def __str__(self) -> str:
        return int.__repr__(self)

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def __matmul__(self, name: str) -> Value:  # what epoch[name] is
        return self._epoch[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._epoch[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for such names
            raise AttributeError(name)
        return getattr(self._epoch, name)

    @property
    def carry(self) -> Any:
        """The carry as it is now: handed out, or handed back."""
        return self._carry.tree

    @carry.setter
    def carry(self, tree: Any) -> None:
        if self._handed_back:
            raise LoopError(
                f"the carry of {self!r} was handed back already; do so once, at the end of the body"
            )
        self._carry.take(tree)
        self._handed_back = True

    def report(self, carry: Any, metrics: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Hand back the carry and say what was measured: as names, or as one mapping."""
        if not self._handed_back or carry is not self._carry.tree:
            self.carry = carry
        self._epoch.report(metrics, **named)

    def require_handed_back(self) -> None:
        """Refuse a pass that kept its carry to itself: what it trained would be lost."""
        if not self._handed_back and self._epoch.failure is None:
            raise LoopError(
                f"{self!r} did not hand back its carry, so what it trained would be lost; end "
                "every pass with epoch.report(carry, loss=...), or epoch.carry = carry"
            )

    def __enter__(self) -> PytreeEpoch:
        self._epoch.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return self._epoch.__exit__(kind, error, traceback)
