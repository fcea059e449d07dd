"""dynhp changes hyperparameters while a model trains: it tries values on copies and keeps the best.

Start with ``DynamicGridAdapter`` (a trainer), ``adapt`` (a loop of your own) or ``trainer_from``
(functions); ``plan`` tells the cost beforehand and ``dynhp.testing.check_trainer`` proves that a
trainer is sound.
"""

import logging

from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import Criterion, highest, lowest, phased, smallest_gap, smoothed
from dynhp.errors import (
    AllTriesFailed,
    CheckpointError,
    CodecError,
    ContractError,
    DamagedFile,
    DynhpError,
    LawBroken,
    LeaveItAlone,
    LoopError,
    MetricError,
    SettingsError,
    ValueNotInForce,
)
from dynhp.executors import Batched, Executor, Processes, Serial
from dynhp.loops.adapt import Epoch, Loop, adapt
from dynhp.loops.bindings import Binding, attribute
from dynhp.loops.parts import Part
from dynhp.planning.baselines import complete_search, fixed, random_search
from dynhp.planning.budget import Cost, Plan, plan, plan_for, spent
from dynhp.planning.presets import paper, recommended
from dynhp.planning.schedule import Schedule, Segment, replay, schedule_of
from dynhp.proposers import FullGrid, Known, Neighbors, OneAxis, Placebo, Proposer, Waves
from dynhp.proposers.interpolation import Interpolation
from dynhp.records import (
    Candidate,
    Event,
    History,
    Progress,
    Round,
    RoundStarted,
    Try,
    Value,
)
from dynhp.selection import Best, BestByMargin, Racing, Selection, Stage
from dynhp.spaces import Axis, Categorical, Float, Int, Ordered, Space
from dynhp.trainer import ReadsBack, Reseeds, Trainer, TriesBatches, trainer_from
from dynhp.wrappers.keep_best import KeepBest
from dynhp.wrappers.shadow import Delivery, Shadow

__version__ = "0.1.0"

__all__ = [
    # ways in
    "DynamicGridAdapter",
    "adapt",
    "trainer_from",
    "paper",
    "recommended",
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
    "Delivery",
    # who carries it out
    "Serial",
    "Processes",
    "Batched",
    # what it costs, and what it found
    "plan",
    "plan_for",
    "spent",
    "Cost",
    "Plan",
    "Schedule",
    "Segment",
    "schedule_of",
    "replay",
    # what to compare with
    "complete_search",
    "random_search",
    "fixed",
    # records
    "Candidate",
    "Try",
    "Round",
    "RoundStarted",
    "Event",
    "History",
    "Progress",
    "Value",
    # loops
    "Loop",
    "Epoch",
    "Part",
    "Binding",
    "attribute",
    # contracts
    "Trainer",
    "ReadsBack",
    "Reseeds",
    "TriesBatches",
    "Axis",
    "Criterion",
    "Executor",
    "Known",
    "Proposer",
    "Selection",
    "Stage",
    "Waves",
    # errors
    "DynhpError",
    "SettingsError",
    "LeaveItAlone",
    "ContractError",
    "ValueNotInForce",
    "MetricError",
    "AllTriesFailed",
    "LoopError",
    "LawBroken",
    "CheckpointError",
    "CodecError",
    "DamagedFile",
]

# Nothing is printed unless the program asks for it.
logging.getLogger("dynhp").addHandler(logging.NullHandler())
