"""What tries make anew is accused where each is made of the one before, and nothing else is."""

from __future__ import annotations

import copy
import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.watching import OneTensor, Stateful, check


def test_a_name_that_goes_on_to_new_objects_is_accused() -> None:
    """As in ``ema = blend(ema, model)``: each is made of the one before."""
    names: dict[str, Any] = {"ema": Stateful(), "best": Stateful(5.0)}

    def body() -> None:
        names["ema"] = Stateful(names["ema"].value + 1)
        names["best"] = Stateful(7.0)  # made anew from what is put back

    assert check(names, body).left_behind() == [
        "ema was bound to a new object in the tries and not put back; change one object in place, "
        "and list it in the state"
    ]


@pytest.mark.parametrize("listed", [Stateful(), np.zeros(2)], ids=["object", "array"])
def test_a_name_that_leaves_the_thing_in_the_state_is_accused(listed: Any) -> None:
    names: dict[str, Any] = {"ema": listed}

    def go_on() -> None:
        ema = names["ema"]
        names["ema"] = Stateful(ema.value + 1) if isinstance(ema, Stateful) else ema + 1

    watch = check(names, go_on, inside=(listed,))
    (line,) = watch.left_behind()
    assert line.startswith("ema is another object now than the one in the state; change that one")
    assert watch.suspects().count(line) == 1


def test_a_name_may_go_on_to_another_kind_of_thing() -> None:
    names: dict[str, Any] = {"ema": Stateful()}

    def body() -> None:
        before = names["ema"].value if isinstance(names["ema"], Stateful) else names["ema"][0]
        names["ema"] = np.full(1, before + 1)

    assert [line[:29] for line in check(names, body).left_behind()] == [
        "ema was bound to a new object"
    ]


@pytest.mark.parametrize("listed", [Stateful(), np.zeros(2)], ids=["object", "array"])
def test_a_name_of_the_state_may_be_used_for_what_a_try_makes_anew(listed: Any) -> None:
    names: dict[str, Any] = {"it": listed}
    anew = Stateful(7.0) if isinstance(listed, Stateful) else np.ones(2)
    watch = check(names, lambda: names.update(it=copy.deepcopy(anew)), inside=(listed,))
    assert watch.left_behind() == []


def test_a_thing_of_the_state_that_cannot_be_read_now_is_passed_over() -> None:
    class ClosedNow(Stateful):
        def state_dict(self) -> Any:
            raise RuntimeError("not now")

    names: dict[str, Any] = {"it": ClosedNow(), "other": SimpleNamespace()}
    listed = tuple(names.values())
    numbers = itertools.count()

    def body() -> None:
        names.update({name: Stateful(next(numbers)) for name in names})

    assert check(names, body, inside=listed).left_behind() == []


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_within_a_tolerance_what_a_try_makes_anew_may_be_a_little_off(tolerance: float) -> None:
    """As a copy for measuring is, on a device that adds in any order."""
    copied, noise = OneTensor(), itertools.count(start=1)
    weight = copied._parameters["weight"]  # changed in place, so what was noted must not follow it
    names: dict[str, Any] = {"copied": copied, "anew": Stateful(), "array": np.zeros(1)}

    def body() -> None:
        off = 1e-9 * next(noise)
        weight[:] = 7.0 + off
        names["array"][:] = 7.0 + off
        names["anew"] = Stateful(7.0 + off)

    watch = check(names, body, tolerance=tolerance)
    accused = [line.split()[0] for line in watch.left_behind()]
    assert accused == ([] if tolerance else ["copied", "anew"])
    assert len(watch.hints()) == (0 if tolerance else 1)


def test_within_a_tolerance_what_goes_on_is_still_accused() -> None:
    model = OneTensor()
    weight = model._parameters["weight"]
    watch = check({"model": model}, lambda: weight.__iadd__(1), tolerance=1e-6)
    assert watch.left_behind() == ["model (OneTensor) changed in the tries and was not put back"]


def test_a_hint_comes_once_in_a_run() -> None:
    said: set[Any] = set()
    run = SimpleNamespace(steps=0, losses=[0.0])

    def body() -> None:
        run.steps += 1
        run.losses.append(0.0)

    assert len(check({"run": run}, body, said=said).hints()) == 2
    others = [0.0]

    def body_with_others() -> None:
        body()
        others.append(0.0)

    (hint,) = check({"run": run, "others": others}, body_with_others, said=said).hints()
    assert hint.startswith("others grew in the tries")
    assert len(check({"run": run}, body).hints()) == 2  # in another run
