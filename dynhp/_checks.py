"""Checks of arguments: each raises an error that says the rule, the value given and the way out."""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from dynhp.errors import SettingsError, shown
from dynhp.records import Value


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether this is an int or a float; True is not a number here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object, *, least: int) -> TypeGuard[int]:
    """Whether this is an int and not too small; True is not a number here."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def plain_int(value: Any) -> Any:
    """The value as an int if it is a whole number of any library, otherwise as it is."""
    try:
        return value if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        return value


def require_count(what: str, value: object) -> int:
    """The value as an int; refused if it is not a whole number above 0."""
    return require_whole(what, value, least=1)


def require_whole(what: str, value: object, *, least: int, most: int | None = None) -> int:
    """The value as an int; refused if it is not a whole number or lies outside the bounds.

    >>> require_whole("workers", 0, least=1)
    Traceback (most recent call last):
    dynhp.errors.SettingsError: workers must be a whole number above 0, got 0
    """
    value = plain_int(value)
    if is_whole(value, least=least) and (most is None or value <= most):
        return value
    if most is not None:
        allowed = f"from {least} to {most}"
    elif least == 1:
        allowed = "above 0"
    else:
        allowed = f"of {least} or more"
    raise SettingsError(f"{what} must be a whole number {allowed}, got {shown(value)}")


def require_seed(what: str, value: object) -> int:
    """The value as an int; refused if it cannot seed a generator."""
    return require_whole(what, value, least=0)


def require_number(
    what: str, value: object, rule: str, inside: Callable[[float], bool] = math.isfinite
) -> float:
    """The value; refused if it is not a number or not ``inside``, which ``rule`` puts into words.

    >>> require_number("share", 1.5, "lie between 0 and 1", lambda share: 0 <= share <= 1)
    Traceback (most recent call last):
    dynhp.errors.SettingsError: share must lie between 0 and 1, got 1.5
    """
    number = value.item() if isinstance(value, np.number) else value
    too_large = isinstance(number, int) and abs(number) > sys.float_info.max  # for a float
    if not is_number(number) or too_large or not inside(number):
        raise SettingsError(f"{what} must {rule}, got {shown(value)}")
    return number


def require_word(what: str, word: object, known: Sequence[object]) -> None:
    """Refuse anything but the known words."""
    if word not in known:
        raise SettingsError(f"{what} must be {' or '.join(map(repr, known))}, got {shown(word)}")


def require_name(what: str, name: object) -> str:
    """The name; refused if it is not a string or is empty."""
    if not isinstance(name, str) or not name:
        raise SettingsError(f"{what} must be a non-empty string, got {shown(name)}")
    return name


def require_instance(what: str, thing: object, contract: type, description: str) -> None:
    """Refuse what does not fulfil a contract, and a class in place of its instance."""
    if not isinstance(thing, contract) or isinstance(thing, type):
        raise SettingsError(f"{what} must be {description}, got {shown(thing)}")


def require_callable(what: str, function: object, description: str = "a function") -> None:
    """Refuse what cannot be called."""
    if not callable(function):
        raise SettingsError(f"{what} must be {description}, got {shown(function)}")


def require_functions(what: str, functions: Any, description: str) -> None:
    """Refuse what is not a list of functions that can be called with one argument."""
    if not isinstance(functions, Sequence) or not all(map(callable, functions)):
        raise SettingsError(f"{what} must be a list of {description}, got {shown(functions)}")
    for function in functions:
        if isinstance(function, type):
            raise SettingsError(
                f"{what} must be a list of {description}, got {shown(function)}, which is a class; "
                "give an object of that class"
            )
        if not takes(function, 1):
            raise SettingsError(
                f"{what} must be a list of {description}, got {shown(function)}, which cannot be "
                "called with one argument; let it take exactly one"
            )


def takes(function: Any, count: int) -> bool:
    """Whether a function can be called with ``count`` arguments; true if it cannot be told."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # some functions written in C do not say
        pass
    return True


