"""The words of a watch about what may make a repeat differ: names, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp.loops import Part
from tests.support.watching import Stateful, check


def test_an_iterator_that_is_made_anew_on_the_way_is_named() -> None:
    """As in ``except StopIteration: it = iter(loader)``, where the tries come to its end."""
    names: dict[str, Any] = {"it": iter([1, 2])}

    def body() -> None:
        names["it"] = iter([1, 2])

    assert check(names, body).suspects() == [
        "it (list_iterator): an iterator kept across epochs, whose place in the data cannot be put "
        "back; make it anew in each epoch"
    ]


def test_an_environment_that_is_made_anew_is_no_iterator() -> None:
    class ShortGame:
        def step(self) -> None: ...

        def reset(self) -> None: ...

    names: dict[str, Any] = {"game": ShortGame()}
    watch = check(names, lambda: names.update(game=ShortGame()))
    assert watch.suspects()[0].startswith(
        "nothing that changed; it may be a generator of a library"
    )


@pytest.mark.parametrize(
    ("thing", "another", "way"),
    [
        (np.ones(2), lambda: np.zeros(2), "change that one in place (w[...] = ...), or keep it in"),
        (Stateful(), Stateful, "change that one in place, or keep it in an object that is listed"),
    ],
    ids=["array", "object"],
)
def test_a_name_that_leaves_the_thing_in_the_state(
    thing: Any, another: Callable[[], Any], way: str
) -> None:
    names = {"w": thing}
    watch = check(names, lambda: names.update(w=another()), inside=(thing,))
    assert watch.suspects()[0].startswith(
        f"w is another object now than the one in the state; {way}"
    )
    assert check(names, names.clear, inside=(names["w"],)).suspects()[0].startswith("nothing that")


def test_a_number_that_a_part_uses_is_no_thing_of_the_state() -> None:
    start = 0
    run = SimpleNamespace(count=start)
    part = Part(get=lambda: start, set=print)
    watch = check({"run": run}, lambda: setattr(run, "count", run.count + 1), inside=(part,))
    (line,) = watch.suspects()
    assert line.startswith("run.count: 1 after the first try and 3 after its repeat")


def test_many_items_of_one_list_are_one_suspect() -> None:
    counts, flags = [0] * 9, [False] * 9

    def count() -> None:
        counts[:] = [number + 1 for number in counts]

    def flip() -> None:
        flags[:] = [True] * 9

    (line,) = check({"counts": counts}, count).suspects()
    assert line.startswith("counts[0]: 1 after the first try and 3 after its repeat")
    assert line.endswith(" (and 8 more in counts)")
    assert check({"flags": flags}, flip).suspects() == [
        "flags[0]: False when the first try began and True when its repeat began (and 8 more in "
        "flags)"
    ]
