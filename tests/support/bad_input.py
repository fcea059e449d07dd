"""Tables of bad input: each row is a call and the error that it must raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.support.messages import raises

Call: TypeAlias = Callable[[], object]


def any_(value: Any) -> Any:
    """The value, past the type checker, as users get past it."""
    return value


def refuse(call: Call, error: type[Exception]) -> None:
    """The call raises exactly this error, with the message that is known of it."""
    with raises(error) as caught:
        call()
    assert type(caught.value) is error  # not a subclass by accident
