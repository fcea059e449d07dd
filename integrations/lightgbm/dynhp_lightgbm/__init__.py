"""dynhp for LightGBM: boosting whose parameters are adapted, a block of rounds at a time."""

from __future__ import annotations

try:
    import lightgbm  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_lightgbm needs LightGBM: pip install 'dynhp[lightgbm]'") from missing

from dynhp.frameworks import register_integration
from dynhp_lightgbm.estimators import adapted_fit
from dynhp_lightgbm.integration import INTEGRATION
from dynhp_lightgbm.train import adapted_train
from dynhp_lightgbm.trainer import lightgbm_trainer

__all__ = ["adapted_fit", "adapted_train", "lightgbm_trainer"]

register_integration(INTEGRATION)
