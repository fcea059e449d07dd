"""A trainer that remembers its best state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dynhp._checks import require_trainer
from dynhp.best import BestEpoch, BestKeeper, BestRule
from dynhp.criteria import Criterion
from dynhp.criteria.contract import require_criterion
from dynhp.executors.attempt import move_to
from dynhp.read_back import read_metrics
from dynhp.records import Metrics, Value
from dynhp.trainer import Delivers, State, Trainer


@dataclass(frozen=True, slots=True)
class KeptState:
    """The trainer's own state, and the best so far (shared between states, never changed)."""

    own: State
    best: BestEpoch | None
    epoch: int


class KeepBest:
    """A trainer that remembers its best state, judged after every epoch.

    Only the main line counts: the best state of a try is dropped together with the try.

    Args:
        trainer: what trains; see ``dynhp.trainer.Trainer``.
        criterion: what a state is worth, such as ``lowest("val_loss")``.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> trainer = KeepBest(Quadratic(), lowest("loss"))
    >>> trainer.train_k(2, {"lr": 0.5}); trainer.train_k(2, {"lr": 3.0})
    >>> trainer.deliver(); trainer.metrics()["loss"]
    0.03125
    """

    def __init__(self, trainer: Trainer, criterion: Criterion) -> None:
        require_trainer(trainer)
        require_criterion(criterion)
        self.trainer = trainer
        self.criterion = criterion
        self._keeper = BestKeeper(BestRule(criterion=criterion))
        self._epoch = 0
        self.delivers_average = isinstance(trainer, Delivers)  # besides what this delivers itself
        # What a trainer may offer is offered exactly if the wrapped one has it.
        for name in ("hyperparameters", "reseed", "kinds", "driven_by", "tolerance", "unit"):
            if hasattr(trainer, name):
                setattr(self, name, getattr(trainer, name))

    def get_state(self) -> KeptState:
        """The trainer's state and the best one."""
        return KeptState(self.trainer.get_state(), self._keeper.best, self._epoch)

    def set_state(self, state: KeptState) -> None:
        """Take both back."""
        self.trainer.set_state(state.own)
        self._keeper.best = state.best
        self._epoch = state.epoch

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Train epoch by epoch, looking for a new best after each."""
        if k == 0:  # which puts the values in force
            self.trainer.train_k(0, hyperparameters)
        for _ in range(k):
            self.trainer.train_k(1, hyperparameters)
            self._epoch += 1
            metrics = read_metrics(self.trainer)
            self._keeper.judge(self._epoch - 1, metrics, self.trainer.get_state)

    def metrics(self) -> Metrics:
        """The trainer's metrics, and the score of the best state (nan before the first)."""
        measured = self.trainer.metrics()  # nothing if it measures only what was trained
        best = self._keeper.best
        score = math.nan if best is None else best.score
        return {**measured, "best_score": score} if measured else measured

    def deliver(self) -> None:
        """Put the trainer into its best state, if it has one, and let it deliver its average."""
        if self._keeper.best is not None:
            move_to(self.trainer, self._keeper.best.state)
        if isinstance(self.trainer, Delivers):
            self.trainer.deliver()
