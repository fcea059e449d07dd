"""Which backend Keras runs on: only those whose states dynhp can put back to the bit are taken."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

__all__ = ["BACKENDS", "choose_backend", "import_keras"]

BACKENDS = ("torch", "jax")
_MISSING = (
    "dynhp_keras needs Keras 3 on torch or jax: pip install 'dynhp[keras]', one of the two, and "
    "set KERAS_BACKEND=torch or KERAS_BACKEND=jax before Keras is imported"
)


def choose_backend() -> None:
    """Where nothing is said and TensorFlow is not there, let Keras take what is there.

    Keras without ``KERAS_BACKEND`` asks for TensorFlow, so without this line its import would fail.
    """
    if "keras" in sys.modules or os.environ.get("KERAS_BACKEND") or find_spec("tensorflow"):
        return
    installed = [name for name in BACKENDS if find_spec(name)]
    if installed:
        os.environ["KERAS_BACKEND"] = installed[0]


def import_keras() -> None:
    """Import Keras, or say what to install and to set."""
    choose_backend()
    try:
        import keras
    except ImportError as missing:
        raise ImportError(_MISSING) from missing
    version, backend = keras.version(), keras.config.backend()
    if int(version.partition(".")[0]) < 3:
        raise ImportError(f"{_MISSING}; this is Keras {version}")
    if backend not in BACKENDS:
        raise ImportError(f"{_MISSING}; this Keras runs on {backend}")
