"""The carry of a functional loop: handed out, taken back, and copied where JAX may overwrite it."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path

from dynhp.errors import LoopError, SettingsError, shown
from dynhp.loops import Part
from dynhp_jax.averaging import averages_in
from dynhp_jax.leaves import copied_leaf, from_state, is_deleted, is_key, require_leaf, to_state

__all__ = ["Carry"]

_SAME = (
    "the carry came back with the very arrays that were handed out, so nothing was trained; JAX "
    "changes no array: write carry = train_epoch(carry) before epoch.report(carry, ...)"
)


class Carry:
    """One pytree that goes from pass to pass: parameters, optimiser state, keys, counters.

    Arrays of JAX never change, so a snapshot is a list of references. The exception is a function
    compiled with ``donate_argnums``, which takes the memory of its arguments: with ``donated=True``
    arrays are copied, and with None they are until the first pass has shown that none is needed.

    >>> import jax.numpy as jnp
    >>> carry = Carry({"w": jnp.ones(2), "key": jax.random.key(0)})
    >>> state = carry.get_state(); sorted(state)
    ["carry['key']", "carry['w']"]
    >>> carry.take({"w": jnp.zeros(2), "key": jax.random.key(1)}); carry.set_state(state)
    >>> carry.tree["w"]
    Array([1., 1.], dtype=float32)
    """

    def __init__(self, tree: Any, *, donated: bool | None = None) -> None:
        if donated is not None and not isinstance(donated, bool):
            raise SettingsError(f"donated must be True, False or None, got {shown(donated)}")
        self.donated = donated
        self.tree = tree
        self._places, leaves, self._structure = _flat(tree)
        if not any(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves):
            raise SettingsError(
                "the carry must be a pytree with what is trained (parameters, optimiser state, "
                f"keys), got {shown(tree)}, which holds no array"
            )
        for place, leaf in zip(self._places, leaves, strict=True):
            require_leaf(leaf, place)
        self._handed: list[Any] = []

    def hand_out(self) -> Any:
        """The carry for a pass."""
        self._handed = jax.tree.leaves(self.tree)
        return self.tree

    def take(self, tree: Any) -> None:
        """The carry after a pass."""
        places, leaves, structure = _flat(tree)
        if structure != self._structure:
            raise LoopError(
                "the carry must keep its structure, as in jax.lax.scan, but it came back with "
                f"{_difference(self._places, places, tree)}"
            )
        for place, leaf in zip(places, leaves, strict=True):
            require_leaf(leaf, place)
            if is_deleted(leaf):
                raise LoopError(
                    f"{place} came back deleted: it was given to a function compiled with "
                    "donate_argnums; hand back what that function returned"
                )
        self._require_new(leaves)
        self._look_for_donation()
        self.tree = tree

    def _require_new(self, leaves: list[Any]) -> None:
        arrays = [
            (old, new) for old, new in zip(self._handed, leaves, strict=False) if _is_array(old)
        ]
        # A numpy array may have been written into.
        same = all(old is new and isinstance(old, jax.Array) for old, new in arrays)
        if arrays and same:
            raise LoopError(_SAME)

    def _look_for_donation(self) -> None:
        """After a pass: whether it destroyed what it was given."""
        destroyed = any(map(is_deleted, self._handed))
        if destroyed and self.donated is False:
            raise LoopError(
                "a pass destroyed arrays of the carry that it was given (donate_argnums), and the "
                "snapshot with them, though none before did; say adapt_pytree(..., donated=True), "
                "so that snapshots are copies"
            )
        if self._handed and self.donated is None:
            self.donated = destroyed
        self._handed = []

    def require_whole(self) -> None:
        """Refuse an evaluation that took the memory of what it was to look at."""
        if any(map(is_deleted, self._handed)):
            raise LoopError(
                "evaluate destroyed arrays of the carry (donate_argnums); compile what only looks "
                "at the carry without it"
            )
        self._handed = []

    def get_state(self) -> dict[str, Any]:
        """Every leaf by its place."""
        leaves = self._copied(jax.tree.leaves(self.tree))
        return dict(zip(self._places, map(to_state, leaves), strict=True))

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to such a state."""
        if not isinstance(state, dict) or list(state) != self._places:
            raise SettingsError(
                "a state of this carry has the leaves of this carry, got "
                f"{_difference(self._places, list(state), state)}; make the carry as in the run "
                "that saved it"
            )
        leaves = self._copied([from_state(leaf) for leaf in state.values()])
        self.tree = jax.tree.unflatten(self._structure, leaves)

    def _copied(self, leaves: list[Any]) -> list[Any]:
        donated = self.donated is not False
        return [copied_leaf(leaf, donated=donated) for leaf in leaves]

    def raw_keys(self) -> list[str]:
        """Where there are numbers of the kind of a raw key, which may be other numbers too."""
        leaves = jax.tree.leaves(self.tree)
        return [place for place, leaf in zip(self._places, leaves, strict=True) if _looks_raw(leaf)]

    def reseed(self, seed: int) -> None:
        """Make every typed key anew from this seed; a raw one cannot be told from other numbers."""
        leaves = jax.tree.leaves(self.tree)
        if raw := self.raw_keys():
            raise SettingsError(
                f"independent randomness needs typed keys, but {raw[0]} is uint32, a raw key or "
                "other numbers; make it with jax.random.key(seed), or jax.random.wrap_key_data"
            )
        keys = iter(range(len(leaves)))
        fresh = [_new_key(leaf, seed, next(keys)) if is_key(leaf) else leaf for leaf in leaves]
        self.tree = jax.tree.unflatten(self._structure, fresh)

    def part(self) -> Part:
        """The carry as a part of a loop's state."""
        return Part(
            get=self.get_state,
            set=self.set_state,
            reseed=self.reseed,
            name="the carry",
            deliver=self.averages if averages_in(self.tree) else None,
        )

    def averages(self) -> list[Any]:
        """The averaged weights in it."""
        return [average.weights for average in averages_in(self.tree)]


def _flat(tree: Any) -> tuple[list[str], list[Any], Any]:
    with warnings.catch_warnings():  # an iterator is refused as a leaf, in words of our own
        warnings.simplefilter("ignore", DeprecationWarning)
        pairs, structure = tree_flatten_with_path(tree)
    return [f"carry{keystr(path)}" for path, _ in pairs], [leaf for _, leaf in pairs], structure


def _difference(wanted: list[str], got: list[str], tree: Any) -> str:
    missing = [place for place in wanted if place not in got]
    other = [place for place in got if place not in wanted]
    if missing:
        return f"no {missing[0]}" + (f" but with {other[0]}" if other else "")
    return f"{other[0]} in addition" if other else f"another kind of container: {shown(tree)}"


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def _looks_raw(leaf: Any) -> bool:
    return _is_array(leaf) and not is_key(leaf) and leaf.dtype == np.uint32 and leaf.ndim > 0


def _new_key(leaf: Any, seed: int, place: int) -> jax.Array:
    sequence = np.random.SeedSequence([seed, place])
    key = jax.random.key(int(sequence.generate_state(1)[0]), impl=jax.random.key_impl(leaf))
    return jax.random.split(key, leaf.shape) if leaf.shape else key
