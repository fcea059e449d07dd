"""Wrappers of trainers: the best state, an unadapted line, a way back."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.wrappers.adapted import adapt_trainer, require_onward
    from dynhp.wrappers.estimators import fit_by
    from dynhp.wrappers.keep_best import KeepBest
    from dynhp.wrappers.retrained import Retrained
    from dynhp.wrappers.shadow import Shadow
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "adapted": "adapt_trainer require_onward",
            "estimators": "fit_by",
            "keep_best": "KeepBest",
            "retrained": "Retrained",
            "shadow": "Shadow",
        },
    )

__all__ = ["KeepBest", "Retrained", "Shadow", "adapt_trainer", "fit_by"]
__all__ += ["require_onward"]
