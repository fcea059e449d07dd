"""The watch names what the tries changed and nobody put back, and accuses nothing else."""

from __future__ import annotations

import io
import itertools
import random
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dynhp import Counter
from dynhp.loops import Part
from dynhp.selfcheck import watch as watching
from dynhp.selfcheck.reach import Body, in_reach
from dynhp.selfcheck.things import read_state
from dynhp.selfcheck.watch import Watch
from tests.support.watching import OneTensor, Stateful, check


def lines(watch: Watch) -> list[str]:
    """The suspects but for the general ones, which are the last resort."""
    general = "nothing that changed; it may be a generator of a library that dynhp does not know"
    return [line for line in watch.suspects() if not line.startswith(general)]


@pytest.mark.parametrize(
    ("thing", "change"),
    [
        (random.Random(0), lambda rng: rng.random()),
        (np.random.default_rng(0), lambda rng: rng.random()),
        (np.random.RandomState(0), lambda rng: rng.rand()),
        (np.random.PCG64(0), lambda bits: bits.random_raw()),
        (Counter(), lambda counter: counter.__iadd__(1)),
        (Stateful(), lambda thing: setattr(thing, "value", thing.value + 1)),
        (OneTensor(), lambda model: model._parameters["weight"].__iadd__(1)),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_was_not_put_back_is_named(thing: Any, change: Callable[[Any], Any]) -> None:
    watch = check({"run": SimpleNamespace(thing=thing)}, lambda: change(thing))
    expected = f"run.thing ({type(thing).__name__}) changed in the tries and was not put back"
    assert watch.left_behind() == [expected]
    assert lines(watch)[0] == expected


def test_an_estimator_is_read_by_what_it_stores() -> None:
    class Estimator(SimpleNamespace):
        def get_params(self) -> None: ...

        def partial_fit(self) -> None:
            self.coef_ += 1

    model = Estimator(coef_=np.zeros(2))
    assert check({"model": model}, model.partial_fit).left_behind() == [
        "model (Estimator) changed in the tries and was not put back"
    ]


def test_what_is_put_back_is_not_accused() -> None:
    thing = Stateful()
    watch = check(
        {"thing": thing},
        lambda: setattr(thing, "value", thing.value + 1),
        back=lambda: setattr(thing, "value", 0.0),
    )
    assert watch.left_behind() == watch.hints() == lines(watch) == []


def test_what_each_try_makes_anew_is_not_accused() -> None:
    thing = Stateful()
    watch = check({"thing": thing}, lambda: setattr(thing, "value", 7.0))
    assert watch.left_behind() == watch.hints() == []
    assert lines(watch) == [  # but where the repeat differed it may have been read before
        "thing.value: 0.0 when the first try began and 7.0 when its repeat began; where it decides "
        "something write thing.value = Counter(0.0) before the loop, and list it in the state",
        "thing (Stateful) is not in the state",
    ]


def test_what_is_in_the_state_is_not_looked_at() -> None:
    thing, model = Stateful(), OneTensor(inner=OneTensor())
    wrapper = OneTensor(own=False, inside=model)

    def body() -> None:
        thing.value += 1
        model._parameters["weight"] += 1
        model._modules["inner"]._parameters["weight"] += 1

    names = {"thing": thing, "wrapper": wrapper, "head": model._modules["inner"], "model": model}
    names["weight"] = model._parameters["weight"]
    assert check(names, body, inside=(thing, model)).left_behind() == []
    accused = check(names, body, inside=(thing,)).left_behind()
    assert [line.split()[0] for line in accused] == ["wrapper"]


def test_a_module_inside_twice_and_one_that_is_left_out() -> None:
    shared = OneTensor()
    model = OneTensor(first=shared, second=shared)
    model._modules["third"] = None

    def body() -> None:
        shared._parameters["weight"] += 1

    assert check({"model": model, "tail": shared}, body, inside=(model,)).left_behind() == []


def test_what_the_functions_of_a_part_use_is_in_the_state() -> None:
    first, second = Stateful(), Stateful()
    part = Part(get=lambda: first.value, set=second.load_state_dict)

    def body() -> None:
        first.value += 1
        second.value += 1

    assert check({"first": first, "second": second}, body, inside=(part,)).left_behind() == []


def test_a_variable_of_a_part_may_have_no_value_yet() -> None:
    part = Part(get=lambda: later, set=print)
    watch = check({}, lambda: None, inside=(part,))
    later = 3
    assert watch.left_behind() == []
    assert part.get() == later


def test_the_parameters_of_an_optimiser_in_the_state_are_inside() -> None:
    weight = np.ones(2)
    optimizer = SimpleNamespace(param_groups=[{"params": [weight]}])
    watch = check({"weight": weight}, lambda: weight.__iadd__(1), inside=(optimizer,))
    assert lines(watch) == []


def test_what_the_first_try_made_and_kept_is_named() -> None:
    names: dict[str, Any] = {"thing": None}

    def body() -> None:
        names["thing"] = names["thing"] or Stateful()
        names["thing"].value += 1

    expected = "thing (Stateful) was made in the first try and is not in the state"
    assert check(names, body).left_behind() == [expected]


def test_what_was_replaced_on_the_way_decides_nothing() -> None:
    names: dict[str, Any] = {}

    def body() -> None:
        if "thing" in names:
            names["thing"].value += 1
        names["thing"] = Stateful()

    assert check(names, body).left_behind() == []


def test_what_only_follows_another_is_a_suspect_and_no_proof() -> None:
    """It was put back, so its difference has another cause, such as time."""
    thing, ticks = Stateful(), itertools.count()
    watch = check(
        {"thing": thing},
        lambda: setattr(thing, "value", next(ticks)),
        back=lambda: setattr(thing, "value", 0.0),
    )
    assert watch.left_behind() == []
    assert lines(watch) == ["thing (Stateful) is not in the state"]


def test_whole_numbers_that_count_on() -> None:
    run = SimpleNamespace(steps=3, size=np.int64(5), same=1, last=0, new=None, drawn=None)
    draws, others = iter([4, 9, 2]), iter([4, 9, 2])

    def body() -> None:
        run.steps += 2
        run.size += 1
        run.last = next(draws)  # any number, as it comes
        run.drawn = next(others)
        run.new = (run.new or 0) + 1

    watch = check({"run": run}, body)
    hints = watch.hints()
    advice = "; where it decides something write {} before the loop, and list it in the state"
    assert hints == [
        "run.steps: 5 after the first try and 9 after its repeat"
        + advice.format("run.steps = Counter(3)"),
        "run.size: 6 after the first try and 8 after its repeat"
        + advice.format("run.size = Counter(5)"),
        "run.new: 1 after the first try and 3 after its repeat, so it counts tries too; use "
        "epoch.number",
    ]
    assert lines(watch) == hints


def test_numbers_that_shrink_by_a_factor_count_on_as_well() -> None:
    run = SimpleNamespace(temperature=1.0, weight=0.0, large=10**400)

    def body() -> None:
        run.temperature *= 0.9
        run.weight += 0.1
        run.large += 1

    names = [line.partition(":")[0] for line in check({"run": run}, body).hints()]
    assert names == ["run.temperature", "run.weight", "run.large"]


def test_flags_and_texts_are_the_last_to_be_named() -> None:
    run = SimpleNamespace(ready=False, phase="warm-up", note="x", same="y")

    def body() -> None:
        run.ready, run.phase, run.note = True, "late", "z" * 99

    watch = check({"run": run}, body)
    assert watch.hints() == []
    assert lines(watch) == [
        "run.ready: False when the first try began and True when its repeat began",
        "run.phase: 'warm-up' when the first try began and 'late' when its repeat began",
        f"run.note: 'x' when the first try began and '{'z' * 39}... when its repeat began",
    ]
    assert len(watch.suspects()) == 3


def test_lists_that_grow_are_a_hint_and_other_containers_only_suspects() -> None:
    run = SimpleNamespace(losses=[1.0], cache={}, same=[1], new=None)

    def body() -> None:
        run.losses.append(2.0)
        run.cache[len(run.cache)] = 1
        run.new = [1] * len(run.losses)

    watch = check({"run": run}, body)
    grew = "run.losses grew in the tries: 2 items after the first try and 4 after its repeat"
    assert watch.hints() == [
        f"{grew}; what belongs to the main line alone stands under `if epoch.main:`"
    ]
    assert lines(watch) == [
        grew,
        grew.replace("losses", "cache").replace("2", "1").replace("4", "3"),
    ]


def test_arrays_that_were_not_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    changed, anew, same, large = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(9)
    monkeypatch.setattr(watching, "_LARGEST_ARRAY", 64)
    names: dict[str, Any] = {"changed": changed, "anew": anew, "same": same, "large": large}

    def body() -> None:
        changed[:] += 1
        large[:] += 1
        anew[:] = 3
        names["new"] = changed.copy()

    watch = check(names, body)
    [line] = lines(watch)
    [hint] = watch.hints()
    assert hint == "changed: an array changed in the tries and not put back"
    assert line.startswith(f"{hint}; list it, as in state=[..., copied(changed)]")


class TensorLike(np.ndarray[Any, Any]):
    """An array with the method by which tensors are written in place."""

    def copy_(self, other: Any) -> None: ...


class ArrayLike:
    """An array of a library that is neither numpy nor like torch."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.dtype, self.shape, self.nbytes = values.dtype, values.shape, values.nbytes
        self.size, self.ndim = values.size, values.ndim

    device: Any = None
    dtype: Any = None
    shape: Any = None
    nbytes: Any = None
    size: Any = None
    ndim: Any = None

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.values


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (
            lambda: np.zeros(2).view(TensorLike),
            "state=[..., fetched], and write fetched.copy_(new)",
        ),
        (lambda: ArrayLike(np.zeros(2)), None),
    ],
)
def test_the_way_out_for_an_array_is_that_of_its_library(make: Any, way: str | None) -> None:
    names = {"fetched": make()}

    def body() -> None:
        array = names["fetched"]
        (array.values if isinstance(array, ArrayLike) else array)[:] += 1

    line = lines(check(names, body))[0]
    assert line.startswith("fetched: an array changed in the tries and not put back")
    assert (way or "put back") in line
    assert ("list it, as in" in line) == (way is not None)


@pytest.mark.parametrize(
    ("shapes", "is_copy"),
    [
        ([(2, 3), (3,)], True),
        ([(2, 3), (1,)], True),
        ([(2, 3), (4,)], False),  # no weight has this shape
        ([(1,), (1,)], False),  # averages of losses
        ([(3,), (3,)], False),  # data
    ],
)
def test_a_copy_of_weights_is_proof_and_a_table_is_not(
    shapes: list[tuple[int, ...]], is_copy: bool
) -> None:
    weights = [np.zeros((2, 3)), np.zeros(3), np.zeros(1), np.zeros(())]
    average = {n: np.zeros(shape) for n, shape in enumerate(shapes)}

    def body() -> None:
        for name in average:
            average[name] = average[name] + 1

    watch = check({"average": average}, body, inside=tuple(weights))
    kind = "2 arrays with the shapes of weights" if is_copy else "2 arrays"
    said = [f"average: {kind} changed in the tries and not put back"]
    assert (watch.left_behind(), watch.hints()) == ((said, []) if is_copy else ([], said))


@pytest.mark.parametrize("size", [1_000, 1_001])
def test_long_arrays_of_objects_are_not_looked_at(size: int) -> None:
    table = np.array([None] * size, dtype=object)

    def body() -> None:
        table[0] = (table[0] or 0) + 1

    assert bool(check({"table": table}, body).hints()) == (size == 1_000)


def test_the_best_so_far_is_a_hint_where_a_try_may_set_it() -> None:
    run = SimpleNamespace(best_loss=9.0, best_now=1.0, best_acc=0.5, loss=9.0)
    losses = iter([3.0, 2.0, 1.0])

    def body() -> None:
        run.best_loss = run.loss = min(run.best_loss, next(losses))
        run.best_now = 4.0

    hints = check({"run": run}, body).hints()
    assert [hint.partition(";")[0] for hint in hints] == [
        "run.best_loss changed in the tries: 3.0 and then 1.0"
    ]


class Walker:
    def __init__(self) -> None:
        self.place = 0

    def step(self) -> None:
        self.place += 1

    def reset(self) -> None:
        self.place = 0


class KerasLike:
    def apply_gradients(self) -> None: ...


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (KerasLike(), "it (KerasLike): an optimiser whose memory is not in the state"),
        (itertools.count(), "it (count): an iterator kept across epochs"),
        ((n for n in range(9)), "it (generator): an iterator kept across epochs"),
        (Walker(), "it (Walker): an environment that is not in the state"),
        (SimpleNamespace(persistent_workers=True), "it (SimpleNamespace): its workers keep"),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_nobody_can_read_is_a_suspect(thing: Any, text: str) -> None:
    watch = check({"it": thing}, lambda: None)
    assert [line.startswith(text) for line in lines(watch)] == [True]
    assert watch.left_behind() == watch.hints() == []


def test_an_iterator_that_each_epoch_makes_anew_is_no_suspect() -> None:
    names: dict[str, Any] = {}

    def body() -> None:
        names["it"] = (n for n in range(3))

    assert lines(check(names, body)) == []


def test_what_cannot_be_looked_at_is_passed_over() -> None:
    class SparseArray(np.ndarray[Any, Any]):
        @property
        def nbytes(self) -> int:
            raise RuntimeError("no memory of its own")

    class Closed(Stateful):
        def state_dict(self) -> Any:
            raise RuntimeError("not now")

    watch = check({"sparse": np.zeros(2).view(SparseArray), "closed": Closed()}, lambda: None)
    assert lines(watch) == watch.left_behind() == []


def test_open_files_and_clocks_decide_nothing() -> None:
    names: dict[str, Any] = {"log": io.StringIO("lines"), "elapsed": 0.5, "began": time.time()}

    def body() -> None:
        names.update(elapsed=names["elapsed"] + 0.25 * random.random(), began=time.time())

    assert check(names, body).suspects()[0].startswith("nothing that changed")
    # A number like that under another name may decide something.
    drawn: dict[str, Any] = {"share": 0.5}
    [line] = check(drawn, lambda: drawn.update(share=random.random())).suspects()
    assert line.startswith("share: 0.5 when the first try began and")
    assert line.endswith("write share = Counter(0.5) before the loop, and list it in the state")


def test_what_is_inside_of_a_thing_in_the_state_is_not_accused() -> None:
    class Envs:
        def __init__(self) -> None:
            self.envs = [Walker()]

    envs = Envs()
    part = Part(get=lambda: envs, set=print)
    (line,) = check({"envs": envs}, lambda: None, inside=(part,)).suspects()
    assert line.startswith("nothing that changed")
    (line,) = check({"envs": envs}, lambda: None).suspects()
    assert line.startswith("envs.envs[0] (Walker): an environment")


def test_what_the_next_epoch_goes_on_from_comes_first_and_what_it_makes_anew_not_at_all() -> None:
    names: dict[str, Any] = {"obs": np.zeros(2), "buffer": np.zeros(3), "out": np.zeros(2)}
    tries = itertools.count(1)

    def run() -> None:
        names["obs"] = np.full(2, float(next(tries)))
        names["buffer"] += names["obs"].sum()
        names["out"] = names["obs"] + 1

    watch = Watch(
        lambda: in_reach(names),
        (),
        read_state,
        body=lambda: Body(anew={"out"}, carried={"obs"}),
    )
    for moment in (watch.first_try_ended, watch.back_at_origin, lambda: None):
        run()
        moment()
    first, second = watch.suspects()
    assert first.startswith("obs: an array changed")
    assert second.startswith("buffer: an array changed")
