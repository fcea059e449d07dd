"""dynhp for scikit-learn: estimators whose hyperparameters are adapted while they are fitted."""

from __future__ import annotations

try:
    import sklearn  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_sklearn needs scikit-learn: pip install 'dynhp[sklearn]'") from missing

from dynhp.frameworks import register_integration
from dynhp_sklearn.estimators import AdaptiveClassifier, AdaptiveRegressor
from dynhp_sklearn.integration import INTEGRATION
from dynhp_sklearn.trainer import trainer_from_estimator

__all__ = ["AdaptiveClassifier", "AdaptiveRegressor", "trainer_from_estimator"]

register_integration(INTEGRATION)
