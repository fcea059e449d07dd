"""dynhp with MLflow: a callback that logs the main line, the tries and the schedule to a run."""

from __future__ import annotations

try:
    import mlflow  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_mlflow needs MLflow: pip install 'dynhp[mlflow]'") from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_mlflow.logger import MLflow

__all__ = ["MLflow"]

register_integration(Integration(package=__name__, frameworks=("mlflow",)))
