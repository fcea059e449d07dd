"""dynhp on Ray: the tries of a round on the actors of a cluster."""

from __future__ import annotations

try:
    import ray  # noqa: F401 - only to see whether it is there
except ModuleNotFoundError as missing:
    raise ImportError("dynhp_ray needs Ray: pip install 'dynhp[ray]'") from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_ray.executor import RayExecutor

__all__ = ["RayExecutor"]

register_integration(Integration(package=__name__, frameworks=("ray",)))
