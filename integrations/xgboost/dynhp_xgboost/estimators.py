"""Estimators of XGBoost for scikit-learn, fitted with parameters that are adapted on the way."""

from __future__ import annotations

from typing import Any, TypeVar

import xgboost as xgb
import xgboost.sklearn

from dynhp import History
from dynhp.errors import SettingsError, shown
from dynhp.wrappers import fit_by
from dynhp_xgboost.train import adapted_train

__all__ = ["adapted_fit"]

_Estimator = TypeVar("_Estimator", bound=xgb.XGBModel)


def adapted_fit(estimator: _Estimator, *data: Any, **arguments: Any) -> tuple[_Estimator, History]:
    """Fit an estimator like its own ``fit``, and adapt parameters every few rounds of boosting.

    For ``XGBClassifier``, ``XGBRegressor`` and ``XGBRanker``. Gives the estimator, and the history.
    See ``adapted_train``.

    Args:
        estimator: what is fitted.
        data: as for its ``fit``.
        arguments: those of its ``fit``, of which ``eval_set`` is needed, and those of
            ``adapted_train`` that ``xgboost.train`` does not have: ``space``, ``on_event`` and the
            options of ``dynhp.adapt``.

    >>> import numpy as np
    >>> X = np.arange(40.0).reshape(-1, 1); y = np.sin(X[:, 0])
    >>> model, history = adapted_fit(
    ...     xgb.XGBRegressor(n_estimators=6, max_depth=2), X[::2], y[::2],
    ...     eval_set=[(X[1::2], y[1::2])], verbose=False,
    ...     space={"max_depth": [1, 2, 4]}, minimize="validation_0-rmse", adapt_every=3, try_for=1)
    >>> model.get_booster().num_boosted_rounds(), len(history)
    (6, 2)
    """
    if not isinstance(estimator, xgb.XGBModel):
        raise SettingsError(
            "estimator must be one of XGBoost's for scikit-learn, such as XGBClassifier(), got "
            f"{shown(estimator)}; xgboost.train has its counterpart in adapted_train"
        )
    if isinstance(estimator, xgb.XGBRFClassifier | xgb.XGBRFRegressor):
        raise SettingsError(
            f"{type(estimator).__name__} trains all its trees in one round, so that nothing can "
            "change on the way; boost them with XGBClassifier or XGBRegressor"
        )
    history = fit_by(adapted_train, estimator.fit, data, arguments, module=xgboost.sklearn)
    return estimator, history
