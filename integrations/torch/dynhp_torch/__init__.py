"""dynhp for PyTorch: loops, trainers, ranks, snapshots, bindings and averaged weights."""

from __future__ import annotations

try:
    import torch
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_torch needs PyTorch: pip install 'dynhp[torch]'") from missing

from dynhp import attribute
from dynhp.frameworks import register_integration
from dynhp.loops.epoch import pickle_epochs_as
from dynhp_torch import codecs, transfer
from dynhp_torch.averaging import AveragedWeights
from dynhp_torch.distributed import Distributed, together
from dynhp_torch.integration import INTEGRATION
from dynhp_torch.loop import adapt
from dynhp_torch.settings import optimizer_param, remove_scale, schedule_scale
from dynhp_torch.trainer import torch_trainer
from dynhp_torch.values import (
    augmentation,
    batch_size,
    gradient_clip,
    sampler_weight,
    tensor_value,
)
from dynhp_torch.values.rates import recommended_lr, wsd_schedule

__all__ = [
    # ways in
    "adapt",
    "torch_trainer",
    # the rate
    "recommended_lr",
    "wsd_schedule",
    # several processes that train one model
    "Distributed",
    "together",
    # where values live
    "optimizer_param",
    "schedule_scale",
    "remove_scale",
    "attribute",
    "augmentation",
    "batch_size",
    "gradient_clip",
    "sampler_weight",
    "tensor_value",
    # what belongs to the state
    "AveragedWeights",
]

register_integration(INTEGRATION)
# From now on, states that hold tensors can be saved, and sent to other processes.
codecs.register()
transfer.register()
# torch.save({"epoch": epoch, ...}) must give a file that torch.load reads in any process. It makes
# no int from a call, and Python writes no subclass of int as a number: a tensor holds it.
pickle_epochs_as(
    lambda number: torch.tensor(number, device="cpu"),
    protocol=torch.serialization.DEFAULT_PROTOCOL,
)
