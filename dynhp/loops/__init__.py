"""Adaptation in a loop of your own: epochs, parts of a state, values."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily
from dynhp.loops.adapt import adapt  # at once, as a module has the same name: it would be found
from dynhp.loops.everything import everything

if TYPE_CHECKING:
    from dynhp.loops.bindings import Binding, attribute
    from dynhp.loops.counter import Counter
    from dynhp.loops.driver import LoopDriver, Move
    from dynhp.loops.epoch import Epoch
    from dynhp.loops.loop import Loop
    from dynhp.loops.options import (
        CallbackSettings,
        LoopOptions,
        RunOptions,
        policy_and_others,
        with_options,
    )
    from dynhp.loops.parts import Part, copied
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "bindings": "Binding attribute",
            "counter": "Counter",
            "driver": "LoopDriver Move",
            "epoch": "Epoch",
            "loop": "Loop",
            "options": "CallbackSettings LoopOptions RunOptions policy_and_others with_options",
            "parts": "Part copied",
        },
    )

__all__ = [
    "Binding",
    "CallbackSettings",
    "Counter",
    "Epoch",
    "Loop",
    "LoopDriver",
    "LoopOptions",
    "Move",
    "Part",
    "RunOptions",
    "adapt",
    "attribute",
]
__all__ += ["copied", "everything", "policy_and_others", "with_options"]
