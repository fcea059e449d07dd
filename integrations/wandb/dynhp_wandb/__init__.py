"""dynhp with Weights & Biases: a callback that logs the main line, the tries and the schedule."""

from __future__ import annotations

try:
    import wandb  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_wandb needs wandb: pip install 'dynhp[wandb]'") from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_wandb.logger import WandB

__all__ = ["WandB"]

register_integration(Integration(package=__name__, frameworks=("wandb",)))
