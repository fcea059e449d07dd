"""Runs on disk: checkpoints, journals, files."""

from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.journal import Journal, history_from_journal
from dynhp.storage.on_disk import on_disk

__all__ = [
    "Journal",
    "checkpoints",
    "history_from_journal",
    "on_disk",
    "resume",
    "run_with_checkpoints",
]
