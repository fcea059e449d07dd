"""The records of a run, which never change: candidates, tries, rounds and their history."""

from dynhp.records.candidate import Candidate, Value
from dynhp.records.events import Event, RoundStarted
from dynhp.records.history import History, Round, Try
from dynhp.records.metrics import Metrics
from dynhp.records.progress import Progress

__all__ = [
    "Candidate",
    "Event",
    "History",
    "Metrics",
    "Progress",
    "Round",
    "RoundStarted",
    "Try",
    "Value",
]
