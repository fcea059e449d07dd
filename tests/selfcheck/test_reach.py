"""What names lead to: how deep, and that nothing is touched."""

from __future__ import annotations

import functools
import itertools
import random
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp import Counter, trainer_from
from dynhp.frameworks import Integration
from dynhp.selfcheck import reach
from dynhp.selfcheck.contents import attributes
from dynhp.selfcheck.reach import in_reach, is_array, trainer_names
from dynhp.selfcheck.watch import trainer_watch
from dynhp.testing import Quadratic

OF_THE_MODULE = np.random.default_rng(0)


class WithSlots:
    __slots__ = ("__weakref__", "empty", "full")

    def __init__(self) -> None:
        self.full = 1


class OneSlot:
    __slots__ = "only"

    def __init__(self) -> None:
        self.only = 2


class Careful:
    """Whatever is asked of it, it counts."""

    asked = 0

    def __init__(self) -> None:
        self.__dict__["inside"] = 7

    @property
    def costly(self) -> int:
        Careful.asked += 1
        return 1

    def __getattr__(self, name: str) -> int:
        Careful.asked += 1
        raise AttributeError(name)


def test_attributes_are_those_that_are_stored() -> None:
    assert attributes(WithSlots()) == {"full": 1}
    assert attributes(OneSlot()) == {"only": 2}
    assert attributes(Careful()) == {"inside": 7}
    assert attributes(3) == {}
    assert Careful.asked == 0


def test_names_lead_into_objects_and_containers() -> None:
    thing = object()
    run = SimpleNamespace(
        table={"key": thing, 3: object()}, row=[object()], ends=deque([object()]), pair=(object(),)
    )
    reached = in_reach({"run": run})
    assert reached["run.table['key']"] is thing
    assert {"run.table[3]", "run.row[0]", "run.ends[0]", "run.pair[0]"} < set(reached)


def test_what_a_dictionary_has_under_an_object_is_known_by_its_place() -> None:
    class NoText:
        def __repr__(self) -> str:
            raise NotImplementedError

    thing, other = object(), object()
    reached = in_reach({"table": {NoText(): thing, (0, 1): other}})
    assert reached["table.values()[0]"] is thing
    assert reached["table.values()[1]"] is other


def test_long_containers_hold_data() -> None:
    reached = in_reach({"rows": list(range(65)), "table": {str(n): n for n in range(65)}})
    assert set(reached) == {"rows", "table"}


def test_long_containers_of_arrays_may_be_averaged_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [np.zeros(1) for _ in range(65)]
    run = SimpleNamespace(rows=weights, table={str(n): np.zeros(1) for n in range(65)})
    reached = in_reach({"run": run})
    assert reached["run.rows[64]"] is weights[64]
    assert "run.table['64']" in reached
    monkeypatch.setattr(reach, "_MOST_ARRAYS", 64)
    assert set(in_reach({"run": run})) == {"run", "run.rows", "run.table"}


def test_many_arrays_take_no_others_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_MOST_THINGS", 9)
    run = SimpleNamespace(data=[np.zeros(1) for _ in range(65)], rng=object())
    deeper = SimpleNamespace(run=SimpleNamespace(rng=object()))
    assert {"run.rng", "deeper.run.rng"} < set(in_reach({"run": run, "deeper": deeper}))


def test_a_few_steps_are_enough() -> None:
    deep = SimpleNamespace(a=SimpleNamespace(b=SimpleNamespace(c=SimpleNamespace(d=1))))
    reached = in_reach({"deep": deep})
    assert "deep.a.b.c" in reached
    assert "deep.a.b.c.d" not in reached


def test_the_number_of_things_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_MOST_THINGS", 3)
    assert len(in_reach({"many": list(range(50))})) == 3


