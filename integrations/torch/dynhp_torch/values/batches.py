"""The batch size of a loader as a place for a value: the loader stays the same object."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any, ClassVar

from torch.utils.data import BatchSampler, DataLoader

from dynhp.errors import SettingsError, ValueNotInForce, shown
from dynhp.loops import Binding
from dynhp.records import Value
from dynhp_torch.parts.stateful_loaders import is_stateful_loader

__all__ = ["BatchSize", "batch_size"]

_KNOWN = ("torch.utils.data.sampler", "torchdata.stateful_dataloader.sampler")


@dataclass(frozen=True, slots=True)
class BatchSize:
    """The batch size of a loader; ``batch_size`` makes it.

    >>> BatchSize(DataLoader(range(6), batch_size=2)).get()
    2
    """

    loader: DataLoader[Any]
    kind: ClassVar[str] = "batch_size"
    way_out: ClassVar[str] = (
        "A batch size is set in the loader's batch_sampler: let the loop iterate over this loader, "
        "and set it nowhere else"
    )

    def set(self, value: Value) -> None:
        """Let the next iterator over the loader make batches of this size."""
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingsError(f"batch_size: it must be a whole number above 0, got {value!r}")
        sampler = _batch_sampler(self.loader)
        if sampler.drop_last and isinstance(sampler.sampler, Sized):
            samples = len(sampler.sampler)
            if value > samples:
                raise SettingsError(
                    f"batch_size: {value} with drop_last=True leaves no batch of {samples} "
                    "samples, so nothing would be trained; leave it out of the values"
                )
        sampler.batch_size = value
        object.__setattr__(self.loader, "batch_size", value)  # DataLoader allows no other way
        for running in _running(self.loader):
            running.batch_size = value

    def get(self) -> Value:
        """The size of the batches, or an error where parts of the loader disagree on it."""
        size: int = _batch_sampler(self.loader).batch_size
        sizes = [("batch_sampler.batch_size", size), ("batch_size", self.loader.batch_size)]
        sizes += [("batch_size of its iterator", one.batch_size) for one in _running(self.loader)]
        if any(other != size for _, other in sizes):
            parts = ", ".join(f"{name}={other!r}" for name, other in sizes)
            raise ValueNotInForce(
                f"batch_size: the loader is of two minds about it ({parts}); set it nowhere else "
                "than in the values"
            )
        return size


def batch_size(loader: DataLoader[Any]) -> Binding:
    """Bind to the batch size of a loader, from its next iterator on.

    The loader stays the same object with the same sampler and generators, so nothing that refers to
    it has to be told; ``len(loader)`` changes. An iterator that is running keeps its size, except
    one of a ``StatefulDataLoader`` without worker processes, which goes on with the new one.

    >>> loader = DataLoader(range(6), batch_size=2)
    >>> size = batch_size(loader); size.set(4)
    >>> [batch.tolist() for batch in loader], len(loader), size.get()
    ([[0, 1, 2, 3], [4, 5]], 2, 4)
    """
    if not isinstance(loader, DataLoader):
        raise SettingsError(f"batch_size needs a DataLoader, got {shown(loader)}")
    _batch_sampler(loader)
    return BatchSize(loader)


def _batch_sampler(loader: DataLoader[Any]) -> BatchSampler:
    sampler = loader.batch_sampler
    if type(sampler).__module__ in _KNOWN and isinstance(sampler, BatchSampler):
        return sampler
    if sampler is None:
        raise SettingsError(
            "batch_size: the loader was made with batch_size=None, so its dataset makes the "
            "batches; bind to where that keeps the size, as in attribute(dataset, 'batch_size')"
        )
    raise SettingsError(
        f"batch_size: the loader has a batch sampler of its own, {type(sampler).__name__}, which "
        "may keep the size anywhere; bind to it, as in attribute(loader, 'batch_sampler.size')"
    )


def _running(loader: DataLoader[Any]) -> list[Any]:
    """What makes the batches of an epoch that has begun, where it can be told a new size."""
    if not is_stateful_loader(loader) or loader.num_workers:
        return []
    batches = getattr(getattr(loader, "_iterator", None), "_sampler_iter", None)
    return [batches] if hasattr(batches, "batch_size") else []
