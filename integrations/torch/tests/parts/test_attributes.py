"""Plain attributes as a part: put back in place, references of others kept, nothing compared."""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from typing import Any

import numpy as np
import torch
from torch import nn

from dynhp.selfcheck.fingerprint import fingerprint
from dynhp_torch.parts import attributes_part, frozen


class Keeper:
    """Everything that a callback may keep."""

    def __init__(self) -> None:
        self.steps, self.losses, self.last = 1, [0.5], deque([1, 2], maxlen=2)
        self.scores = {"a": [torch.ones(2)]}
        self.average, self.table = torch.zeros(2), np.zeros(2)
        self.rng, self.model, self.writer = random.Random(0), nn.Linear(2, 1), object()


def test_all_of_it_is_put_back_and_the_objects_stay_the_same() -> None:
    keeper = Keeper()
    part = attributes_part(lambda: [keeper], name="the keeper")
    losses, average, writer, weight = (
        *(keeper.losses, keeper.average, keeper.writer),
        keeper.model.weight.clone(),
    )
    drawn = random.Random(0).random()
    state = part.get()
    for _ in range(2):  # a state can be taken back again and again
        keeper.steps, keeper.new = 9, True  # type: ignore[attr-defined]
        keeper.losses.append(0.1)
        keeper.last.append(7)
        keeper.scores["a"][0].add_(1)
        keeper.average.add_(1)
        keeper.table += 1
        keeper.rng.random()
        nn.init.zeros_(keeper.model.weight)
        part.set(state)
        assert (keeper.steps, list(keeper.last), hasattr(keeper, "new")) == (1, [1, 2], False)
        assert keeper.losses is losses
        assert losses == [0.5]
        assert keeper.average is average
        assert average.tolist() == keeper.table.tolist() == [0, 0]
        assert keeper.scores["a"][0].tolist() == [1, 1]
        assert keeper.rng.random() == drawn
        assert torch.equal(keeper.model.weight, weight)
        assert keeper.writer is writer


def test_of_data_only_numbers_and_generators_are_taken() -> None:
    keeper = Keeper()
    part = attributes_part(lambda: [keeper], name="the data", data=False)
    state = part.get()
    keeper.steps = 9
    keeper.losses.append(0.1)
    part.set(state)
    assert (keeper.steps, keeper.losses) == (1, [0.5, 0.1])


def test_times_in_attributes_do_not_make_states_differ() -> None:
    keeper: Any = Keeper()
    part = attributes_part(lambda: [keeper], name="the keeper")
    before = fingerprint(part.get())
    keeper.began = 12.5
    assert before.difference(fingerprint(part.get())) is None


def test_what_was_frozen_does_not_change() -> None:
    weights = OrderedDict(w=nn.Parameter(torch.ones(1)))
    weights._metadata = {"version": 1}  # type: ignore[attr-defined]
    copy = frozen(weights)
    with torch.no_grad():
        weights["w"].zero_()
    assert copy["w"].tolist() == [1.0]
    assert copy._metadata == {"version": 1}
