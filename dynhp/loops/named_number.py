"""A whole number that is asked for values by name, ``epoch["lr"]``, and is no sequence for that."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from dynhp.records import Value

__all__ = ["NamedNumber"]

_SUBSCRIPT: Final = 5  # Py_mp_subscript, and other names of Python's stable ABI
_FLAGS: Final = 1 << 18 | 1 << 10  # Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE
_NAME: Final = f"{__name__}.NamedNumber".encode()


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


def named_number(python: Any) -> type[int]:
    """Make the class, a subclass of ``int`` on which ``number[name]`` is ``number @ name``.

    A class that defines ``__getitem__`` in Python is a sequence to everything that asks in C, so
    what makes a tensor of it asks for its length and its items. Only a class that is made in C can
    be asked by name and be no sequence. ``python`` is ``ctypes.pythonapi``; a Python without it
    gets a class with ``__getitem__``.

    >>> class Three(named_number(ctypes.pythonapi)):
    ...     def __matmul__(self, name): return f"the value of {name}"
    >>> Three(3)["lr"], Three(3) + 1
    ('the value of lr', 4)
    """
    if python is None:
        return type("NamedNumber", (int,), {"__getitem__": _ask, "__iter__": None})
    subscript = ctypes.cast(python.PyNumber_MatrixMultiply, ctypes.c_void_p)
    slots = (_Slot * 2)(_Slot(_SUBSCRIPT, subscript), _Slot(0, None))
    spec = _Spec(_NAME, 0, 0, _FLAGS, slots)
    make = python.PyType_FromSpecWithBases
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.POINTER(_Spec), ctypes.py_object)
    made: type[int] = make(ctypes.byref(spec), (int,))
    return made


def _ask(number: Any, name: Any) -> Any:
    return number @ name


if TYPE_CHECKING:

    class NamedNumber(int):
        """A number whose values have names."""

        def __getitem__(self, name: str) -> Value: ...

else:
    NamedNumber = named_number(getattr(ctypes, "pythonapi", None))
