"""The tree of exceptions is the tree that its docstring draws."""

from __future__ import annotations

import inspect
import re

import pytest

import dynhp.errors
from dynhp.errors import DynhpError, nearest

FUNCTIONS = ("advise", "nearest", "shown", "warn_caller")


def drawn() -> dict[str, tuple[str, ...]]:
    """The names in the docstring, each with the names of its bases."""
    line = re.compile(r"^    ([│├└─ ]*)(\w+)(?: \(([\w, ]+)\))?(?:   ?.*)?$")
    tree: dict[str, tuple[str, ...]] = {}
    path: list[str] = []
    drawing = (dynhp.errors.__doc__ or "").split("::")[1]
    for text in filter(str.strip, drawing.splitlines()):
        match = line.match(text)
        assert match, text
        branch, name, other_base = match.groups()
        depth = len(branch) // 4
        others = (other_base or "").split(", ")
        bases = [*path[depth - 1 : depth], *filter(None, others)] if depth else ["Exception"]
        tree[name] = tuple(bases)
        path = [*path[:depth], name]
    return tree


def real() -> dict[str, tuple[str, ...]]:
    classes = inspect.getmembers(dynhp.errors, inspect.isclass)
    return {
        name: tuple(base.__name__ for base in error.__bases__)
        for name, error in classes
        if issubclass(error, DynhpError)
    }


def test_the_tree_drawn_is_the_tree() -> None:
    assert drawn() == real()


def test_every_error_is_public_and_explained() -> None:
    assert set(dynhp.errors.__all__) == {*real(), "Hint", *FUNCTIONS}
    for name in real():
        assert getattr(dynhp.errors, name).__doc__


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("lr", ["lr_decay", "lr"], "; did you mean 'lr'? Known: 'lr', 'lr_decay'"),
        ("xyz", ["lr"], "; Known: 'lr'"),
        ("lr", [], "; Known: none"),
        (7, ["a", "b"], "; Known: 'a', 'b'"),
        ("a", [1, "a"], "; did you mean 'a'? Known: '1', 'a'"),
    ],
)
def test_the_nearest_name(name: object, known: list[str], expected: str) -> None:
    assert nearest(name, known) == expected
