"""Tables of bad input: each row is a call, the error it must raise and the message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

Call: TypeAlias = Callable[[], object]


def any_(value: Any) -> Any:
    """The value, past the type checker, as users get past it."""
    return value


def bad_input(table: list[tuple[Call, type[Exception], str]]) -> pytest.MarkDecorator:
    """One test for each row of a table."""
    ids = [f"{index}: {row[2]}" for index, row in enumerate(table)]
    return pytest.mark.parametrize(("call", "error", "message"), table, ids=ids)


def refuse(call: Call, error: type[Exception], message: str) -> None:
    """The call raises exactly this error."""
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error  # not a subclass by accident
