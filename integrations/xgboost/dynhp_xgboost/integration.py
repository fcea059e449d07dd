"""What the core is told about XGBoost."""

from __future__ import annotations

from dynhp.frameworks import Integration

__all__ = ["INTEGRATION", "SHRINKAGES", "kind_of"]

SHRINKAGES = ("eta", "learning_rate")
"""The names of the shrinkage, which is no learning rate but in name."""


def kind_of(model: object, name: str) -> str | None:
    """What an attribute of a model is, where its name does not tell.

    >>> kind_of(None, "learning_rate"), kind_of(None, "max_depth")
    ('shrinkage', None)
    """
    return "shrinkage" if name in SHRINKAGES else None


INTEGRATION = Integration(package="dynhp_xgboost", frameworks=("xgboost",), kind_of=kind_of)