def test_a_thing_has_one_name_and_two_variables_have_two() -> None:
    thing, steps = object(), 3

    def hidden() -> Any:
        return steps

    names = {"thing": thing, "again": thing, "steps": 5, "hidden": hidden}
    assert in_reach(names) == {"thing": thing, "steps": 5, "steps #2": 3}
    assert in_reach({"steps": 3, "hidden": hidden}) == {"steps": 3}


def test_functions_lead_to_what_they_use() -> None:
    rng, later = object(), 1

    def noise(scale: float) -> Any:
        return rng, OF_THE_MODULE, scale, unknown, len  # type: ignore[name-defined]  # noqa: F821

    def early() -> Any:
        return later  # noqa: F821

    reached = in_reach({"noise": noise, "early": early})
    assert reached == {"rng": rng, "OF_THE_MODULE": OF_THE_MODULE, "later": 1}
    del later
    assert in_reach({"early": early}) == {}


def test_functions_lead_to_what_they_keep() -> None:
    """A counter may be an attribute of a function, or live in a default that can be changed."""

    def train(rate: float, seen: Any = [0], *, log: Any = {"n": 1}) -> None: ...  # noqa: B006

    vars(train)["n"] = 3
    assert in_reach({"run": SimpleNamespace(train=train)}).keys() == {
        *("run", "run.train(seen)", "run.train(seen)[0]", "run.train(log)"),
        *("run.train(log)['n']", "run.train.n"),
    }


def test_functions_of_libraries_are_not_looked_at() -> None:
    assert in_reach({"of_ours": trainer_from, "built_in": len}) == {}
    installed = pytest.raises
    assert in_reach({"installed": installed}) == {}


class Shared:
    """A class that keeps something for all."""

    steps = 3
    _hidden = 4

    def method(self) -> None: ...


def test_modules_and_classes_of_the_user_lead_to_what_they_keep() -> None:
    mine = types.ModuleType("of_the_user")
    mine.__file__, mine.rng, mine.Shared = "of_the_user.py", object(), Shared  # type: ignore
    sys.modules["of_the_user"] = mine
    try:
        reached = in_reach({"mine": mine, "numpy": np, "sys": sys, "Shared": Shared, "int": int})
    finally:
        del sys.modules["of_the_user"]
    assert reached == {"mine.rng": mine.rng, "Shared.steps": 3}


def test_methods_and_partial_functions_lead_to_their_objects() -> None:
    run, extra = SimpleNamespace(), SimpleNamespace()
    bound = types.MethodType(lambda self: None, run)
    reached = in_reach({"f": functools.partial(bound, extra, key=extra)})
    assert reached["f.func.__self__"] is run
    assert reached["f.args[0]"] is extra


class Module:
    """As a module of torch is made."""

    def __init__(self, **modules: Any) -> None:
        self._modules = modules
        self._parameters = {"weight": np.ones(1)}
        self._buffers: dict[str, Any] = {}
        self._forward_hooks: dict[str, Any] = {"hook": object()}
        self.training = True
        self.count = 0


def test_all_of_a_module_is_one_step_away() -> None:
    model = Module(a=Module(b=Module(c=Module(d=Module()))))
    reached = in_reach({"model": model})
    assert "model.a.b.c.d.count" in reached
    assert not [
        name for name in reached if "hook" in name or "training" in name or "weight" in name
    ]


def test_numbers_inside_objects_of_libraries_are_their_own_affair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "__file__", "/usr/site-packages/library.py")
    inner = object()
    run = Module()
    run.__dict__.update(parts=[inner, 3], counter=itertools.count(), other=inner, list_of=[])
    assert set(in_reach({"run": run})) == {"run", "run.parts[0]"}


def test_locks_files_and_optimisers_are_not_looked_into() -> None:
    class WithParameterGroups:
        def __init__(self) -> None:
            self.param_groups: list[Any] = []
            self.state = object()

    import threading

    names = {
        "timer": threading.Timer(1.0, print),
        "optimizer": WithParameterGroups(),
        "system": sys,
    }
    assert set(in_reach(names)) == {"timer", "optimizer"}


