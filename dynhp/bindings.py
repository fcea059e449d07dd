"""Bindings: where a hyperparameter lives, so that it can be set and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from dynhp.attempt import check_value
from dynhp.errors import SettingsError
from dynhp.records import Candidate, Value

__all__ = ["Attribute", "Binding", "apply", "attribute", "verify"]


@runtime_checkable
class Binding(Protocol):
    """A place for one value. ``get`` must look at what training uses, not at a copy of its own."""

    def set(self, value: Value) -> None:
        """Put the value in force."""
        ...

    def get(self) -> Value:
        """Read the value in force."""
        ...


def apply(bindings: Mapping[str, Binding], candidate: Candidate) -> None:
    """Put the values in force and read them back at once."""
    for name, binding in bindings.items():
        binding.set(candidate[name])
    verify(bindings, candidate, "right after it was set")


def verify(bindings: Mapping[str, Binding], candidate: Candidate, when: str) -> None:
    """Read the values back, and stop the run where one is not in force."""
    for name, binding in bindings.items():
        check_value(name, candidate[name], binding.get(), when)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute somewhere below an object, followed afresh each time."""

    root: Any
    path: str

    def _owner(self) -> tuple[Any, str]:
        *way, last = self.path.split(".")
        owner = self.root
        for name in way:
            owner = _follow(owner, name, self.path)
        return owner, last

    def set(self, value: Value) -> None:
        """Set the attribute."""
        owner, name = self._owner()
        setattr(owner, name, value)

    def get(self) -> Value:
        """Read the attribute."""
        owner, name = self._owner()
        return _follow(owner, name, self.path)  # type: ignore[no-any-return]


def attribute(root: object, path: str) -> Binding:
    """Bind to an attribute by its dotted path; numbers index lists.

    >>> class Model: pass
    >>> model = Model(); model.dropout = Model(); model.dropout.p = 0.5
    >>> binding = attribute(model, "dropout.p")
    >>> binding.set(0.2); model.dropout.p
    0.2
    """
    binding = Attribute(root, path)
    binding.get()  # a path that leads nowhere is refused now, not in the middle of a run
    return binding


def _follow(owner: Any, name: str, path: str) -> Any:
    if hasattr(owner, name):
        return getattr(owner, name)
    try:
        return owner[int(name)]
    except (ValueError, TypeError, IndexError, KeyError):
        raise SettingsError(
            f"attribute: there is no {name!r} on the way of {path!r} in {type(owner).__name__}"
        ) from None
