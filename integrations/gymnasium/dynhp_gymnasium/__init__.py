"""dynhp for gymnasium: environments as a part of the state of a training loop."""

from __future__ import annotations

try:
    import gymnasium  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        "dynhp_gymnasium needs gymnasium: pip install 'dynhp[gymnasium]'"
    ) from missing

from dynhp.frameworks import register_integration
from dynhp_gymnasium.integration import INTEGRATION
from dynhp_gymnasium.state import state_of

__all__ = ["state_of"]

register_integration(INTEGRATION)
