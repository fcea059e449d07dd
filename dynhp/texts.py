"""Texts of settings compared: what stands in braces has no order, because sets have none."""

from __future__ import annotations

import re

__all__ = ["same_settings", "with_braces_sorted"]

_PAIRS = {"(": ")", "[": "]", "{": "}"}
# A quoted text as repr writes it, a bracket or a comma, or whatever lies between these.
_TOKEN = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[][(){},]|[^][(){},'"]+|.""", re.DOTALL)


def same_settings(text: str, other: object) -> bool:
    """Whether two texts differ at most in the order of sets and dictionaries in them.

    >>> same_settings("Skip({'a', 'b'}, [1, 2])", "Skip({'b', 'a'}, [1, 2])")
    True
    >>> same_settings("Skip({'a', 'b'}, [1, 2])", "Skip({'a', 'b'}, [2, 1])")
    False
    """
    if text == other or not isinstance(other, str):
        return text == other
    return with_braces_sorted(text) == with_braces_sorted(other)


def with_braces_sorted(text: str) -> str:
    """The text with the items in braces in order; as it is where its brackets do not pair.

    >>> with_braces_sorted("{'b': {3, 1, 2}, 'a': (2, 1)}")
    "{'a': (2, 1),'b': {1,2,3}}"
    """
    around: list[tuple[str, list[str]]] = []  # the brackets that are open, with the items so far
    items = [""]
    for token in _TOKEN.findall(text):
        if token in _PAIRS:
            around.append((token, items))
            items = [""]
        elif token in _PAIRS.values():
            if not around or _PAIRS[around[-1][0]] != token:
                return text
            inside = sorted(item.strip() for item in items) if token == "}" else items
            bracket, items = around.pop()
            items[-1] += f"{bracket}{','.join(inside)}{token}"
        elif token == ",":
            items.append("")
        else:
            items[-1] += token
    return text if around else ",".join(items)
