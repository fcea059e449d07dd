"""dynhp for XGBoost: boosting whose parameters are adapted, a block of rounds at a time."""

from __future__ import annotations

try:
    import xgboost  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_xgboost needs XGBoost: pip install 'dynhp[xgboost]'") from missing

from dynhp.frameworks import register_integration
from dynhp_xgboost.estimators import adapted_fit
from dynhp_xgboost.integration import INTEGRATION
from dynhp_xgboost.train import adapted_train
from dynhp_xgboost.trainer import xgboost_trainer

__all__ = ["adapted_fit", "adapted_train", "xgboost_trainer"]

register_integration(INTEGRATION)
