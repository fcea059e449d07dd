"""What the core is told about LightGBM."""

from __future__ import annotations

from dynhp.frameworks import Integration

__all__ = ["INTEGRATION", "SHRINKAGES", "kind_of"]

SHRINKAGES = ("learning_rate", "shrinkage_rate", "eta")
"""The names of the shrinkage, which is no learning rate but in name."""


def kind_of(model: object, name: str) -> str | None:
    """What an attribute of a model is, where its name does not tell.

    >>> kind_of(None, "learning_rate"), kind_of(None, "num_leaves")
    ('shrinkage', None)
    """
    return "shrinkage" if name in SHRINKAGES else None


INTEGRATION = Integration(package="dynhp_lightgbm", frameworks=("lightgbm",), kind_of=kind_of)
