"""dynhp for Lightning: one callback adapts hyperparameters inside ``Trainer.fit``."""

from __future__ import annotations

try:
    import lightning.pytorch  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        "dynhp_lightning needs Lightning: pip install 'dynhp[lightning]'"
    ) from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_lightning.callback import Adapt

__all__ = ["Adapt"]

register_integration(
    Integration(package=__name__, frameworks=("lightning",), loop_owners=("lightning", "torch"))
)
