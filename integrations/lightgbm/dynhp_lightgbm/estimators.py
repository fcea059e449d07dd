"""Estimators of LightGBM for scikit-learn, fitted with parameters that are adapted on the way."""

from __future__ import annotations

from typing import Any, TypeVar

import lightgbm as lgb
import lightgbm.sklearn

from dynhp import History
from dynhp.errors import SettingsError, shown
from dynhp.wrappers import fit_by
from dynhp_lightgbm.train import adapted_train

__all__ = ["adapted_fit"]

_Estimator = TypeVar("_Estimator", bound=lgb.LGBMModel)


def adapted_fit(estimator: _Estimator, *data: Any, **arguments: Any) -> tuple[_Estimator, History]:
    """Fit an estimator like its own ``fit``, and adapt parameters every few rounds of boosting.

    For ``LGBMClassifier``, ``LGBMRegressor`` and ``LGBMRanker``. Gives the estimator, and the
    history. See ``adapted_train``.

    Args:
        estimator: what is fitted.
        data: as for its ``fit``.
        arguments: those of its ``fit``, of which validation data are needed, and those of
            ``adapted_train`` that ``lightgbm.train`` does not have: ``space``, ``on_event`` and the
            options of ``dynhp.adapt``. Parameters have LightGBM's own names.

    >>> import numpy as np
    >>> X = np.arange(200.0).reshape(-1, 1); y = np.sin(X[:, 0] / 9)
    >>> model, history = adapted_fit(
    ...     lgb.LGBMRegressor(n_estimators=6, verbosity=-1), X[::2], y[::2],
    ...     eval_X=X[1::2], eval_y=y[1::2], space={"num_leaves": [2, 4, 31]},
    ...     minimize="valid_0-l2", adapt_every=3, try_for=1)
    >>> model.n_estimators_, len(history)
    (6, 2)
    """
    if not isinstance(estimator, lgb.LGBMModel):
        raise SettingsError(
            "estimator must be one of LightGBM's for scikit-learn, such as LGBMClassifier(), got "
            f"{shown(estimator)}; lightgbm.train has its counterpart in adapted_train"
        )
    history = fit_by(adapted_train, estimator.fit, data, arguments, module=lightgbm.sklearn)
    return estimator, history
