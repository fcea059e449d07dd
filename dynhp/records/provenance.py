"""Where a run comes from: the versions that this process has loaded, and how it was started."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

__all__ = ["command_here", "versions_here"]

_FRAMEWORKS = ["torch", "jax", "keras", "lightning", "transformers", "sklearn", "xgboost"]
_FRAMEWORKS += ["lightgbm", "gymnasium", "torch_geometric"]


def versions_here() -> dict[str, str]:
    """The versions of Python, dynhp, numpy, and of the frameworks that this process has loaded.

    >>> list(versions_here())[:3]
    ['python', 'dynhp', 'numpy']
    """
    from importlib import metadata  # slow to import, and needed once a run

    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in ("dynhp", "numpy", *(each for each in _FRAMEWORKS if each in sys.modules)):
        try:
            versions[name] = metadata.version({"sklearn": "scikit-learn"}.get(name, name))
        except metadata.PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def command_here() -> str:
    """How this process was started, the folder of the interpreter left out.

    >>> isinstance(command_here(), str)
    True
    """
    first, *rest = sys.orig_argv or [""]
    return shlex.join([Path(first).name, *rest])[:2000]
