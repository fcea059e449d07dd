"""What workers are given, such as what builds their trainer: it must be picklable."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from dynhp.errors import SettingsError, shown

__all__ = ["pickled", "pickled_factory"]

_WAY_OUT = (
    "use a function or class of a module, or functools.partial of one, instead of a lambda or a "
    "closure"
)


def pickled_factory(
    executor: str,
    make_trainer: Any,
    *,
    dumps: Callable[[Any], bytes] = pickle.dumps,
    way_out: str = _WAY_OUT,
) -> bytes:
    """Pickle what builds a trainer for the workers of an executor; refuse what cannot be sent.

    Args:
        executor: the name with which an error message begins.
        make_trainer: what builds the trainer, such as a class.
        dumps: pickles it.
        way_out: the end of the error message if that fails.

    >>> from dynhp.testing import Quadratic
    >>> pickle.loads(pickled_factory("Mine", Quadratic)).__name__
    'Quadratic'
    """
    if not callable(make_trainer):
        raise SettingsError(
            f"{executor}: make_trainer must be a function that builds a fresh trainer, got "
            f"{shown(make_trainer)}"
        )
    return pickled(f"{executor}: make_trainer", make_trainer, dumps=dumps, way_out=way_out)


def pickled(
    what: str,
    thing: Any,
    *,
    dumps: Callable[[Any], bytes] = pickle.dumps,
    way_out: str = _WAY_OUT,
) -> bytes:
    """Pickle something for workers, or refuse it if that fails.

    >>> pickle.loads(pickled("a number", 3))
    3
    """
    try:
        return dumps(thing)
    except Exception as error:
        raise SettingsError(
            f"{what} must be picklable, because workers are other processes, got "
            f"{shown(thing)} ({type(error).__name__}: {error}); {way_out}"
        ) from error
