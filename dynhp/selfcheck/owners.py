"""Whose code this is: the user's, that of an installed library, or dynhp's own."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

__all__ = ["is_installed", "is_library_kind", "is_our_code", "is_our_frame", "is_our_kind"]
__all__ += ["is_users_module", "owns_the_loop", "package_of"]

_INSTALLED = ("site-packages", "dist-packages")

_INTEGRATIONS = frozenset(  # other names that begin like these are their user's
    f"dynhp_{name}"
    for name in (
        *("gymnasium", "jax", "keras", "lightgbm", "lightning", "mlflow", "optuna", "pyg", "ray"),
        *("sklearn", "tensorboard", "torch", "transformers", "wandb", "xgboost"),
    )
)
# Frameworks that run the loop themselves, and the libraries whose decorators are around it: who is
# looked for is the one who called them.
_LOOP_OWNERS = ("lightning", "transformers", "accelerate", "keras", "torch")


def is_installed(filename: str | None) -> bool:
    """Whether a file belongs to an installed library."""
    return any(folder in (filename or "") for folder in _INSTALLED)


def is_users_module(name: str) -> bool:
    """Whether a module is a file of the user's own."""
    file = getattr(sys.modules.get(name), "__file__", None)
    library = name.partition(".")[0] in sys.stdlib_module_names or is_installed(file)
    return (name == "__main__" or (file is not None and not library)) and not _is_ours(name)


def is_library_kind(kind: type) -> bool:
    """Whether a class comes from an installed library."""
    return is_installed(getattr(sys.modules.get(kind.__module__), "__file__", None))


def is_our_kind(kind: type) -> bool:
    """Whether a class is dynhp's; toys, counters and averages are made for their user, though."""
    module = sys.modules.get(kind.__module__)
    return _is_ours(kind.__module__, but_toys=True) and getattr(module, kind.__name__, 0) is kind


def owns_the_loop(frame: FrameType) -> bool:
    """Whether a framework is running here that has a loop of its own."""
    return package_of(frame) in _LOOP_OWNERS


def package_of(frame: FrameType) -> str:
    """The name of the package, or of the single module, whose code is running here."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def is_our_frame(frame: FrameType) -> bool:
    """Whether dynhp is running here."""
    return is_our_code(frame.f_code, frame.f_globals.get("__name__", ""))


def is_our_code(code: CodeType, module: str) -> bool:
    """Whether code is dynhp's; its examples, which are typed in, have the name of their module."""
    return _is_ours(module) and not code.co_filename.startswith("<")


def _is_ours(module: str, *, but_toys: bool = False) -> bool:
    root, dot, rest = module.partition(".")
    if root == "dynhp" or (dot and root in _INTEGRATIONS):
        return not (but_toys and rest.startswith(("testing", "loops.counter", "averaging")))
    return False
