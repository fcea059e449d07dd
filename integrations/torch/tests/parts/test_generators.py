"""Generators, samplers and loaders draw again what they drew; accelerators are included."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, TensorDataset

from dynhp.errors import SettingsError
from dynhp_torch.parts import torch_generators, torch_part
from tests.support.messages import raises


def drawn(thing: Any) -> list[int]:
    return [int(index) for index in thing]


def test_generators_samplers_and_loaders() -> None:
    data = TensorDataset(torch.arange(20))
    own = torch.Generator().manual_seed(0)
    sampler = RandomSampler(data, generator=torch.Generator().manual_seed(1))
    loader: Any = DataLoader(
        data, sampler=RandomSampler(data, generator=torch.Generator()), generator=own
    )
    order = lambda: [int(batch[0]) for batch in loader]  # noqa: E731
    for thing, draw in ((sampler, lambda: drawn(sampler)), (loader, order)):
        part = torch_part(thing)
        assert part.reseed is not None
        state = part.get()
        first = draw()
        part.set(state)
        assert draw() == first != draw()
        part.reseed(9)
        seeded = draw()
        part.reseed(9)
        assert draw() == seeded
    part = torch_part(own)
    assert part.reseed is not None
    part.reseed(2**63 - 1)
    assert own.initial_seed() == 2**63 - 1


def test_samplers_with_other_generators_or_an_epoch() -> None:
    sampler: Any = torch.utils.data.SequentialSampler([1, 2])
    for source in (np.random.default_rng(0), random.Random(0)):
        sampler.generator = source
        part = torch_part(sampler)
        state = part.get()
        first = source.random()
        part.set(state)
        assert source.random() == first
    distributed: Any = DistributedSampler(list(range(8)), num_replicas=1, rank=0)
    part = torch_part(distributed)
    state = part.get()
    first = list(distributed)
    distributed.set_epoch(3)
    assert list(distributed) != first
    part.set(state)
    assert list(distributed) == first


class StatefulLoader(DataLoader[Any]):
    """Like torchdata's: it knows its position."""

    position = 0

    def state_dict(self) -> dict[str, int]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.position = state["position"]


def test_a_stateful_loader_keeps_its_position() -> None:
    loader = StatefulLoader(TensorDataset(torch.arange(3)))
    part = torch_part(loader)
    state = part.get()
    loader.position = 7
    part.set(state)
    assert loader.position == 0


def test_persistent_workers_are_refused() -> None:
    loader: Any = DataLoader(TensorDataset(torch.arange(3)), num_workers=1, persistent_workers=True)
    with raises(SettingsError):
        torch_part(loader)


def test_accelerators_are_taken_care_of(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def noted(name: str, answer: Any = None) -> Any:
        def note(*given: Any) -> Any:
            calls.append((name, *given))
            return answer

        return note

    state = torch.tensor([1, 255], dtype=torch.uint8)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: [state])
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", noted("cuda"))
    monkeypatch.setattr(torch.cuda, "manual_seed_all", noted("cuda seed"))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: state)
    monkeypatch.setattr(torch.mps, "set_rng_state", noted("mps"))
    _, cuda, mps = torch_generators()
    cuda.set(cuda.get())  # not started: not touched
    assert calls == []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    cuda.set(cuda.get())
    assert cuda.reseed is not None
    cuda.reseed(3)
    assert calls == [("cuda", [state]), ("cuda seed", 3)]
    mps.set(mps.get())
    assert calls[2:] == [("mps", state)]
    cuda.set([[1, 255]])  # as JSON stores it
    mps.set([1, 255])
    assert [torch.equal(given, state) for given in (calls[3][1][0], calls[4][1])] == [True, True]
