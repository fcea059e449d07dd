"""Plain attributes are put back as they were: what they hold, and which of them are one object."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynhp_torch.parts import attributes_part

MAKERS: list[Callable[[int], Any]] = [
    lambda number: torch.tensor([float(number)]),
    lambda number: np.array([number]),
    lambda number: [number],
    lambda number: deque([number], maxlen=3),
    lambda number: {"n": number},
    lambda number: defaultdict(int, n=number),
    lambda number: OrderedDict(n=number),
    lambda number: Counter(n=number),
    lambda number: {number},
    lambda number: ([number], torch.tensor([number])),
]


def put_back(owner: SimpleNamespace, change: Callable[[SimpleNamespace], None]) -> None:
    """A try that changes the owner, and is undone."""
    part = attributes_part(lambda: [owner], name="the owner")
    state = part.get()
    change(owner)
    part.set(state)


def test_a_best_that_the_try_made_the_last_one_too_is_put_back() -> None:
    owner = SimpleNamespace(best=torch.tensor(0.5), last=torch.tensor(0.6))

    def improve(owner: SimpleNamespace) -> None:
        owner.best = owner.last = torch.tensor(0.4)

    put_back(owner, improve)
    assert (owner.best, owner.last) == (torch.tensor(0.5), torch.tensor(0.6))


@given(
    kind=st.sampled_from(MAKERS),
    before=st.lists(st.integers(0, 2), min_size=3, max_size=3),
    after=st.lists(st.integers(0, 2), min_size=3, max_size=3),
)
def test_names_of_one_object_are_names_of_one_object_again(
    kind: Callable[[int], Any], before: list[int], after: list[int]
) -> None:
    things, others = [kind(number) for number in range(3)], [kind(9) for _ in range(3)]
    owner = SimpleNamespace(**{f"a{i}": things[place] for i, place in enumerate(before)})
    owner.inside = {"deep": [things[before[0]]]}

    def mix(owner: SimpleNamespace) -> None:
        for i, place in enumerate(after):
            setattr(owner, f"a{i}", (things if place else others)[place])
        owner.inside["deep"].append(others[0])
        owner.inside = {"deep": [others[1]]}

    put_back(owner, mix)
    for i, place in enumerate(before):
        assert repr(getattr(owner, f"a{i}")) == repr(kind(place))
        if kind is not MAKERS[-1]:  # a tuple never changes, so a copy is as good
            assert getattr(owner, f"a{i}") is things[place]
    assert [repr(each) for each in owner.inside["deep"]] == [repr(kind(before[0]))]


def test_whoever_holds_a_list_or_tensor_sees_it_put_back() -> None:
    losses, mean = [1.0], torch.tensor([1.0])
    owner = SimpleNamespace(losses=losses, mean=mean, twice=losses)

    def train(owner: SimpleNamespace) -> None:
        owner.losses.append(2.0)
        owner.mean.add_(1)
        owner.losses, owner.mean = [], torch.zeros(3)

    put_back(owner, train)
    assert owner.losses is losses is owner.twice
    assert losses == [1.0]
    assert owner.mean is mean
    assert mean == torch.tensor([1.0])


def test_what_validation_made_in_inference_mode_is_put_back() -> None:
    with torch.inference_mode():
        owner = SimpleNamespace(last=torch.tensor(0.6) * 1, seen=torch.zeros(1))

    def validate(owner: SimpleNamespace) -> None:
        with torch.inference_mode():
            owner.last = torch.tensor(0.4) * 1
            owner.seen.add_(1)

    put_back(owner, validate)
    assert owner.last == torch.tensor(0.6)
    assert owner.seen == torch.zeros(1)


def test_a_tensor_that_cannot_be_written_into_is_put_back() -> None:
    base = torch.zeros(1)
    owner = SimpleNamespace(wide=base.expand(3), loss=torch.ones(1, requires_grad=True) * 2)

    def train(owner: SimpleNamespace) -> None:
        base.add_(1)
        owner.loss = owner.loss + 1

    put_back(owner, train)
    assert torch.equal(owner.wide, torch.zeros(3))
    assert owner.loss == torch.tensor([2.0])


def test_a_tensor_that_is_trained_stays_the_one_of_its_optimiser() -> None:
    alpha = torch.zeros(1, requires_grad=True)
    alpha.grad = torch.ones(1)
    owner = SimpleNamespace(alpha=alpha)
    optimizer = torch.optim.SGD([alpha], lr=0.1)

    def train(owner: SimpleNamespace) -> None:
        optimizer.step()
        optimizer.zero_grad()

    put_back(owner, train)
    assert owner.alpha is alpha
    assert alpha.requires_grad
    assert alpha.item() == 0.0
    assert alpha.grad == torch.ones(1)


def test_a_list_that_holds_itself_is_put_back() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    owner = SimpleNamespace(ring=ring)
    put_back(owner, lambda owner: owner.ring.clear())
    assert owner.ring is ring
    assert ring[0] == 1
    assert ring[1] is ring


def test_an_array_that_was_replaced_or_locked_is_put_back() -> None:
    owner = SimpleNamespace(rows=np.zeros(2), fixed=np.ones(2))

    def train(owner: SimpleNamespace) -> None:
        owner.rows[:] = 5
        owner.rows = np.zeros(7)
        owner.fixed[:] = 5
        owner.fixed.setflags(write=False)

    put_back(owner, train)
    assert owner.rows.tolist() == [0, 0]
    assert owner.fixed.tolist() == [1, 1]


@pytest.mark.parametrize("make", MAKERS)
def test_two_states_of_one_object_do_not_share_anything(make: Callable[[int], Any]) -> None:
    owner = SimpleNamespace(thing=make(1))
    part = attributes_part(lambda: [owner], name="the owner")
    first = part.get()
    owner.thing = make(2)
    second = part.get()
    for state, number in ((first, 1), (second, 2), (first, 1), (second, 2)):
        part.set(state)
        assert repr(owner.thing) == repr(make(number))


class Meter:
    """As in many scripts: a helper that sums up."""

    def __init__(self) -> None:
        self.sum, self.count, self.values = 0.0, 0, deque([0.0], maxlen=5)
        self.how, self.place = max, PurePath("losses.txt")

    def update(self, value: float) -> None:
        self.sum, self.count = self.sum + value, self.count + 1
        self.values.append(value)


class WeightsBeside:
    """As in many scripts: averaged weights beside the model."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model, self.weights = model, [each.detach().clone() for each in model.parameters()]


