"""What the core is told about scikit-learn."""

from __future__ import annotations

from dynhp.frameworks import Integration

__all__ = ["INTEGRATION", "RATES", "kind_of"]

RATES = ("eta0", "learning_rate_init")
"""Learning rates whose names do not say so."""


def kind_of(estimator: object, name: str) -> str | None:
    """What an attribute of an estimator is, where its name does not tell.

    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from sklearn.linear_model import SGDRegressor
    >>> kind_of(SGDRegressor(), "eta0"), kind_of(SGDRegressor(), "alpha")
    ('learning_rate', None)
    >>> kind_of(GradientBoostingRegressor(), "learning_rate")
    'shrinkage'
    """
    if name in RATES:
        return "learning_rate"
    boosts = any("Boosting" in kind.__name__ for kind in type(estimator).__mro__)
    return "shrinkage" if boosts and name == "learning_rate" else None


INTEGRATION = Integration(package="dynhp_sklearn", frameworks=("sklearn",), kind_of=kind_of)
