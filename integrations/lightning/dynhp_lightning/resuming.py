"""Where a fit is: what a checkpoint needs beside Lightning's own, and how it is taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynhp.loops import Part
from dynhp_lightning.state import data_parts, generator_parts, loader_parts

__all__ = ["EndedFit", "FitPosition", "from_plain", "to_plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedFit:
    """A fit that is over, from which another one of the same trainer and module goes on."""

    trainer: Any
    module: Any
    first: int
    done: int
    values: dict[str, Any]
    state: dict[str, Any]

    def ends_at(self, trainer: Any, epoch: int) -> bool:
        """Whether a fit that begins with this epoch is the next one."""
        same = trainer is self.trainer and trainer.lightning_module is self.module
        return same and epoch == self.done > self.first


class FitPosition:
    """The position of a fit in its random numbers and its data.

    Lightning keeps neither in its checkpoints, and it makes the iterator of the first epoch of a
    fit before that epoch begins; a try of that epoch needs the same iterator again.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._before: dict[
            tuple[int, int], tuple[Part, Any]
        ] = {}  # what the first iterator was made from
        self._resumed = False
        process = trainer.strategy.process_dataloader

        def processed(loader: object) -> object:
            made = process(loader)
            if trainer.training:
                self._note(made)
            return made

        vars(trainer.strategy)["process_dataloader"] = processed

    def remove(self) -> None:
        """Leave the strategy as it was."""
        vars(self._trainer.strategy).pop("process_dataloader", None)

    def _note(self, loader: Any) -> None:
        for place, part in enumerate(generator_parts()):
            self._before[0, place] = (part, part.get())
        for place, part in enumerate(loader_parts(loader)):
            self._before[id(loader), place] = (part, part.get())

    @property
    def epoch(self) -> int:
        """The epochs that Lightning counts as done; its checkpoints go by the same number."""
        return int(self._trainer.fit_loop.epoch_progress.current.processed)

    def renew_iterator(self, *, first: bool) -> None:
        """Make the iterator over the training data where Lightning relies on an older one."""
        loop = self._trainer.fit_loop
        if loop.epoch_loop.restarting or (self._trainer.current_epoch > 0 and not loop.is_resuming):
            return  # in the middle of an epoch, or Lightning makes it
        if self._resumed:
            iter(loop._data_fetcher)  # from the random numbers of the checkpoint
        elif not first:
            now = [(part, part.get()) for part, _ in self._before.values()]
            _put_back(self._before.values())
            iter(loop._data_fetcher)
            _put_back(now)

    def saved(self) -> dict[str, Any]:
        """The random numbers and the data position now, as a checkpoint can hold them."""
        parts = (*generator_parts(), *data_parts(self._trainer))
        return {"generators": [to_plain(part.get()) for part in parts]}

    def take_back(self, saved: dict[str, Any]) -> None:
        """Go to a position that was saved."""
        self._resumed = True
        parts = (*generator_parts(), *data_parts(self._trainer))
        _put_back(zip(parts, map(from_plain, saved["generators"]), strict=True))


def _put_back(states: Any) -> None:
    for part, state in states:
        part.set(state)


def to_plain(state: Any) -> Any:
    """A state without arrays of numpy, which ``torch.load`` refuses by default.

    >>> from_plain(to_plain(("MT19937", np.arange(2, dtype="uint32"), 3)))
    ('MT19937', array([0, 1], dtype=uint32), 3)
    """
    if isinstance(state, np.ndarray):
        return {"array": state.tolist(), "dtype": str(state.dtype)}
    if isinstance(state, dict):
        return {key: to_plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(map(to_plain, state))
    return state


def from_plain(plain: Any) -> Any:
    """What ``to_plain`` was given."""
    if isinstance(plain, dict):
        if plain.keys() == {"array", "dtype"}:
            return np.array(plain["array"], dtype=plain["dtype"])
        return {key: from_plain(value) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return type(plain)(map(from_plain, plain))
    return plain
