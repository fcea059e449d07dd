"""Loops that count as their user does, and loops that go through things such as batches."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dynhp import adapt
from dynhp.errors import LoopError, NotRepeatable, SettingsError
from dynhp.loops import Epoch
from dynhp.tails import annealed
from dynhp.testing.toys.quadratic import NoisyQuadratic
from dynhp.triggers import At
from tests.support.loops import loop_over, seen, train
from tests.support.messages import raises


class Loader:
    """Batches of numbers, shuffled anew each time, as loaders do it: it has a length, no places."""

    def __init__(self, number: int, *, noisy: bool = False) -> None:
        self.number = number
        self.noisy = noisy
        self.opened = 0

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[list[float]]:
        self.opened += 1
        order = list(range(self.number))
        random.shuffle(order)
        for place in order:
            yield [place / 10, random.random() if self.noisy else 0.5]


class Model:
    """It trains on items, with noise of the global generator, and follows a rate."""

    def __init__(self) -> None:
        self.weight = 1.0

    def get_state(self) -> float:
        return self.weight

    def set_state(self, state: float) -> None:
        self.weight = state

    def train(self, item: Any, rate: float) -> None:
        x, noise = item
        self.weight -= rate * (self.weight - x - noise - 0.1 * random.random())


def over(model: Model, things: Any, **settings: Any) -> Any:
    known = {"space": {"rate": [0.1, 0.3]}, "minimize": "loss", "adapt_every": 4, "try_for": 2}
    return adapt(steps=things, state=[model], **{**known, **settings})


def plain(things: Any, rate: float) -> list[float]:
    random.seed(7)
    model = Model()
    for item in things:
        model.train(item, rate)
    return [model.weight, random.random()]


def adapted(things: Any, **settings: Any) -> list[float]:
    random.seed(7)
    model = Model()
    loop = over(model, things, **settings)
    for item in loop:
        model.train(item, loop.now["rate"])
        loop.now.report(loss=model.weight**2)
    return [model.weight, random.random()]


@pytest.mark.parametrize("numbers", [range(1, 41), range(0, 80, 2), range(40, 0, -1)], ids=str)
def test_a_loop_counts_as_its_range_counts(numbers: range) -> None:
    model, counted = NoisyQuadratic(), NoisyQuadratic()
    loop = loop_over(counted, numbers, dry_run=True)
    main = []
    for epoch in loop:
        train(counted, epoch)
        assert epoch == numbers[epoch.number]
        assert loop.now is epoch
        if epoch.main or epoch.place == 1:  # LRS[1] is in force and proposed first
            main.append(int(epoch))
    for epoch in loop_over(model, len(numbers), dry_run=True):
        train(model, epoch)
    assert seen(model) == seen(counted)
    assert set(main) == set(numbers)
    assert [number for number, _ in loop.history.measured] == list(range(40))
    assert (len(loop), loop.adapter.epoch) == (40, 40)


def test_a_range_is_counted_in_saved_loops_and_in_messages() -> None:
    def loop(model: NoisyQuadratic, **settings: Any) -> Any:
        return loop_over(model, range(1, 10), **settings)

    model, again = NoisyQuadratic(), NoisyQuadratic()
    whole = loop(model)
    for epoch in whole:
        train(model, epoch)
        if epoch.main and epoch == 5:
            saved = whole.state_dict(), model.get_state()
    rest = loop(again)
    rest.load_state_dict(saved[0])
    again.set_state(saved[1])
    numbers = []
    for epoch in rest:
        train(again, epoch)
        numbers.append(int(epoch))
    assert (numbers[0], seen(again)) == (6, seen(model))
    with raises(LoopError):
        for _ in loop_over(model, None, steps=range(1, 10)):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize(
    "things",
    [
        lambda: [[n / 10, 0.3] for n in range(12)],
        lambda: tuple([n / 10, 0.3] for n in range(12)),
        lambda: deque([n / 10, 0.3] for n in range(12)),
        lambda: np.full((12, 2), 0.25),
        lambda: Loader(12),
        lambda: Loader(12, noisy=True),
    ],
)
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_a_dry_run_over_things_ends_as_the_plain_loop(things: Any, rate: float) -> None:
    made = adapted(things(), initial={"rate": rate}, dry_run=True, adapt_every=5)
    assert made == plain(things(), rate)


def test_each_try_is_given_the_same_things_and_the_main_line_the_rest() -> None:
    loader, given = Loader(8, noisy=True), []
    model = Model()
    loop = over(model, loader, check="off")
    for item in loop:
        given.append((loop.now.number, tuple(item)))
        item[0] += 5  # what a body does to its item stays its own affair
        model.train(item, loop.now["rate"])
        loop.now.report(loss=model.weight**2)
    assert [number for number, _ in given] == [0, 1, 0, 1, 2, 3, 4, 5, 4, 5, 6, 7]
    assert len(set(given)) == 8
    assert loader.opened == 1


def test_tries_that_are_independent_draw_for_themselves() -> None:
    drawn: list[tuple[int, float]] = []
    model = Model()
    loop = over(model, Loader(4, noisy=True), check="off", randomness="independent")
    for item in loop:
        drawn.append((loop.now.number, random.random()))
        model.train(item, loop.now["rate"])
        loop.now.report(loss=model.weight**2)
    assert [number for number, _ in drawn[:4]] == [0, 1, 0, 1]
    assert len(set(drawn)) == len(drawn)


def test_things_that_are_numbers_are_epochs() -> None:
    class Wrapped:  # as tqdm(range(...)) is
        def __len__(self) -> int:
            return 9

        def __iter__(self) -> Iterator[int]:
            return iter(range(1, 10))

    for numbers in (Wrapped(), [1, 2, 3, 4, 5, 6, 7, 8, 9]):
        model, given = NoisyQuadratic(), []
        for epoch in loop_over(model, numbers):  # type: ignore[arg-type]
            assert isinstance(epoch, Epoch)
            train(model, epoch)
            given.append(int(epoch))
        assert sorted(set(given)) == list(range(1, 10))


def test_a_number_of_numpy_is_a_number_although_it_could_be_gone_through() -> None:
    assert len(over(Model(), np.array(12))) == 12


def test_what_has_no_length_is_refused() -> None:
    for things in (iter([1, 2]), enumerate([1, 2]), "40", {"a": 1}, [], Loader(0), -1):
        with raises(SettingsError):
            over(Model(), things)


def test_a_length_that_is_not_true_is_an_error() -> None:
    class Short(Loader):
        def __len__(self) -> int:
            return 9

        def __repr__(self) -> str:
            return "Short()"

    with raises(LoopError):
        adapted(Short(6))


@pytest.mark.parametrize(
    "settings",
    [{"start_from": "best", "max_rounds": 2}, {"tail": annealed("rate", epochs=2)}],
    ids=str,
)
def test_what_is_gone_through_once_cannot_go_back(settings: Any) -> None:
    class Named(Loader):
        def __repr__(self) -> str:
            return "Named()"

    with raises(SettingsError):
        over(Model(), Named(8), **settings)
    things = [[n / 10, 0.3] for n in range(8)]
    assert adapted(things, **settings)  # a list can


def test_a_saved_loop_goes_on_in_a_list_and_not_in_a_loader() -> None:
    things = [[n / 10, 0.3] for n in range(8)]
    for source in (things, Loader(8)):
        model = Model()
        loop = over(model, source)
        for item in loop:
            model.train(item, loop.now["rate"])
            loop.now.report(loss=model.weight**2)
            if loop.now.main and loop.now == 3:
                saved = loop.state_dict(), model.weight, random.getstate()
        rest = over(Model(), source)
        if source is not things:
            with raises(LoopError):
                rest.load_state_dict(saved[0])
            continue
        again = Model()
        rest = over(again, source)
        rest.load_state_dict(saved[0])
        again.weight = saved[1]
        random.setstate(saved[2])
        for item in rest:
            again.train(item, rest.now["rate"])
            rest.now.report(loss=again.weight**2)
        assert again.weight == model.weight


def test_a_thing_that_is_forgotten_is_noticed_as_ever() -> None:
    seen_so_far: list[float] = []
    model = Model()
    loop = over(model, Loader(8))

    def run() -> None:
        for item in loop:
            seen_so_far.append(0.1)
            model.train([len(seen_so_far), item[1]], loop.now["rate"])
            loop.now.report(loss=model.weight**2)

    with pytest.raises(NotRepeatable):  # its text has numbers of the generator
        run()


def test_a_body_may_write_into_what_a_list_gives_it() -> None:
    batches = [{"x": np.full(2, float(number))} for number in range(6)]
    seen: list[tuple[bool, float]] = []
    loop = over(Model(), batches, check="off")
    for batch in loop:
        x = batch.pop("x")
        x += 100
        seen.append((loop.now.main, float(x[0])))
        loop.now.report(loss=1.0 + loop.now["rate"])
    assert all(100 <= value < 106 for _, value in seen), "no try met what another has written"


def test_where_a_tail_ends_after_the_run_a_missing_report_is_still_told() -> None:
    loop = adapt(steps=20, state=[Model()], space={"rate": [0.1, 0.2]}, minimize="loss",
                 when=At([15]), try_for=1, tail=annealed("rate", epochs=10))  # fmt: skip
    with pytest.raises(LoopError, match=r"steps 15 to 25 passed without one"):
        [step["rate"] for step in loop]
