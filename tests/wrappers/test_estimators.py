"""fit_by: an estimator fitted by another function than the one that its module calls."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import pytest

from dynhp import History
from dynhp.wrappers import fit_by


def framework() -> ModuleType:
    """A module that trains by a function of its own."""
    module = ModuleType("framework")
    vars(module)["train"] = lambda *given, **named: ("its own", given, named)
    return module


class Estimator:
    """Calls the function that trains, and notes what that gave."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.model: Any = None

    def fit(self, X: Any, *, rounds: int = 1) -> Estimator:
        if rounds < 1:
            raise ValueError(rounds)
        self.model = self.module.train(X, rounds=rounds)
        return self


def adapted(*given: Any, **named: Any) -> tuple[Any, History]:
    return ("adapted", given, named), History(())


def test_arguments_go_to_whom_they_belong() -> None:
    estimator = Estimator(framework())
    arguments = {"rounds": 5, "space": {"x": [1, 2]}, "on_event": print, "try_for": 1}
    history = fit_by(adapted, estimator.fit, ["data"], arguments, module=estimator.module)
    assert history == History(())
    of_dynhp = {name: value for name, value in arguments.items() if name != "rounds"}
    assert estimator.model == ("adapted", ("data",), {"rounds": 5, **of_dynhp})
    assert Estimator(estimator.module).fit("data").model == ("its own", ("data",), {"rounds": 1})


def test_another_thread_is_not_concerned() -> None:
    inner, outer = (Estimator(framework()) for _ in range(2))
    inner.module = outer.module

    def in_a_thread(*given: Any, **named: Any) -> tuple[Any, History]:
        thread = threading.Thread(target=inner.fit, args=("other",))
        thread.start()
        thread.join()
        return adapted(*given, **named)

    fit_by(in_a_thread, outer.fit, ["data"], {}, module=outer.module)
    assert (inner.model[0], outer.model[0]) == ("its own", "adapted")


def test_one_inside_another_is_done_too() -> None:
    inner, outer = (Estimator(framework()) for _ in range(2))
    inner.module = outer.module

    def nested(*given: Any, **named: Any) -> tuple[Any, History]:
        fit_by(adapted, inner.fit, ["inner"], {}, module=inner.module)
        return ("outer", given, named), History(())

    fit_by(nested, outer.fit, ["data"], {}, module=outer.module)
    assert (inner.model[0], outer.model[0]) == ("adapted", "outer")


def test_whatever_happens_the_module_is_as_before() -> None:
    estimator = Estimator(framework())
    original = estimator.module.train
    with pytest.raises(ValueError, match="0"):
        fit_by(adapted, estimator.fit, ["data"], {"rounds": 0}, module=estimator.module)
    assert estimator.module.train is original
