"""Random generators: torch's own, and those inside samplers and data loaders."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp.loops.parts import HasStateDict, Parts, stateful_part
from dynhp_torch.parts.stateful_loaders import is_stateful_loader, position_part

__all__ = ["data_part", "generator_part", "torch_generators"]


def generator_part(generator: torch.Generator) -> Part:
    """A generator of torch.

    >>> generator = torch.Generator().manual_seed(0)
    >>> part = generator_part(generator); state = part.get()
    >>> first = torch.rand(1, generator=generator)
    >>> part.set(state); bool(first == torch.rand(1, generator=generator))
    True
    """

    def reseed(seed: int) -> None:
        generator.manual_seed(seed)

    def set_state(state: Any) -> None:
        generator.set_state(_bytes(state))

    return Part(get=generator.get_state, set=set_state, reseed=reseed)


def _bytes(state: Any) -> torch.Tensor:
    """The state of a generator, which a file of JSON has as a list of numbers."""
    return torch.as_tensor(state, dtype=torch.uint8, device="cpu")


def torch_generators() -> tuple[Part, ...]:
    """The global generators of the processor and of the accelerators that are there.

    >>> generator = torch_generators()[0]; state = generator.get()
    >>> first = torch.rand(1); generator.set(state); bool(first == torch.rand(1))
    True
    """
    parts = [replace(generator_part(torch.default_generator), name="torch's global generator")]
    if torch.cuda.is_available():
        parts.append(
            Part(
                get=_cuda_states,
                set=_set_cuda_states,
                reseed=torch.cuda.manual_seed_all,
                name="torch.cuda",
            )
        )
    if torch.backends.mps.is_available():
        mps = torch.mps
        parts.append(
            Part(
                get=mps.get_rng_state,
                set=lambda state: mps.set_rng_state(_bytes(state)),
                reseed=mps.manual_seed,
                name="torch.mps",
            )
        )
    return tuple(replace(part, shared=True) for part in parts)


def _cuda_states() -> list[torch.Tensor]:
    # Reading the states would start CUDA in a program that has not used it.
    started = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return torch.cuda.get_rng_state_all() if started else []


def _set_cuda_states(states: list[Any]) -> None:
    if states:
        torch.cuda.set_rng_state_all([_bytes(each) for each in states])


def data_part(thing: Any) -> Part:
    """A sampler or a loader: its own state where it has one, and every generator inside it.

    Without a generator of its own it draws from torch's global one, which is always in the state.

    >>> sampler = torch.utils.data.RandomSampler(range(9), generator=torch.Generator())
    >>> part = data_part(sampler); state = part.get()
    >>> order = list(sampler); part.set(state); list(sampler) == order
    True
    """
    if isinstance(thing, DataLoader) and thing.persistent_workers:
        raise SettingsError(
            "state: a DataLoader with persistent_workers=True keeps random numbers in processes "
            "out of reach; make it with persistent_workers=False"
        )
    parts = [] if (own := _own_state(thing)) is None else [own]
    for owner in _inside(thing):
        parts += _parts_on(owner)
    whole = Parts(parts)
    return Part(get=whole.get_state, set=whole.set_state, reseed=whole.reseed)


def _own_state(thing: Any) -> Part | None:
    if is_stateful_loader(thing):
        return position_part(thing)
    return stateful_part(thing) if isinstance(thing, HasStateDict) else None


def _inside(thing: Any) -> Iterator[Any]:
    """The thing, its samplers and their samplers, each once."""
    owners: list[Any] = [thing]
    for owner in owners:
        for name in ("sampler", "batch_sampler"):
            inner = getattr(owner, name, None)
            if inner is not None and not any(inner is known for known in owners):
                owners.append(inner)
    return iter(owners)


def _parts_on(owner: Any) -> Iterator[Part]:
    generator = getattr(owner, "generator", None)
    if isinstance(generator, torch.Generator):
        yield generator_part(generator)
    elif isinstance(generator, np.random.Generator | random.Random):
        yield stateful_part(generator)
    if isinstance(getattr(owner, "epoch", None), int):  # DistributedSampler shuffles by it
        yield Part(get=lambda: owner.epoch, set=lambda epoch: setattr(owner, "epoch", epoch))
