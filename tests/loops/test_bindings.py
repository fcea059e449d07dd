"""Bindings: values set where they live, read back from there, and errors that teach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynhp import attribute
from dynhp.errors import SettingsError, ValueNotInForce
from dynhp.frameworks import Integration
from dynhp.loops import Binding, bindings
from dynhp.records import Candidate, Value
from dynhp.testing.toys.quadratic import NoisyQuadratic
from tests.support.loops import loop_over
from tests.support.messages import raises


class DropoutLayer:
    def __init__(self) -> None:
        self.p = 0.5

    @property
    def fixed(self) -> float:
        return 0.5


class Model:
    def __init__(self) -> None:
        self.dropout = DropoutLayer()
        self.layers = [DropoutLayer(), DropoutLayer()]
        self.settings: dict[str, Any] = {"lr": 0.1, "betas": [0.9, 0.99], "items": 3}
        self.pair = (1, 2)


class IgnoresValues:
    """Takes any value and keeps its own."""

    way_out = "Ask somebody else."

    def set(self, value: Value) -> None:
        pass

    def get(self) -> Value:
        return 0.5


@pytest.mark.parametrize(
    "path", ["dropout.p", "layers.1.p", "settings.lr", "settings.betas.0", "settings.items"]
)
def test_a_path_is_followed_to_its_end(path: str) -> None:
    binding = attribute(Model(), path)
    assert isinstance(binding, Binding)
    binding.set(0.25)
    assert binding.get() == 0.25


def test_a_path_is_followed_afresh_each_time() -> None:
    model = Model()
    binding = attribute(model, "dropout.p")
    model.dropout = DropoutLayer()
    binding.set(0.2)
    assert model.dropout.p == 0.2


@pytest.mark.parametrize(
    "path",
    [
        "dropuot.p",
        "dropout.q",
        "layers.2.p",
        "layers.x",
        "settings.rl",
        "",
        "dropout..p",
        3,
    ],
)
def test_a_path_that_leads_nowhere(path: Any) -> None:
    with raises(SettingsError):
        attribute(Model(), path)


@pytest.mark.parametrize("path", ["dropout.fixed", "pair.0"])
def test_a_value_that_cannot_be_set(path: str) -> None:
    with raises(SettingsError):
        attribute(Model(), path).set(0.1)


def test_nothing_new_is_made() -> None:
    model = Model()
    binding = attribute(model, "dropout.p")
    del model.dropout.p
    with raises(SettingsError):
        binding.set(0.1)


def test_values_are_applied_and_read_back() -> None:
    model = Model()
    bind = {"p": attribute(model, "dropout.p"), "lr": attribute(model, "settings.lr")}
    bindings.apply(bind, Candidate({"p": 0.2, "lr": 0.3, "unbound": 1}))
    assert bindings.read(bind) == {"p": 0.2, "lr": 0.3}
    model.dropout.p = 0.9
    with raises(ValueNotInForce):
        bindings.verify(bind, Candidate({"p": 0.2, "lr": 0.3}), "now")


def test_a_binding_may_know_the_way_out() -> None:
    with raises(ValueNotInForce):
        bindings.apply({"p": IgnoresValues()}, Candidate({"p": 0.2}))


def test_bindings_are_checked() -> None:
    assert bindings.require_bindings(None) == {}
    with raises(SettingsError):
        bindings.require_bindings({"p": IgnoresValues})
    assert list(bindings.require_bindings({"p": IgnoresValues()}, ["p", "q"])) == ["p"]
    with raises(SettingsError):
        bindings.require_bindings({"r": IgnoresValues()}, ["p", "q"])


class AlphaDropout:
    p = 0.5


class Trees:
    __module__ = "acme_trees.core"
    learning_rate = 0.3
    max_depth = 6
    p = 0.5


class TreesDropout(Trees):
    __module__ = "my_models"


class Plainly:
    learning_rate = 0.1
    eta = 0.1
    dropout = 0.1


@pytest.mark.parametrize(
    ("owner", "path", "kind"),
    [
        (AlphaDropout(), "p", "dropout"),
        (Plainly(), "dropout", "dropout"),
        (Plainly(), "learning_rate", "learning_rate"),
        (Plainly(), "eta", "eta"),
        (Trees(), "learning_rate", "learning_rate"),
        ({"lr": 0.1}, "lr", "lr"),
    ],
)
def test_what_an_attribute_is(owner: Any, path: str, kind: str) -> None:
    assert bindings.kinds_of({"x": attribute(owner, path), "y": Plain()}) == {"x": kind}


@pytest.mark.parametrize(
    ("owner", "path", "kind"),
    [
        (Trees(), "learning_rate", "shrinkage"),
        (Trees(), "max_depth", "max_depth"),
        (TreesDropout(), "learning_rate", "shrinkage"),
        (TreesDropout(), "p", "dropout"),
        (Plainly(), "learning_rate", "learning_rate"),
    ],
)
def test_integrations_say_what_attributes_of_their_frameworks_are(
    registry: Callable[[Integration], None], owner: Any, path: str, kind: str
) -> None:
    def kind_of(trees: object, name: str) -> str | None:
        assert isinstance(trees, Trees)
        return {"learning_rate": "shrinkage"}.get(name)

    registry(Integration(package="dynhp_others", frameworks=("acme_trees",)))
    registry(Integration(package="dynhp_acme", frameworks=("acme_trees",), kind_of=kind_of))
    assert bindings.kinds_of({"x": attribute(owner, path)}) == {"x": kind}


class Plain:
    """A binding that does not know what it is."""

    def set(self, value: Any) -> None: ...

    def get(self) -> Any: ...


def test_a_loop_hints_at_what_a_value_is_bound_to() -> None:
    loop = loop_over(
        NoisyQuadratic(),
        space={"p": [0.1, 0.5], "x": [0.1, 0.3]},
        bind={"p": attribute(AlphaDropout(), "p"), "x": attribute(Trees(), "max_depth")},
    )
    assert [hint.partition(":")[0] for hint in loop.adapter.hints] == ["p"]
