"""A setting of ``optax.inject_hyperparams`` as a place for a value, inside of the carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_map_with_path

from dynhp.errors import SettingsError, ValueNotInForce, nearest, shown
from dynhp.loops import Binding
from dynhp.records import Value
from dynhp_jax.carry import Carry

__all__ = ["Injected", "InjectedSetting", "bound_settings", "injected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """Where a value lives in any carry; ``injected`` makes it.

    >>> Injected(name="learning_rate", where="generator")
    Injected(name='learning_rate', where='generator')
    """

    name: str
    where: str = ""


def injected(name: str, where: str = "") -> Injected:
    """Bind to a setting of ``optax.inject_hyperparams``, in all places of the carry or in some.

    Settings that are called like the hyperparameter bind themselves; this is for other names, and
    for several optimisers in one carry.

    Args:
        name: the name of the setting, as ``"learning_rate"``.
        where: a part of the place's path, as ``"generator"`` for ``carry['generator'].opt_state``.

    >>> import optax
    >>> from dynhp_jax import adapt_pytree
    >>> tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    >>> params = {"w": jnp.ones(1)}
    >>> loop = adapt_pytree((params, tx.init(params)), 2, space={"lr": [0.1, 0.5]},
    ...                     bind={"lr": injected("learning_rate")}, minimize="loss",
    ...                     adapt_every=2, try_for=1)
    >>> for epoch, (params, memory) in loop:
    ...     updates, memory = tx.update(jax.tree.map(lambda w: 2 * w, params), memory)
    ...     params = optax.apply_updates(params, updates)
    ...     epoch.report((params, memory), loss=(params["w"] ** 2).sum())
    >>> loop.carry[1].hyperparams["learning_rate"]
    Array(0.5, dtype=float32)
    """
    return Injected(name=name, where=where)


@dataclass(frozen=True, slots=True)
class InjectedSetting:
    """A setting in the carry of one loop, set by a new array of the same type: nothing recompiles.

    >>> import optax
    >>> tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    >>> carry = Carry(tx.init({"w": jnp.ones(1)}))
    >>> setting = InjectedSetting(carry, "learning_rate", "")
    >>> setting.set(0.3); setting.get()
    0.3
    """

    carry: Carry
    name: str
    where: str
    way_out: ClassVar[str] = (
        "Hand back the optimiser state that tx.update returned, and give inject_hyperparams a "
        "number, not a schedule"
    )

    @property
    def kind(self) -> str:
        """What kind of hyperparameter it is: that of the setting."""
        return self.name

    def set(self, value: Value) -> None:
        """Put an array with this value into the carry; its type, weak or not, and place stay."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SettingsError(
                f"{self.name} of optax must be a number, got {shown(value)}; leave it out of the "
                "values"
            )
        self.carry.tree = _changed(
            self.carry.tree,
            lambda place, settings: (
                {**settings, self.name: jnp.full_like(settings[self.name], value)}
                if self.name in settings and self.where in place
                else settings
            ),
        )

    def get(self) -> Value:
        """The value in all these places, or an error that shows how they differ."""
        places = _places(self.carry.tree, self.name, self.where)
        values = {number for _, setting in places for number in np.unique(np.asarray(setting))}
        if len(values) != 1:
            shown_values = ", ".join(f"{place}: {setting}" for place, setting in places[:3])
            raise ValueNotInForce(
                f"{self.name} differs between places of the carry ({shown_values}); bind them one "
                f"by one with injected({self.name!r}, where=...)"
            )
        number = values.pop()
        if np.issubdtype(number.dtype, np.integer):
            return int(number)
        return float(str(number))  # the number that was meant: 0.1, not 0.10000000149011612


def bound_settings(
    names: Iterable[str], bind: Mapping[str, Any] | None, carry: Carry
) -> dict[str, Binding]:
    """The bindings as given, and one for each name of the space that optax has a setting for."""
    if bind is not None and not isinstance(bind, Mapping):
        return bind  # the core says what is wrong with it
    given = dict(bind or {})
    for name in names:
        if name not in given and _places(carry.tree, name, ""):
            given[name] = Injected(name=name)
    return {
        name: _setting(carry, each) if isinstance(each, Injected) else each
        for name, each in given.items()
    }


def _setting(carry: Carry, wanted: Injected) -> InjectedSetting:
    name, where = wanted.name, wanted.where
    places = _places(carry.tree, name, where)
    if not places:
        known = sorted({key for _, node in _nodes(carry.tree) for key in node.hyperparams})
        raise SettingsError(
            f"injected: the carry has no setting {shown(name)}{nearest(name, known)}"
            + (f" at a place with {shown(where)} in its path" if where else "")
            + "; make the optimiser with optax.inject_hyperparams(...) and put its state into the "
            "carry"
        )
    for place, node in _nodes(carry.tree):
        if where in place and name in getattr(node, "hyperparams_states", {}):
            raise SettingsError(
                f"{name} at {place} follows a schedule, which would overwrite any value at every "
                f"step; give inject_hyperparams a number, or adapt a factor on top of it: chain("
                f"optimizer, inject_hyperparams(optax.scale)(step_size=1.0)), with step_size in "
                "the space"
            )
    setting = InjectedSetting(carry, name, where)
    setting.get()  # places that differ are refused now
    return setting


def _is_injected(node: Any) -> bool:
    return isinstance(getattr(node, "hyperparams", None), dict) and hasattr(node, "_replace")


def _changed(
    tree: Any, change: Callable[[str, dict[str, Any]], dict[str, Any]], at: str = ""
) -> Any:
    """The tree with the settings of all injected states changed, also of one inside another."""

    def visit(path: Any, node: Any) -> Any:
        if not _is_injected(node):
            return node
        place = at + keystr(path)
        inner = _changed(node.inner_state, change, f"{place}.inner_state")
        return node._replace(hyperparams=change(place, node.hyperparams), inner_state=inner)

    return tree_map_with_path(visit, tree, is_leaf=_is_injected)


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    """All injected states, with their paths."""
    nodes: list[tuple[str, Any]] = []

    def collect(path: Any, node: Any) -> Any:
        if _is_injected(node):
            place = f"carry{keystr(path)}"
            nodes.append((place, node))
            nodes.extend(
                (place + inner.removeprefix("carry"), each)
                for inner, each in _nodes(node.inner_state)
            )
        return node

    tree_map_with_path(collect, tree, is_leaf=_is_injected)
    return iter(nodes)


def _places(tree: Any, name: str, where: str) -> list[tuple[str, jax.Array]]:
    return [
        (place, node.hyperparams[name])
        for place, node in _nodes(tree)
        if name in node.hyperparams and where in place
    ]
