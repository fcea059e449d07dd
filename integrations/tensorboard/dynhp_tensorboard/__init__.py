"""dynhp with TensorBoard: a callback that writes the main line, the tries and the schedule."""

from __future__ import annotations

try:
    import tensorboard  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError(
        "dynhp_tensorboard needs TensorBoard: pip install 'dynhp[tensorboard]'"
    ) from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_tensorboard.logger import TensorBoard

__all__ = ["TensorBoard"]

register_integration(Integration(package=__name__, frameworks=("tensorboard",)))
