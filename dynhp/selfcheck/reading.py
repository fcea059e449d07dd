"""How the state of a thing outside a run's state is read, so that a change of it is noticed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from dynhp.selfcheck.reach import attributes

__all__ = ["has_methods", "is_estimator", "is_of", "read_state"]


def read_state(thing: Any) -> Callable[[], Any] | None:
    """Give a function that reads the thing's own state, or None where it has none.

    >>> generator = np.random.default_rng(0)
    >>> read = read_state(generator); before = read()
    >>> _ = generator.random(); read() == before
    False
    >>> read_state([1, 2, 3])
    """
    if isinstance(thing, random.Random):
        return thing.getstate
    if isinstance(thing, np.random.Generator):
        return lambda: thing.bit_generator.state
    if isinstance(thing, np.random.BitGenerator):
        return lambda: thing.state
    if isinstance(thing, np.random.RandomState) or has_methods(thing, "get_state", "set_state"):
        return lambda: thing.get_state()
    if has_methods(thing, "state_dict", "load_state_dict"):
        return lambda: thing.state_dict()
    if is_estimator(thing):
        return lambda: attributes(thing)
    return None


def has_methods(thing: Any, *names: str) -> bool:
    """Whether its class has these methods; asking the thing itself might run code of its own.

    >>> has_methods([], "append", "sort"), has_methods([], "state_dict")
    (True, False)
    """
    kinds = type(thing).__mro__
    return all(any(callable(vars(kind).get(name)) for kind in kinds) for name in names)


def is_estimator(thing: Any) -> bool:
    """Whether it is an estimator in the manner of scikit-learn, whose state is what it stores."""
    return has_methods(thing, "get_params") and any(
        has_methods(thing, name) for name in ("fit", "partial_fit")
    )


def is_of(thing: Any, library: str) -> bool:
    """Whether its class, or one that it is made from, comes from this library.

    >>> is_of(np.zeros(1), "numpy"), is_of([], "numpy")
    (True, False)
    """
    return any(kind.__module__.partition(".")[0] == library for kind in type(thing).__mro__)
