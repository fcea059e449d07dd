"""A trainer on every rank of ``torch.distributed``: all ranks measure, fail and choose alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import torch.distributed as dist

from dynhp.errors import ContractError, DynhpError, MetricError, SettingsError, nearest
from dynhp.read_back import check_in_force, plain_metrics, read_metrics
from dynhp.records import Candidate, Metrics, Value
from dynhp.trainer import State, Trainer, require_trainer

__all__ = ["Distributed", "RankFailed", "together"]

Reduce = Callable[[Sequence[float]], float]

_OPERATIONS: Final[Mapping[str, Reduce]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "sum": math.fsum,
    "min": min,
    "max": max,
}


class RankFailed(RuntimeError):
    """Training failed on at least one rank and so on all; the message says where and why."""


class Distributed:
    """Around a trainer that runs on every rank, each rank with an adapter of its own.

    Metrics are gathered from all ranks and reduced, so that every rank's adapter sees the same
    numbers and makes the same choice. A try that raises on one rank fails on all of them, with one
    message. Ranks that are about to train with different values stop with an error that shows them.

    States stay with their ranks. ``reseed`` gives every rank a seed of its own. A training step
    that calls collectives itself (as DistributedDataParallel does in ``forward`` and ``backward``)
    puts what may raise before them into ``with together():``.

    Args:
        trainer: this rank's trainer.
        group: the process group of the ranks; the default one without it.
        reduce: what makes one number of the ranks' numbers: ``"mean"``, ``"sum"``, ``"min"``,
            ``"max"`` or a function of them.

    >>> from dynhp.testing import NoisyQuadratic
    >>> Distributed(NoisyQuadratic(), reduce="max")  # after torch.distributed.init_process_group
    Traceback (most recent call last):
    dynhp.errors.SettingsError: Distributed needs torch.distributed on every rank, and it has \
not been started in this process; call torch.distributed.init_process_group first
    """

    def __init__(
        self, trainer: Trainer, *, group: Any = None, reduce: str | Reduce = "mean"
    ) -> None:
        require_trainer(trainer)
        self._inner = trainer
        self._group = group
        self._reduce = _operation(reduce)
        self._rank = _rank(group)
        self.get_state: Callable[[], State] = trainer.get_state
        self.set_state: Callable[[State], None] = trainer.set_state
        # An optional power is there only if the trainer has it.
        if hasattr(trainer, "hyperparameters"):
            self.hyperparameters = trainer.hyperparameters
        if hasattr(trainer, "reseed"):
            self.reseed = self._reseed

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train on all ranks; where that fails on one, fail here too."""
        self._require_one_choice(k, hyperparameters)
        with together(self._group):
            self._inner.train_k(k, hyperparameters)
            check_in_force(self._inner, Candidate(hyperparameters))

    def metrics(self) -> Metrics:
        """What all ranks measure, reduced; the same on every rank, to the last bit."""
        measured: Metrics = {}
        with together(self._group):
            measured = read_metrics(self._inner)
        ranks = _exchange("metrics", measured, self._group)
        names = [sorted(rank) for rank in ranks]
        if any(each != names[0] for each in names):
            raise MetricError(f"all ranks must measure the same metrics, got by rank {names}")
        return plain_metrics({name: self._reduced(name, ranks) for name in ranks[0]})

    def agree(self, value: Any) -> list[Any]:
        """The value of every rank; so they resume from what all of them have saved."""
        return _exchange("agree", value, self._group)

    def _reduced(self, name: str, ranks: Sequence[Metrics]) -> float:
        values = [rank[name] for rank in ranks]
        # What has diverged on one rank must not be hidden, as by a minimum.
        return self._reduce(values) if all(map(math.isfinite, values)) else _not_finite(values)

    def _require_one_choice(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        ranks = _exchange("train_k", (k, dict(hyperparameters)), self._group)
        if any(each != ranks[0] for each in ranks):
            choices = ", ".join(f"rank {rank}: {k} × {h}" for rank, (k, h) in enumerate(ranks))
            raise ContractError(
                f"all ranks must train with the same values for as many epochs, got {choices}; "
                "give every rank's adapter the same space, criterion, settings and seed"
            )

    def _reseed(self, seed: int) -> None:
        inner: Any = self._inner
        inner.reseed((seed + self._rank) % 2**63)

    def __repr__(self) -> str:
        return f"Distributed({self._inner!r})"


@contextmanager
def together(group: Any = None) -> Iterator[None]:
    """What raises in the block on one rank raises on all, so that no rank waits for ever.

    Every rank must come through it equally often, and there must be no collective inside that some
    ranks may not reach. So what may raise on one rank (to read a batch, to transform it) stands in
    it, and what calls collectives stands behind it: ``backward`` of DistributedDataParallel, and
    also its ``forward``, which broadcasts the buffers of BatchNorm.

    >>> with together():
    ...     loss = 0.5
    Traceback (most recent call last):
    dynhp.errors.SettingsError: Distributed needs torch.distributed on every rank, and it has \
not been started in this process; call torch.distributed.init_process_group first
    """
    _rank(group)
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        failure = error
    _raise_together(failure, group)


def _raise_together(failure: Exception | None, group: Any) -> None:
    text = f"{type(failure).__name__}: {failure}"
    mine = None if failure is None else (text, isinstance(failure, DynhpError))
    ranks = _exchange("status", mine, group)
    failed = {rank: status for rank, status in enumerate(ranks) if status is not None}
    if not failed:
        return
    if failure is not None and all(status == mine for status in ranks):
        raise failure  # as in one process
    message = "; ".join(f"rank {rank}: {text}" for rank, (text, _) in failed.items())
    if any(broken for _, broken in failed.values()):
        raise ContractError(message) from failure
    raise RankFailed(message) from failure


def _exchange(what: str, mine: Any, group: Any) -> list[Any]:
    """The value of every rank, in the order of the ranks; ``what`` says what all must be doing."""
    gathered: list[Any] = [None] * dist.get_world_size(group)
    try:
        dist.all_gather_object(gathered, (what, mine), group=group)
    except RuntimeError as error:
        raise ContractError(
            f"all ranks must stay together, but one is gone or hangs ({error}); start all of them "
            "again, from a checkpoint if there is one"
        ) from error
    kinds = [kind for kind, _ in gathered]
    if set(kinds) != {what}:
        raise ContractError(
            f"all ranks must do the same, got by rank {kinds}; give every rank the same adapter, "
            "and measure and save checkpoints on all of them or on none"
        )
    return [value for _, value in gathered]


def _not_finite(values: Sequence[float]) -> float:
    infinite = {value for value in values if math.isinf(value)}
    if any(map(math.isnan, values)) or len(infinite) != 1:
        return math.nan
    return infinite.pop()


def _operation(reduce: Any) -> Reduce:
    if callable(reduce):
        operation: Reduce = reduce
        return operation
    if reduce not in _OPERATIONS:
        raise SettingsError(
            f"Distributed: reduce must be a function or a known word, got {reduce!r}"
            f"{nearest(reduce, _OPERATIONS)}"
        )
    return _OPERATIONS[reduce]


def _rank(group: Any) -> int:
    if not (dist.is_available() and dist.is_initialized()):
        raise SettingsError(
            "Distributed needs torch.distributed on every rank, and it has not been started in "
            "this process; call torch.distributed.init_process_group first"
        )
    return dist.get_rank(group)
