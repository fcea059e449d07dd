"""A checked round in small, for tests of the watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynhp.selfcheck.reach import in_reach
from dynhp.selfcheck.things import read_state
from dynhp.selfcheck.watch import Watch


class Stateful:
    """Something with a state of its own, as an optimiser or a scaler has."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def state_dict(self) -> dict[str, float]:
        return {"value": self.value}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.value = state["value"]


class OneTensor:
    """As a module of torch is made, with one tensor and a state_dict."""

    def __init__(self, *, own: bool = True, **modules: Any) -> None:
        self._modules = modules
        self._parameters: dict[str, Any] = {"weight": np.ones(1)} if own else {"none": None}
        self._buffers: dict[str, Any] = {}

    def state_dict(self) -> dict[str, Any]:
        return {**self._parameters, **{n: m.state_dict() for n, m in self._modules.items()}}

    def load_state_dict(self, state: Any) -> None:
        raise NotImplementedError


def check(
    names: dict[str, Any],
    body: Callable[[], Any],
    *,
    inside: tuple[Any, ...] = (),
    back: Callable[[], Any] = lambda: None,
    read: Callable[[Any], Any] = read_state,
    tolerance: float = 0.0,
    said: set[Any] | None = None,
) -> Watch:
    """A round of two tries and the repeat of the first; ``back`` is the way to the origin."""
    watch = Watch(lambda: in_reach(names), inside, read, tolerance=tolerance, said=said)
    body()
    watch.first_try_ended()
    back()
    body()
    back()
    watch.back_at_origin()
    body()
    return watch
