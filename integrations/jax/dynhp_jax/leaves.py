"""The leaves of a pytree: which may be part of a state, and how each is copied and put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynhp.errors import SettingsError, shown

__all__ = [
    "KeyData",
    "copied_leaf",
    "from_state",
    "is_deleted",
    "is_key",
    "require_leaf",
    "to_state",
]

_PLAIN = (bool, int, float, complex, str, bytes, np.generic)  # they never change


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyData:
    """A typed key of ``jax.random.key`` in a state: its generator's name and its numbers.

    >>> KeyData(impl="threefry2x32", data=jax.random.key_data(jax.random.key(7)))
    KeyData(impl='threefry2x32', data=Array([0, 7], dtype=uint32))
    """

    impl: str
    data: jax.Array


def is_key(leaf: object) -> bool:
    """Whether this is a typed key, or an array of them; a raw uint32 key is an array like any."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def require_leaf(leaf: object, place: str) -> None:
    """Refuse what may change in place without anybody's notice, such as a generator or an iterator.

    >>> require_leaf(np.random.default_rng(0), "carry['rng']")
    Traceback (most recent call last):
    dynhp.errors.SettingsError: carry['rng']: a leaf of the carry must be an array, a number, a \
text or a function, got Generator(PCG64); list it in state=[...] instead
    """
    known = isinstance(leaf, (jax.Array, np.ndarray, *_PLAIN)) or callable(leaf)
    if not known or (isinstance(leaf, np.ndarray) and leaf.dtype.hasobject):
        raise SettingsError(
            f"{place}: a leaf of the carry must be an array, a number, a text or a function, got "
            f"{shown(leaf).split(' at 0x')[0]}; list it in state=[...] instead"
        )


def is_deleted(leaf: object) -> bool:
    """Whether a compiled function took the memory of this array for itself (``donate_argnums``)."""
    return isinstance(leaf, jax.Array) and leaf.is_deleted()


def copied_leaf(leaf: Any, *, donated: bool) -> Any:
    """A copy if the leaf may be written into: JAX writes only into what is donated to it.

    >>> array = jnp.ones(2)
    >>> copied_leaf(array, donated=False) is array, copied_leaf(array, donated=True) is array
    (True, False)
    """
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    # The type stays as it is, weak or not, so that nothing has to be compiled again.
    return jnp.copy(leaf) if donated and isinstance(leaf, jax.Array) else leaf


def to_state(leaf: Any) -> Any:
    """The leaf as a state holds it: keys as numbers, which can be compared and stored."""
    if not is_key(leaf):
        return leaf
    return KeyData(impl=str(jax.random.key_impl(leaf)), data=jax.random.key_data(leaf))


def from_state(leaf: Any) -> Any:
    """The leaf as training uses it.

    >>> key = jax.random.key(3)
    >>> bool(from_state(to_state(key)) == key)
    True
    """
    if not isinstance(leaf, KeyData):
        return leaf
    return jax.random.wrap_key_data(leaf.data, impl=leaf.impl)