def require_mapping(what: str, mapping: object, rule: str = "map names to values") -> None:
    """Refuse what is not a mapping."""
    if not isinstance(mapping, Mapping):
        raise SettingsError(f"{what} must {rule}, got {shown(mapping)}")


def require_lengths(adapt_every: int, try_for: int) -> tuple[int, int]:
    """Both as ints; refused if either is below 1, or if tries are longer than rounds."""
    adapt_every = require_count("adapt_every", adapt_every)
    try_for = require_count("try_for", try_for)
    if try_for > adapt_every:
        raise SettingsError(
            "try_for must be at most adapt_every, "
            f"got try_for={try_for!r}, adapt_every={adapt_every!r}"
        )
    return adapt_every, try_for


def require_trainer(trainer: object) -> None:
    """Refuse what is not a trainer, and name the methods that it lacks."""
    needed = ("get_state", "set_state", "train_k", "metrics")
    missing = [name for name in needed if not callable(getattr(trainer, name, None))]
    if any(getattr(trainer, name, None) is None for name in missing):
        raise SettingsError(
            f"a trainer needs get_state, set_state, train_k and metrics; {shown(trainer)} lacks "
            f"{', '.join(missing)}. Wrap functions with trainer_from(...)"
        )
    for name in (*missing, "hyperparameters", "reseed", "try_batch"):
        method = getattr(trainer, name, None)
        if method is not None and not callable(method):
            raise SettingsError(
                f"{name} of a trainer must be a method, got {shown(method)}; write "
                f"def {name}(self, ...), without @property"
            )
    if isinstance(trainer, type):
        raise SettingsError(f"a trainer, not its class, is needed, got {shown(trainer)}")


def plain_value(what: str, value: Any) -> Value:
    """The value as a plain Python one; refused if JSON could not carry it."""
    if getattr(value, "ndim", None) == 0:  # a number of numpy, or a tensor that is one
        single = str(value.dtype).endswith("float32")
        value = value.item()
        if single:
            value = float(str(np.float32(value)))  # what was meant: 0.1, not 0.10000000149011612
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{what}: values must be finite, got {shown(value)}")
    if isinstance(value, int) and value.bit_length() > 63:
        raise SettingsError(f"{what}: whole numbers must fit into 64 bits, got {shown(value)}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    several = isinstance(value, Iterable)
    raise SettingsError(
        f"{what}: values must be numbers, strings, booleans or None, got {shown(value)}; "
        + ("list each value by itself, not several in brackets, or " if several else "")
        + "give the object a name, list that, and look the object up in the trainer"
    )


def distinct_values(what: str, values: Iterable[Any]) -> tuple[Value, ...]:
    """The values as plain Python ones; refused if there are none, or if two are equal."""
    plain = tuple(plain_value(what, value) for value in values)
    if not plain:
        raise SettingsError(f"{what}: at least one value is needed, got none")
    before: set[Value] = set()
    for value in plain:
        if value in before:
            raise SettingsError(f"{what}: values must differ, got {shown(value)} twice")
        before.add(value)
    return plain


def require_bounds(what: str, low: Any, high: Any, *, log: bool) -> None:
    """Refuse bounds that are not numbers, are reversed, or have no logarithm."""
    low, high = plain_value(what, low), plain_value(what, high)
    for bound in (low, high):
        if not is_number(bound):
            raise SettingsError(f"{what}: bounds must be numbers, got {shown(bound)}")
        if abs(bound) > 1e300:
            raise SettingsError(f"{what}: bounds must stay within 1e300 of 0, got {shown(bound)}")
    if not isinstance(log, bool):
        raise SettingsError(f"{what}: log must be True or False, got {shown(log)}")
    if not low < high:
        raise SettingsError(f"{what}: low must be below high, got low={low!r}, high={high!r}")
    if log and low <= 0:
        raise SettingsError(f"{what}: a log scale needs low > 0, got low={low!r}")


def require_time_limit(what: str, value: Any) -> float | None:
    """Refuse what is neither a number of seconds above 0 nor None."""
    if value is None:
        return None
    rule = "be a number of seconds above 0, or None for no limit"
    return require_number(what, value, rule, lambda seconds: 0 < seconds < math.inf)
