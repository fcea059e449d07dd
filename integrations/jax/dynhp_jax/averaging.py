"""Averaged weights as a part of the carry: their window grows with the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.tree_util import register_dataclass

from dynhp.errors import SettingsError
from dynhp.tails.averaging import SHARE, newest_weight, require_share
from dynhp_jax.leaves import is_key

__all__ = ["AveragedWeights", "average_of", "averages_in"]


@partial(register_dataclass, data_fields=["mean", "taken"], meta_fields=["share", "types"])
@dataclass(frozen=True)
class AveragedWeights:
    """An average of weights over about the last share of all steps; ``average_of`` makes it.

    It is a pytree like any other and never changes: ``update`` gives the next one. Numbers with a
    fraction are averaged, all others (counters, keys) are those of the newest weights. The average
    of weights of 16 bits has 32, or the newest would soon count nothing at their precision.

    >>> average = average_of({"w": jnp.zeros(1)}, share=0.5)
    >>> for weight in (0.0, 1.0, 1.0, 2.0):
    ...     average = average.update({"w": jnp.full(1, weight)})
    >>> average.weights
    {'w': Array([1.5], dtype=float32)}
    """

    mean: Any
    taken: jax.Array
    # Constants of compiled functions:
    share: float
    types: tuple[str, ...]  # of the leaves of the weights

    def update(self, weights: Any) -> AveragedWeights:
        """Take weights into the average, after a step of the optimiser; compiled with the step."""
        newest = newest_weight(self.share, self.taken, jnp.maximum)
        mean = jax.tree.map(lambda old, new: _blended(old, new, newest), self.mean, weights)
        return replace(self, mean=mean, taken=self.taken + 1)

    @property
    def weights(self) -> Any:
        """The averaged weights, in a tree like that of the weights."""
        if not isinstance(self.taken, jax.core.Tracer) and not int(self.taken):
            raise SettingsError(
                "AveragedWeights: there is nothing to deliver, because update(weights) was never "
                "called; hand back average.update(weights) in the carry after each step of the "
                "optimiser"
            )
        leaves, structure = jax.tree.flatten(self.mean)
        typed = zip(leaves, self.types, strict=True)
        return jax.tree.unflatten(structure, [_as_type(leaf, name) for leaf, name in typed])

    def statistics(self, measure: Callable[[Any, Any], Any], batches: Iterable[Any]) -> Any:
        """The statistics of norms, measured again with these weights: the mean over the batches.

        Those of the averaged weights are not the average of those from before. ``measure(weights,
        batch)`` gives the statistics of one batch, as a pytree.
        """
        measured = [measure(self.weights, batch) for batch in batches]
        if not measured:
            raise SettingsError(
                "AveragedWeights: batches must hold a batch of inputs at least, got none; give a "
                "list, because an iterator is used up after the first time"
            )
        return jax.tree.map(lambda *each: sum(each[1:], start=each[0]) / len(each), *measured)


def average_of(weights: Any, share: float = SHARE) -> AveragedWeights:
    """Begin an average over about the last share of all steps: a part of the carry of a loop.

    It can take the place of a schedule that ends at zero. Because it is in the carry, it goes back
    with every try and into every file. It needs the memory of one more copy of the weights.

    Args:
        weights: those at the start, a pytree of arrays; they are not part of the average.
        share: over about which last share of all steps so far the average is.

    >>> average = average_of({"w": jnp.zeros(1)})
    >>> average.update({"w": jnp.ones(1)}).weights
    {'w': Array([1.], dtype=float32)}
    """
    share = require_share("average_of", share)
    types = tuple(str(jnp.asarray(leaf).dtype) for leaf in jax.tree.leaves(weights))
    mean = jax.tree.map(_begun, weights)
    return AveragedWeights(mean, jnp.zeros((), jnp.int32), share, types)


def averages_in(tree: Any) -> list[AveragedWeights]:
    """All averages in a pytree.

    >>> len(averages_in({"average": average_of(jnp.ones(1)), "weights": jnp.ones(1)}))
    1
    """
    nodes = jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, AveragedWeights))
    return [node for node in nodes if isinstance(node, AveragedWeights)]


def _begun(leaf: Any) -> jax.Array:
    """A copy, because compiled functions may take the memory of both (``donate_argnums``)."""
    array = jnp.asarray(leaf)
    if is_key(array):
        return jnp.copy(array)
    dtype = array.dtype
    if jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.promote_types(dtype, jnp.float32)
    return jnp.array(array, dtype=dtype, copy=True)  # of no weak type, as after an update


def _as_type(leaf: Any, name: str) -> Any:
    return leaf.astype(name) if jnp.issubdtype(leaf.dtype, jnp.inexact) else leaf


def _blended(mean: Any, own: Any, newest: Any) -> Any:
    """The mean with the newest leaf in it; to the bit that leaf itself if nothing else counts."""
    if not jnp.issubdtype(mean.dtype, jnp.inexact):
        return own
    return (own + (mean - own) * (1 - newest)).astype(mean.dtype)
