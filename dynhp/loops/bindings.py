"""Bindings: where a hyperparameter lives, so that it can be set and read back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from dynhp._checks import require_instance, require_mapping
from dynhp.errors import SettingsError, ValueNotInForce, nearest, shown
from dynhp.frameworks import integrations_of
from dynhp.read_back import check_value
from dynhp.records import Candidate, Value


@runtime_checkable
class Binding(Protocol):
    """A place for one value. ``get`` must look at what training uses, not at a copy of its own.

    It may have an attribute ``way_out``, a sentence that ends the error if the value in force is
    not the value wanted, and an attribute ``kind``, such as "learning_rate" or "dropout": what is
    known about adapting that kind is then said, whatever the hyperparameter's name. Methods
    ``enter`` and ``leave`` are called when a run of a loop begins and when it is over. If a
    schedule changes what is set, ``set_in_tail(value)`` puts a value in force without it: in a
    tail, which is a schedule of its own. It has an attribute ``driven_by`` then, the name of what
    drives the value: no ``course`` of a policy drives it as well.

    >>> from dynhp import adapt, lowest
    >>> from dynhp.testing import Quadratic
    >>> model, settings = Quadratic(), {"lr": 0.1}
    >>> class Rate:
    ...     def set(self, value): settings["lr"] = value
    ...     def get(self): return settings["lr"]
    >>> for epoch in adapt(4, state=[model], space={"lr": [0.1, 0.5]}, bind={"lr": Rate()},
    ...                    criterion=lowest("loss"), adapt_every=2, try_for=1):
    ...     model.train_k(1, settings)
    ...     epoch.report(loss=model.metrics()["loss"])
    >>> settings
    {'lr': 0.5}
    """

    def set(self, value: Value) -> None:
        """Put the value in force."""
        ...

    def get(self) -> Value:
        """Read the value in force."""
        ...


def apply(bindings: Mapping[str, Binding], candidate: Candidate, *, tail: bool = False) -> None:
    """Put the values in force, on the main line or in a tail, and read them back at once."""
    for name, binding in bindings.items():
        put = getattr(binding, "set_in_tail", binding.set) if tail else binding.set
        put(candidate[name])
    verify(bindings, candidate, "right after it was set")


def read(bindings: Mapping[str, Binding]) -> dict[str, Value]:
    """The values in force."""
    return {name: binding.get() for name, binding in bindings.items()}


def verify(bindings: Mapping[str, Binding], candidate: Candidate, when: str) -> None:
    """Read the values back, and stop the run if one is not in force."""
    for name, binding in bindings.items():
        try:
            check_value(name, candidate[name], binding.get(), when)
        except ValueNotInForce as error:
            way_out = getattr(binding, "way_out", None)
            if way_out is None:
                raise
            raise ValueNotInForce(f"{error}. {way_out}") from None


def tell(bindings: Mapping[str, Binding], event: Literal["enter", "leave"]) -> None:
    """Tell the bindings that want to know it that a run begins, or that it is over."""
    for binding in bindings.values():
        told = getattr(binding, event, None)
        if told is not None:
            told()


def kinds_of(bindings: Mapping[str, Binding]) -> dict[str, str]:
    """The kinds of hyperparameters, by their names; bindings that do not know it are left out."""
    kinds = {name: getattr(binding, "kind", None) for name, binding in bindings.items()}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, str)}


def drivers_of(bindings: Mapping[str, Binding]) -> dict[str, str]:
    """What drives the values that a schedule changes, by their names."""
    drivers = {name: getattr(binding, "driven_by", None) for name, binding in bindings.items()}
    return {name: driver for name, driver in drivers.items() if driver is not None}


def require_bindings(bind: Any, space: Collection[str] | None = None) -> dict[str, Binding]:
    """Refuse what does not map names to bindings, and a name that is not in the space."""
    if bind is None:
        return {}
    require_mapping("bind", bind, "map names to bindings")
    for name, binding in bind.items():
        require_instance(
            f"bind: {name!r}",
            binding,
            Binding,
            "an object with set(value) and get(), such as attribute(model, 'dropout.p')",
        )
        if space is not None and name not in space:
            raise SettingsError(f"bind: no hyperparameter {shown(name)}{nearest(name, space)}")
    return dict(bind)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute somewhere below an object; its path is followed again each time."""

    root: Any
    path: str

    def _owner(self) -> tuple[Any, str]:
        *way, last = self.path.split(".")
        owner = self.root
        for name in way:
            owner = _follow(owner, name, self.path)
        return owner, last

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is: what an integration says, else its name."""
        owner, name = self._owner()
        known = [each.kind_of for each in integrations_of(type(owner)) if each.kind_of is not None]
        for kind_of in known:
            if (kind := kind_of(owner, name)) is not None:
                return kind
        if name == "p" and "dropout" in type(owner).__name__.lower():
            return "dropout"
        return name

    def set(self, value: Value) -> None:
        """Set the attribute, or the item of a list or a mapping."""
        owner, name = self._owner()
        _follow(owner, name, self.path)  # nothing new is ever made
        try:
            if (key := _key(owner, name)) is not None:
                owner[key] = value
            else:
                setattr(owner, name, value)
        except (AttributeError, TypeError) as error:
            raise SettingsError(
                f"attribute: {shown(self.path)} cannot be set to {shown(value)} ({error}); bind "
                "to where the value can be changed"
            ) from None

    def get(self) -> Value:
        """Read the attribute."""
        owner, name = self._owner()
        return _follow(owner, name, self.path)  # type: ignore[no-any-return]


def attribute(root: object, path: str) -> Binding:
    """Bind to an attribute by its dotted path; keys lead into mappings, numbers into lists.

    >>> class Model: pass
    >>> model = Model(); model.dropout = Model(); model.dropout.p = 0.5
    >>> binding = attribute(model, "dropout.p")
    >>> binding.set(0.2); model.dropout.p
    0.2
    """
    if not isinstance(path, str) or not all(path.split(".")):
        raise SettingsError(f"attribute: the path must look like 'dropout.p', got {shown(path)}")
    if "[" in path:
        plain = path.replace("[", ".").translate(str.maketrans("", "", "]'\""))
        raise SettingsError(f"attribute: items have dots too, got {path!r}; write {plain!r}")
    binding = Attribute(root, path)
    binding.get()  # a wrong path is refused now, not in the middle of a run
    return binding


def _key(owner: Any, name: str) -> str | int | None:
    """The key or index that a name means here, None if it means an attribute."""
    if isinstance(owner, Mapping) and name in owner:
        return name
    if not hasattr(owner, name) and hasattr(owner, "__getitem__") and name.isdecimal():
        return int(name)
    return None


def _follow(owner: Any, name: str, path: str) -> Any:
    key = _key(owner, name)
    try:
        return getattr(owner, name) if key is None else owner[key]
    except (AttributeError, LookupError):
        names = [each for each in getattr(owner, "__dict__", {}) if not each.startswith("_")]
        raise SettingsError(
            f"attribute: {shown(path)} leads to a {type(owner).__name__}, which has no "
            f"{shown(name)}{nearest(name, names)}"
        ) from None
