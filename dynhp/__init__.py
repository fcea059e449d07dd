"""dynhp changes hyperparameters while a model trains: it tries values on copies and keeps the best.

Start with ``DynamicGridAdapter`` (a trainer), ``adapt`` (a loop of your own) or ``trainer_from``
(functions); ``plan`` gives the cost beforehand and ``dynhp.testing.check_trainer`` proves that a
trainer is sound. Contracts, records and errors are imported from their modules: ``dynhp.errors``,
``dynhp.records``, ``dynhp.proposers`` and so on.
"""

import importlib
import logging
import typing

from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import highest, lowest, phased, smallest_gap, smoothed
from dynhp.display import contract as _displays
from dynhp.errors import DynhpError
from dynhp.executors import Batched, Serial
from dynhp.proposers import FullGrid, Interpolation, Neighbors, OneAxis, Placebo
from dynhp.records import History
from dynhp.selection import Best, BestByMargin, Racing
from dynhp.spaces import Categorical, Float, Int, Ordered, Space
from dynhp.trainer import Trainer, trainer_from

if typing.TYPE_CHECKING:
    from dynhp.executors import Processes
    from dynhp.loops import Counter, adapt, attribute, everything
    from dynhp.planning import (
        complete_search,
        find_rate,
        fixed,
        paper,
        plan,
        plan_for,
        plateau,
        random_search,
        recommended,
        replay,
        rescue,
        schedule_of,
        spent,
    )
    from dynhp.wrappers import KeepBest, Shadow
else:
    # What not every program uses is imported when it is first asked for.
    _LATE = {
        "executors": "Processes",
        "loops": "Counter adapt attribute everything",
        "planning": "complete_search find_rate fixed paper plan plan_for plateau random_search "
        "recommended replay rescue schedule_of spent",
        "wrappers": "KeepBest Shadow",
    }
    _FOLDERS = {name: folder for folder, names in _LATE.items() for name in names.split()}

    def __getattr__(name: str) -> typing.Any:
        if name in _LATE:
            return importlib.import_module(f"dynhp.{name}")
        if name not in _FOLDERS:
            raise AttributeError(f"module 'dynhp' has no attribute {name!r}")
        thing = getattr(importlib.import_module(f"dynhp.{_FOLDERS[name]}"), name)
        globals()[name] = thing
        return thing

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATE, *_FOLDERS})


__version__ = "0.1.0"

__all__ = [
    # ways in
    "DynamicGridAdapter",
    "adapt",
    "attribute",
    "everything",
    "Counter",
    "trainer_from",
    "Trainer",
    "paper",
    "recommended",
    "plateau",
    "rescue",
    "find_rate",
    # spaces
    "Space",
    "Float",
    "Int",
    "Ordered",
    "Categorical",
    # what to try
    "FullGrid",
    "Neighbors",
    "OneAxis",
    "Interpolation",
    "Placebo",
    # what it is worth
    "highest",
    "lowest",
    "smallest_gap",
    "smoothed",
    "phased",
    # what is kept
    "Best",
    "BestByMargin",
    "Racing",
    "KeepBest",
    "Shadow",
    # what carries it out
    "Serial",
    "Processes",
    "Batched",
    # what it costs, and what came of it
    "plan",
    "plan_for",
    "spent",
    "History",
    "schedule_of",
    "replay",
    # what to compare with
    "complete_search",
    "random_search",
    "fixed",
    # the base of all errors
    "DynhpError",
]


def _live_display() -> _displays.Display:
    """What ``progress=True`` means: said here, because runs themselves know nothing of reports."""
    display: _displays.Display = importlib.import_module("dynhp.report.live").LiveDisplay()
    return display


_displays.set_default_display(_live_display)

# Nothing is printed unless the program asks for it.
logging.getLogger("dynhp").addHandler(logging.NullHandler())
