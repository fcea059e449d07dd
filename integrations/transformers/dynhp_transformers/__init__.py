"""dynhp for transformers: one callback adapts hyperparameters inside ``Trainer.train``."""

from __future__ import annotations

try:
    import accelerate  # noqa: F401
    import transformers  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        "dynhp_transformers needs transformers with accelerate: pip install 'dynhp[transformers]'"
    ) from missing

from dynhp.frameworks import Integration, register_integration
from dynhp_transformers.callback import Adapt

__all__ = ["Adapt"]

register_integration(
    Integration(
        package=__name__,
        frameworks=("transformers", "accelerate"),
        loop_owners=("transformers", "accelerate", "torch"),
    )
)
