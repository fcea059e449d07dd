"""Where a run comes from: the versions that this process has loaded, and how it was started."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from dynhp.frameworks import loaded_frameworks

__all__ = ["command_here", "versions_here"]


def versions_here() -> dict[str, str]:
    """The versions of Python, dynhp, numpy, and of the frameworks that this process has loaded.

    The frameworks are those that installed integrations know.

    >>> list(versions_here())[:3]
    ['python', 'dynhp', 'numpy']
    """
    from importlib import metadata  # slow to import, and needed once a run

    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in ("dynhp", "numpy", *loaded_frameworks()):
        # A distribution may be called otherwise than the package that it brings.
        version = getattr(sys.modules[name], "__version__", None)
        try:
            versions[name] = metadata.version(name) if version is None else str(version)
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
