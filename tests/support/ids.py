"""Names for the cases of a test: what a table holds, as it is written there.

Messages are found by these names in ``messages.json``, so a case is not called by its number.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

LONGEST = 80


def pytest_make_parametrize_id(val: object) -> str | None:
    """The id of a lambda, a dictionary, a list or a tuple; pytest knows what to do with others."""
    if is_lambda(val) or type(val) in (dict, list, tuple):
        text = written(val)
        return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    return None


def written(value: Any, depth: int = 0) -> str:
    """A value as it may be written in a test, the same in every process.

    >>> written({"keep": "both", "try_for": (1, 2.5), "call": print, "of": [object()]})
    "keep='both', try_for=(1, 2.5), call=print, of=[object]"
    """
    if is_lambda(value):
        return _lambdas(value.__code__.co_filename)[value.__code__.co_firstlineno]
    if type(value) in (dict, list, tuple):
        if depth > 3:
            return "..."
        if isinstance(value, (list, tuple)):
            inner = ", ".join(written(each, depth + 1) for each in value[:LONGEST])
            return f"[{inner}]" if isinstance(value, list) else f"({inner})"
        each = {key: written(value[key], depth + 1) for key in list(value)[:LONGEST]}
        if depth == 0 and each and all(isinstance(key, str) and key.isidentifier() for key in each):
            return ", ".join(f"{key}={text}" for key, text in each.items())
        return f"{{{', '.join(f'{written(key, 3)}: {text}' for key, text in each.items())}}}"
    if value is None or type(value) in (bool, float):
        return repr(value)
    if type(value) in (str, bytes):
        return repr(value[:LONGEST])
    if type(value) is int and abs(value) < 10**LONGEST:
        return repr(value)
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def is_lambda(thing: object) -> bool:
    """Whether it is a function without a name of its own."""
    return getattr(thing, "__name__", "") == "<lambda>"


@functools.cache
def _lambdas(file: str) -> dict[int, str]:
    """The bodies of the lambdas in a file, by the line: the outermost of each line."""
    bodies: dict[int, str] = {}
    for node in ast.walk(ast.parse(Path(file).read_text("utf-8"))):  # the outer ones come first
        if isinstance(node, ast.Lambda):
            bodies.setdefault(node.lineno, ast.unparse(node.body))
    return bodies