def test_helpers_that_hold_nothing_but_data_are_put_back() -> None:
    model = torch.nn.Linear(1, 1)
    owner = SimpleNamespace(
        meter=Meter(), shadow=WeightsBeside(model), options=SimpleNamespace(seen=[])
    )
    owner.meters = {"train": owner.meter}
    meter, wanted = owner.meter, owner.shadow.weights[0].clone()

    def train(owner: SimpleNamespace) -> None:
        owner.meter.update(3.0)
        owner.meter.best = 3.0
        owner.shadow.weights[0].add_(1)
        owner.options.seen.append(1)
        owner.meters["train"] = owner.meter = Meter()

    put_back(owner, train)
    assert owner.meter is meter is owner.meters["train"]
    assert (meter.sum, meter.count, list(meter.values)) == (0.0, 0, [0.0])
    assert not hasattr(meter, "best")
    assert owner.options.seen == []
    assert torch.equal(owner.shadow.weights[0], wanted)


class CountingRows(torch.utils.data.Dataset[int]):
    def __init__(self) -> None:
        self.rows, self.reads = [1, 2], 0


class Sender:
    """Keeps what it has not sent yet: the file and the list belong together."""

    def __init__(self, path: Path) -> None:
        self.file, self.waiting = path.open("w"), ["a"]


def test_data_sets_and_what_holds_a_file_are_left_alone(tmp_path: Path) -> None:
    owner = SimpleNamespace(rows=CountingRows(), sender=Sender(tmp_path / "sent.txt"))

    def train(owner: SimpleNamespace) -> None:
        owner.rows.reads += 1
        owner.sender.waiting.clear()

    put_back(owner, train)
    assert owner.rows.reads == 1
    assert owner.sender.waiting == []
    owner.sender.file.close()
