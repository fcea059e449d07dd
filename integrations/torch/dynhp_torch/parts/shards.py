"""This rank's shard of a tensor that is spread over ranks, as ``fully_shard`` spreads a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dynhp.errors import ContractError, SettingsError

__all__ = ["LocalShard", "is_sharded", "local", "require_supported", "reshard", "sharded_like"]
__all__ += ["shard_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalShard:
    """A copy of one rank's part of a spread tensor, and how that is spread.

    Every rank keeps its own: no rank waits for another when a state is taken or put back, and the
    memory of a snapshot is spread as that of the model is.
    """

    local: Tensor
    shape: tuple[int, ...]  # of the whole tensor
    mesh: tuple[int, ...]  # the shape of the mesh of ranks
    placements: tuple[str, ...]


def is_sharded(value: Any) -> bool:
    """Whether it is a tensor that is spread over ranks (torch's ``DTensor``).

    >>> is_sharded(torch.ones(2))
    False
    """
    # By what it has: importing torch.distributed.tensor takes longer than all the rest.
    return isinstance(value, Tensor) and hasattr(value, "placements")


@torch.no_grad()
def local(tensor: Tensor) -> Tensor:
    """The memory of this rank's part, or the tensor itself where it is not spread."""
    spread: Any = tensor
    return spread.to_local() if is_sharded(tensor) else tensor


def shard_of(tensor: Any) -> LocalShard:
    """A copy of this rank's part of a spread tensor."""
    return LocalShard(
        local=local(tensor).detach().clone(),
        shape=tuple(tensor.shape),
        mesh=tuple(tensor.device_mesh.shape),
        placements=tuple(map(str, tensor.placements)),
    )


def require_same_spread(tensor: Any, saved: LocalShard) -> None:
    """Refuse to write a shard into a tensor that is spread otherwise, or not at all."""
    if not is_sharded(tensor):
        here = "one that is whole on this rank"
    else:
        mesh, placements = tuple(tensor.device_mesh.shape), tuple(map(str, tensor.placements))
        here = f"one of {tuple(tensor.shape)} over {mesh} ranks by {', '.join(placements)}"
        if (mesh, placements) == (saved.mesh, saved.placements) and (
            local(tensor).shape == saved.local.shape and tuple(tensor.shape) == saved.shape
        ):
            return
    raise ContractError(
        "a sharded tensor must stay sharded as it is while a run goes on: a state holds one of "
        f"{saved.shape} over {saved.mesh} ranks by {', '.join(saved.placements)}, got {here}; "
        "start as many ranks with the same mesh. To move a model to other ranks, save it with "
        "torch.distributed.checkpoint and begin a new run"
    )


def sharded_like(like: Any, saved: LocalShard) -> Tensor:
    """A new spread tensor of this shard, spread as ``like`` is."""
    require_same_spread(like, saved)
    from torch.distributed.tensor import DTensor  # it is imported already, as ``like`` exists

    whole: Tensor = DTensor.from_local(
        saved.local.clone(),
        like.device_mesh,
        like.placements,
        run_check=False,
        shape=like.shape,
        stride=like.stride(),
    )
    return whole


def reshard(module: nn.Module) -> None:
    """Let the parameters be this rank's shards again; a forward pass may have left them whole.

    What is whole is only a copy: a state taken of it, or written into it, would have no effect.

    >>> reshard(nn.Linear(2, 1))  # nothing to do
    """
    for part in module.modules():
        if _is_a(part, "FSDPModule"):
            part.reshard()  # type: ignore[operator]


def require_supported(module: nn.Module) -> None:
    """Refuse the older way to shard, whose parameters are views of memory that comes and goes."""
    if any(_is_a(part, "FullyShardedDataParallel") for part in module.modules()):
        raise SettingsError(
            "state: FullyShardedDataParallel (FSDP1) keeps its parameters in flat memory that "
            "cannot be put back in place; use torch.distributed.fsdp.fully_shard (FSDP2), which is "
            "supported, or DistributedDataParallel"
        )


def is_fully_sharded(module: nn.Module) -> bool:
    """Whether ``fully_shard`` was applied to the module or to a part of it.

    >>> is_fully_sharded(nn.Linear(2, 1))
    False
    """
    return any(_is_a(part, "FSDPModule") for part in module.modules())


def _is_a(module: nn.Module, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(module).__mro__)
