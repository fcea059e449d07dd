"""dynhp changes hyperparameters while a model trains: it tries values on copies and keeps the best.

Start with ``DynamicGridAdapter`` (a trainer), ``adapt`` (a loop of your own) or ``trainer_from``
(functions); ``plan`` gives the cost beforehand and ``dynhp.testing.check_trainer`` proves that a
trainer is sound. Contracts, records and errors are imported from their modules: ``dynhp.errors``,
``dynhp.records``, ``dynhp.proposers`` and so on.
"""

import typing

from dynhp import _lazy

if typing.TYPE_CHECKING:
    from dynhp.adapter import DynamicGridAdapter
    from dynhp.criteria import highest, lowest, phased, smallest_gap, smoothed
    from dynhp.errors import DynhpError
    from dynhp.executors import Batched, Processes, Serial
    from dynhp.loops import Counter, attribute
    from dynhp.loops.adapt import adapt
    from dynhp.loops.everything import everything
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
    from dynhp.policy import Policy
    from dynhp.proposers import FullGrid, Interpolation, Neighbors, OneAxis, Placebo
    from dynhp.records import History
    from dynhp.selection import Best, BestByMargin, Racing
    from dynhp.spaces import Categorical, Float, Int, Ordered, Space
    from dynhp.trainer import Trainer, trainer_from
    from dynhp.wrappers import KeepBest, Shadow
else:
    __getattr__, __dir__ = _lazy.lazily(
        __name__,
        {
            "adapter": "DynamicGridAdapter",
            "criteria": "highest lowest phased smallest_gap smoothed",
            "errors": "DynhpError",
            "executors": "Batched Processes Serial",
            "loops": "Counter adapt attribute everything",
            "planning": "complete_search find_rate fixed paper plan plan_for plateau random_search "
            "recommended replay rescue schedule_of spent",
            "policy": "Policy",
            "proposers": "FullGrid Interpolation Neighbors OneAxis Placebo",
            "records": "History",
            "selection": "Best BestByMargin Racing",
            "spaces": "Categorical Float Int Ordered Space",
            "trainer": "Trainer trainer_from",
            "wrappers": "KeepBest Shadow",
            # These can be used after ``import dynhp`` alone, too.
            "advice": "",
            "drivers": "",
            "engine": "",
            "middleware": "",
            "selfcheck": "",
            "snapshots": "",
            "tails": "",
            "triggers": "",
        },
    )

__version__ = "0.1.0"

__all__ = [
    # ways in
    "DynamicGridAdapter",
    "Policy",
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
