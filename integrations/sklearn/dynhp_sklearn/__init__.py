"""dynhp for scikit-learn: estimators whose hyperparameters are adapted while they are fitted."""

from __future__ import annotations

try:
    import sklearn  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_sklearn needs scikit-learn: pip install 'dynhp[sklearn]'") from missing

from dynhp_sklearn.estimators import AdaptiveClassifier, AdaptiveRegressor
from dynhp_sklearn.trainer import EstimatorTrainer, trainer_from_estimator

__all__ = ["AdaptiveClassifier", "AdaptiveRegressor", "EstimatorTrainer", "trainer_from_estimator"]