def test_what_the_hooks_of_an_optimiser_use_is_in_reach() -> None:
    def hook_with(scheduler: Any) -> Any:
        return lambda *_: scheduler

    scheduler = object()
    optimizer = SimpleNamespace(
        param_groups=[], state=object(), _optimizer_step_post_hooks={0: hook_with(scheduler)}
    )
    reached = in_reach({"optimizer": optimizer})
    assert reached["scheduler"] is scheduler
    assert "optimizer.state" not in reached


def test_a_function_is_no_step_from_what_it_closes_over() -> None:
    """As in an engine, whose handlers are a few steps from the loop."""
    sched = object()
    engine = SimpleNamespace(handlers={"epoch": [lambda: sched]})
    assert in_reach({"engine": engine})["sched"] is sched


def test_what_dynhp_hands_out_is_not_the_users_but_a_counter_is() -> None:
    steps, model = Counter(), Quadratic()
    trainer = trainer_from(
        get_state=model.get_state,
        set_state=model.set_state,
        train_k=model.train_k,
        metrics=model.metrics,
    )
    reached = in_reach({"steps": steps, "model": model, "trainer": trainer})
    assert reached["steps"] is steps
    assert reached["model"] is model
    assert "trainer" not in reached


def test_what_an_integration_hands_out_is_not_the_users_unless_it_is_made_for_them(
    registry: Callable[[Integration], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    for module in ("dynhp_acme.trainer", "dynhp_acme.averaging"):
        kind = type("Made", (), {"__module__": module})
        monkeypatch.setitem(sys.modules, module, SimpleNamespace(Made=kind))
        made[module.rpartition(".")[2]] = kind()
    assert list(in_reach(made)) == ["trainer", "averaging"], "it has not registered yet"
    registry(Integration(package="dynhp_acme", for_users=("averaging",)))
    assert list(in_reach(made)) == ["averaging"]


def test_arrays_of_any_library_are_known_by_what_they_have() -> None:
    class ArrayOfALibrary:
        __array__ = device = dtype = nbytes = shape = None

    class TableOfALibrary:
        __array__ = dtype = nbytes = shape = None

    kinds = (np.zeros(1), ArrayOfALibrary(), TableOfALibrary(), np.float64(1), [0.0])
    assert [is_array(each) for each in kinds] == [True, True, False, False, False]


def test_a_trainer_leads_to_what_its_functions_use() -> None:
    class TrainerWithNames:
        def __init__(self) -> None:
            self.rng = object()

        def train_k(self) -> Any:
            return OF_THE_MODULE

    trainer = TrainerWithNames()
    reached = in_reach(trainer_names(trainer))
    assert reached["trainer.rng"] is trainer.rng
    assert reached["OF_THE_MODULE"] is OF_THE_MODULE
    made = trainer_from(
        get_state=dict,
        set_state=lambda state: None,
        train_k=lambda k, values: trainer,  # type: ignore[arg-type,return-value]
        metrics=dict,
    )
    assert in_reach(trainer_names(made))["trainer"] is trainer


def test_a_trainer_is_watched_by_its_attributes() -> None:
    class TrainerWithGenerator:
        def __init__(self) -> None:
            self.rng = random.Random(0)

    trainer = TrainerWithGenerator()
    watch = trainer_watch(trainer)
    trainer.rng.random()
    watch.first_try_ended()
    watch.back_at_origin()
    trainer.rng.random()
    assert watch.left_behind() == ["trainer.rng (Random) changed in the tries and was not put back"]


def test_what_cannot_even_be_looked_at_is_left_out() -> None:
    class LengthRaises(list[int]):
        def __len__(self) -> int:
            raise RuntimeError("no length")

    gone = WithSlots()
    names = {"proxy": weakref.proxy(gone), "odd": LengthRaises([1]), "steps": 3}
    del gone
    assert in_reach(names) == {"steps": 3}
