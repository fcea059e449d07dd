"""A ``StatefulDataLoader`` goes back exactly: between epochs, within one, left with break."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import (
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from dynhp.errors import Hint, NotRepeatable, SettingsError
from dynhp.loops.parts import stateful_part
from dynhp.testing import check_trainer
from dynhp_torch import adapt, attribute, torch_trainer
from dynhp_torch.parts import torch_part
from tests.support.messages import raises

torchdata = pytest.importorskip("torchdata.stateful_dataloader")
Loader = torchdata.StatefulDataLoader

INPUTS = torch.randn(40, 4, generator=torch.Generator().manual_seed(3))
DATA = TensorDataset(INPUTS, INPUTS.sum(1, keepdim=True))


def loader_of(own_generator: bool, **more: Any) -> Any:
    generator = torch.Generator().manual_seed(1) if own_generator else None
    settings = {"batch_size": 8, "shuffle": True, "generator": generator, **more}
    return Loader(DATA, **settings)


class WithDropout:
    """A model, an optimiser and a loader, and the ways in which people go through a loader."""

    def __init__(self, own_generator: bool = True, **more: Any) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.loader = loader_of(own_generator, **more)

    def step(self, batch: Any) -> float:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(batch[0]), batch[1])
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def loop(self, length: dict[str, int], dry: bool) -> Any:
        if not dry:
            return range(next(iter(length.values())))
        return adapt(
            **length,
            state=[self.model, self.optimizer, self.loader],
            lr=[0.01, 0.05, 0.1],
            minimize="loss",
            adapt_every=6,
            try_for=2,
            dry_run=True,
        )

    def whole_epochs(self, dry: bool) -> None:
        for epoch in self.loop({"epochs": 14}, dry):
            for batch in self.loader:
                loss = self.step(batch)
            report(epoch, loss)

    def left_with_break(self, dry: bool) -> None:
        for epoch in self.loop({"epochs": 14}, dry):
            for batch in itertools.islice(self.loader, 3):
                loss = self.step(batch)
            report(epoch, loss)

    def an_iterator_that_is_kept(self, dry: bool) -> None:
        batches = iter(self.loader)
        for step in self.loop({"steps": 33}, dry):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(self.loader)
                batch = next(batches)
            report(step, self.step(batch))

    def a_generator_over_epochs(self, dry: bool) -> None:
        def batches() -> Iterator[Any]:
            while True:
                yield from self.loader

        endless = batches()
        for step in self.loop({"steps": 33}, dry):
            report(step, self.step(next(endless)))

    def weights(self) -> Any:
        return torch.cat([each.detach().flatten() for each in self.model.parameters()])


def report(epoch: Any, loss: float) -> None:
    if not isinstance(epoch, int) or hasattr(epoch, "report"):
        epoch.report(loss=loss)


WAYS: list[Callable[..., None]] = [
    WithDropout.whole_epochs,
    WithDropout.left_with_break,
    WithDropout.an_iterator_that_is_kept,
    WithDropout.a_generator_over_epochs,
]


@pytest.mark.parametrize("own_generator", [True, False], ids=["own generator", "global generator"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_dry_run_is_the_plain_loop_to_the_bit(way: Any, own_generator: bool) -> None:
    ends = []
    for dry in (False, True):
        training = WithDropout(own_generator)
        way(training, dry)
        ends.append((training.weights(), torch.rand(3)))  # the global generator goes on alike
    assert all(map(torch.equal, *ends))


def test_a_state_dict_alone_would_not_do() -> None:
    """What this part is for: asked in the usual way, each of these loops is refused."""
    training = WithDropout()

    def usual(thing: Any) -> Any:
        return stateful_part(thing) if thing is training.loader else torch_part(thing)

    state = [training.model, training.optimizer, training.loader]
    options: Any = {"minimize": "loss", "adapt_every": 6, "try_for": 2, "as_part": usual}

    def train() -> None:
        for epoch in adapt(12, state=state, lr=[0.01, 0.05], **options):
            for batch in training.loader:
                loss = training.step(batch)
            epoch.report(loss=loss)

    with pytest.raises(NotRepeatable):
        train()


def test_automatic_state_takes_the_loader() -> None:
    training = WithDropout(own_generator=False)
    model, optimizer, loader = training.model, training.optimizer, training.loader
    with warnings.catch_warnings(record=True) as lines:
        warnings.simplefilter("always")
        loop = adapt(12, state="auto", lr=[0.01, 0.05, 0.1], minimize="loss", adapt_every=6,
                     try_for=2, dry_run=True)  # fmt: skip
    text = " ".join(str(line.message) for line in lines if line.category is Hint)
    assert "loader (StatefulDataLoader)" in text
    for epoch in loop:
        for batch in loader:
            loss = training.step(batch)
        epoch.report(loss=loss)
    assert len(loop.history) == 2
    del model, optimizer
    plain = WithDropout(own_generator=False)
    for _ in range(12):
        for batch in plain.loader:
            plain.step(batch)
    assert torch.equal(plain.weights(), training.weights())


# --- the part by itself


@given(before=st.integers(0, 12), after=st.integers(0, 12), own=st.booleans())
def test_from_any_place_the_same_batches_follow(before: int, after: int, own: bool) -> None:
    torch.manual_seed(5)
    loader = loader_of(own)
    generators = torch_part(torch.default_generator)
    part, held = torch_part(loader), [iter(loader)]

    def take(count: int) -> list[Any]:
        batches = []
        for _ in range(count):
            batch = next(held[0], None)
            if batch is None:
                held[0] = iter(loader)
                batch = next(held[0])
            batches.append(batch[0].tolist())
        return batches

    take(before)
    state, rest = part.get(), generators.get()
    kept = copy.deepcopy(state)
    first = take(7)
    take(after)
    part.set(state)
    generators.set(rest)
    assert take(7) == first
    assert str(state) == str(kept)  # nothing was written into it


def test_taking_the_state_makes_no_iterator_and_draws_nothing() -> None:
    torch.manual_seed(0)
    loader = loader_of(own_generator=False)
    before = torch.get_rng_state()
    torch_part(loader).get()
    assert torch.equal(before, torch.get_rng_state())
    assert loader._iterator is None


def test_a_state_that_the_user_loaded_and_has_not_begun() -> None:
    loader = loader_of(own_generator=True)
    batches = iter(loader)
    next(batches)
    saved = copy.deepcopy(loader.state_dict())
    wanted = [batch[0].tolist() for batch in batches]
    loader.load_state_dict(saved)
    part = torch_part(loader)
    state = part.get()
    assert [batch[0].tolist() for batch in loader] == wanted
    part.set(state)
    assert [batch[0].tolist() for batch in loader] == wanted


def test_another_process_goes_on_within_the_epoch() -> None:
    first, second = loader_of(own_generator=True), loader_of(own_generator=True)
    batches = iter(first)
    next(batches)
    state = torch_part(first).get()
    torch_part(second).set(state)
    rest, resumed = list(batches), list(second)
    assert [b[0].tolist() for b in resumed] == [b[0].tolist() for b in rest]


class CountedStream(IterableDataset[int]):
    """A stream that knows its own place."""

    def __init__(self) -> None:
        self.place = 0

    def __iter__(self) -> Iterator[int]:
        while self.place < 20:
            self.place += 1
            yield self.place
        self.place = 0

    def state_dict(self) -> dict[str, int]:
        return {"place": self.place}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.place = state["place"]


def test_a_stream_with_a_state_of_its_own() -> None:
    loader = Loader(CountedStream(), batch_size=4)
    part, batches = torch_part(loader), iter(loader)
    next(batches)
    state = part.get()
    wanted = [batch.tolist() for batch in batches]
    part.set(state)
    assert [batch.tolist() for batch in batches] == wanted == [
        [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16], [17, 18, 19, 20],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sampler",
    [RandomSampler(DATA), WeightedRandomSampler(torch.ones(40), 40), SubsetRandomSampler(range(9))],
    ids=lambda sampler: type(sampler).__name__,
)
def test_an_order_that_the_sampler_does_not_remember_is_refused_within_an_epoch(
    sampler: Any,
) -> None:
    loader = Loader(DATA, batch_size=4, sampler=sampler)
    part, batches = torch_part(loader), iter(loader)
    next(batches)
    with raises(SettingsError):
        part.get()
    list(batches)
    part.get()  # at the end of the epoch all is well


def test_worker_processes_between_epochs_and_within_one() -> None:
    torch.manual_seed(0)
    loader = loader_of(own_generator=True, num_workers=1)
    part = torch_part(loader)
    list(loader)
    state = part.get()
    wanted = [batch[0].tolist() for batch in loader]
    part.set(state)
    assert [batch[0].tolist() for batch in loader] == wanted
    batches = iter(loader)
    next(batches)
    with raises(SettingsError):
        part.get()
    list(batches)


def test_the_laws_hold_with_such_a_loader() -> None:
    def make() -> Any:
        training = WithDropout()

        def train_epoch(values: Any) -> None:
            training.model.train()
            for batch in training.loader:
                training.step(batch)

        def evaluate() -> dict[str, float]:
            training.model.eval()
            with torch.no_grad():
                return {"loss": training.model(INPUTS).square().mean().item()}

        return torch_trainer(
            state=[training.model, training.optimizer, training.loader],
            train_epoch=train_epoch,
            evaluate=evaluate,
            bind={"p": attribute(training.model, "2.p")},
        )

    check_trainer(make, {"p": [0.1, 0.3]}, epochs=1, another_process=False)
