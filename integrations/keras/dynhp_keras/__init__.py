"""dynhp for Keras 3: a callback that adapts hyperparameters inside ``model.fit``, and a trainer."""

from __future__ import annotations

from dynhp_keras.backend import import_keras

import_keras()

from dynhp import attribute  # noqa: E402
from dynhp.frameworks import Integration, register_integration  # noqa: E402
from dynhp_keras.adapt import Adapt  # noqa: E402
from dynhp_keras.bindings import setting, variable  # noqa: E402
from dynhp_keras.trainer import keras_trainer  # noqa: E402

__all__ = [
    # ways in
    "Adapt",
    "keras_trainer",
    # where values live
    "setting",
    "variable",
    "attribute",
]

register_integration(
    Integration(package=__name__, frameworks=("keras",), loop_owners=("keras", "torch"))
)
