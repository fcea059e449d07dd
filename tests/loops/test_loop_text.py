"""What ``print`` says of a loop and of an adapter is what they search."""

from __future__ import annotations

from typing import Any

import pytest

from dynhp import (
    DynamicGridAdapter,
    Neighbors,
    OneAxis,
    Ordered,
    adapt,
    attribute,
    lowest,
    recommended,
)
from dynhp.loops import Loop
from dynhp.proposers import Climb
from dynhp.spaces import Around
from dynhp.testing import Quadratic
from tests.support.loops import Layer


def searching(**more: Any) -> Loop:
    given: dict[str, Any] = {**recommended("learning_rate", name="lr"), **more}
    return adapt(40, state=[Quadratic()], **given)


def test_a_search_for_a_rate_shows_start_factor_and_rungs() -> None:
    loop = searching()
    first = str(loop).splitlines()[0]
    steps = "up or down by a factor of 3.162 at a time, at most 8 rungs each way"
    assert first == f"lr      from 0.0316228 {steps}"
    assert "0.0948683" not in str(loop)  # of the grid of that axis, which nobody searches
    other = searching(space={"lr": Around(0.5, 2)}, proposer=Climb(rungs=1))
    assert "from 0.5 up or down by a factor of 2 at a time, at most 1 rung each way" in str(other)


def test_it_starts_where_the_bound_value_is() -> None:
    layer = Layer()
    loop = searching(bind={"lr": attribute(layer, "p")})
    assert str(loop).startswith("lr      from 0.1 up or down")
    assert "lr from 0.1 up or down" in repr(loop.adapter)
    given = searching(bind={"lr": attribute(layer, "p")}, initial={"lr": 0.5})
    assert str(given).startswith("lr      from 0.316228 up or down")


@pytest.mark.parametrize(
    ("proposer", "space", "expected"),
    [
        (Neighbors(), Around(0.1, 2), "from 0.1, 1 step of a factor of 2 either way in each round"),
        (Neighbors(2), Around(0.1), "from 0.1, 2 steps of a factor of 3.162 either way in each"),
        (OneAxis(Climb()), Around(0.1), "from 0.1 up or down by a factor of 3.162 at a time"),
        (None, Around(0.1, 2), "0.05, 0.1, 0.2"),
        (Climb(), Ordered(0.1, 0.2, 0.4), "0.1, 0.2, 0.4"),
        (Neighbors(), Ordered(0.1, 0.2, 0.4), "0.1, 0.2, 0.4"),
    ],
)
def test_each_proposer_says_what_it_searches(proposer: Any, space: Any, expected: str) -> None:
    loop = adapt(
        20,
        state=[Quadratic()],
        space={"lr": space},
        minimize="loss",
        adapt_every=5,
        try_for=1,
        proposer=proposer,
    )
    assert str(loop).splitlines()[0].startswith(f"lr     {expected}")


def test_an_adapter_says_what_decides_its_tries_beside_the_grid() -> None:
    arguments = recommended("learning_rate", name="lr", default=0.03, loss="loss")
    adapter = DynamicGridAdapter(Quadratic(), **arguments)
    text = repr(adapter)
    assert "proposer=Climb(rungs=8, worse=2, learns=lowest('loss')), tail=annealed(" in text
    assert "then=at_peak('lr', power=0.5)" in text
    assert "lr from 0.0316228 up or down by a factor of 3.162 at a time, at most 8 rungs" in text
    plain = DynamicGridAdapter(
        Quadratic(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=2, try_for=1
    )
    assert repr(plain).endswith("adapt_every=2, try_for=1, epoch=0)")
