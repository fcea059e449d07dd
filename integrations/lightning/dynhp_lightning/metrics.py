"""What a fit has logged in the epoch that is under way; older values do not count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynhp.criteria.contract import metrics_of
from dynhp.errors import advise
from dynhp.loops import Epoch
from dynhp_lightning.state import loops_of
from dynhp_torch.callbacks import require_metrics

__all__ = ["FreshMetrics"]

_WAY_OUT = (
    "log it with self.log(...) in every epoch, and validate in every one: check_val_every_n_epoch=1"
)


class FreshMetrics:
    """The metrics of one epoch after the other, out of what a trainer holds for its callbacks."""

    def __init__(self, trainer: Any) -> None:
        self.resumed: dict[str, float] = {}  # measured before the checkpoint of a half epoch
        self._trainer = trainer
        self._before: dict[str, Any] = {}
        self._wanted: tuple[str, ...] = ()

    def begin(self, criterion: Any) -> None:
        """An epoch begins: what is there now is old."""
        self._before = dict(self._trainer.callback_metrics)
        self._wanted = tuple(metrics_of(criterion) or ())

    def fresh(self) -> dict[str, float]:
        """What was logged since the epoch began."""
        logged, before = self._trainer.callback_metrics, self._before
        fresh = {name: float(it) for name, it in logged.items() if it is not before.get(name)}
        return {**self.resumed, **fresh}

    def required(self, epoch: Epoch, first: int) -> Mapping[str, float] | None:
        """What is reported of an epoch; one of a try must have what tries are judged by."""
        fresh = self.fresh()
        if epoch.trying:
            require_metrics(self._wanted, fresh, epoch=first + int(epoch), way_out=_WAY_OUT)
        for name in self._wanted if epoch.trying else ():
            if name in self._of_last_batch():
                advise(
                    f"Adapt: {name} is logged for steps only, so a try is judged by its last batch "
                    f"alone; average it with self.log({name.removesuffix('_step')!r}, ..., "
                    "on_epoch=True)",
                    about=("last batch", name),
                )
        return fresh or None

    def drop(self) -> None:
        """After an error in the middle of an epoch, drop what was being averaged over it."""
        for loop in loops_of(self._trainer.fit_loop):
            results = vars(loop).get("_results")
            if results is not None:
                results.reset()

    def _of_last_batch(self) -> set[str]:
        results = self._trainer.fit_loop.epoch_loop._results.values()
        metas = [each.meta for each in results if each.meta.on_step]
        return {meta.forked_name(on_step=True) for meta in metas}
