"""What a fit must be like to be adapted, and how many epochs it has; the rest is refused."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.callbacks import StochasticWeightAveraging, Timer
from lightning.pytorch.strategies import SingleDeviceStrategy

from dynhp.errors import SettingsError, shown

__all__ = ["planned_epochs", "require_fit", "step_of_batch", "steps_per_epoch"]


def require_fit(trainer: Any) -> None:
    """Refuse by name what cannot be put back, or has no end that is known."""
    if not isinstance(trainer.strategy, SingleDeviceStrategy) or trainer.world_size > 1:
        raise SettingsError(
            "Adapt: tries are put back on one device, got the strategy "
            f"{type(trainer.strategy).__name__} on {trainer.world_size} processes; use "
            "Trainer(devices=1), or dynhp_torch.Distributed in a loop of your own"
        )
    if trainer.reload_dataloaders_every_n_epochs:
        raise SettingsError(
            "Adapt: the loaders must stay the same, got reload_dataloaders_every_n_epochs="
            f"{trainer.reload_dataloaders_every_n_epochs}; leave it at 0, and let the dataset or a "
            "sampler change with the epoch"
        )
    for callback in trainer.callbacks:
        if isinstance(callback, StochasticWeightAveraging):
            raise SettingsError(
                "Adapt: StochasticWeightAveraging replaces schedulers and adds an epoch in the "
                "middle of a fit, which no try could undo; use WeightAveraging of Lightning"
            )
        if isinstance(callback, Timer):
            raise SettingsError(
                "Adapt: the clock cannot be put back after a try, got max_time or the callback "
                "Timer; leave it out, and give Trainer(max_epochs=...)"
            )
    if getattr(trainer, "_val_check_time_interval", None) is not None:
        raise SettingsError(
            "Adapt: validation by the clock comes at another moment in every try, got "
            "val_check_interval as a time; give it in epochs or batches"
        )
    loader = trainer.fit_loop._combined_loader
    for each in () if loader is None else loader.flattened:
        if getattr(each, "persistent_workers", False):
            raise SettingsError(
                "Adapt: a loader with persistent_workers=True keeps random numbers in processes "
                "out of reach; make it with persistent_workers=False"
            )


def planned_epochs(trainer: Any) -> int:
    """The epochs of the whole fit, from ``max_epochs``, ``max_steps`` or both."""
    by_epochs: Any = trainer.max_epochs
    if trainer.max_steps == -1:
        if by_epochs in (None, -1):
            raise SettingsError(
                "Adapt: the length of the run must be known, got max_epochs=-1; give "
                "Trainer(max_epochs=...)"
            )
        return int(by_epochs)
    if not isinstance(trainer.num_training_batches, int):
        raise SettingsError(
            f"Adapt: with max_steps={shown(trainer.max_steps)} the loader must have a length; give "
            "max_epochs and limit_train_batches"
        )
    steps = steps_per_epoch(trainer)
    epochs, rest = divmod(trainer.max_steps, steps)
    if by_epochs not in (None, -1) and by_epochs <= epochs:
        return int(by_epochs)
    if rest or not epochs:
        raise SettingsError(
            f"Adapt: a fit must end with an epoch, got max_steps={trainer.max_steps} with {steps} "
            f"steps in an epoch; give max_steps={max(epochs, 1) * steps}, or max_epochs"
        )
    return int(epochs)


def steps_per_epoch(trainer: Any) -> int:
    """The steps of the optimiser in an epoch; 1 where nobody knows how many batches there are."""
    batches = trainer.num_training_batches
    if not isinstance(batches, int):
        return 1
    return -(-batches // int(trainer.accumulate_grad_batches))


def step_of_batch(trainer: Any, batch: int, steps: int) -> int:
    """Which of so many steps of an epoch a batch belongs to; accumulation may change meanwhile.

    >>> from types import SimpleNamespace
    >>> trainer = SimpleNamespace(num_training_batches=10, accumulate_grad_batches=4)
    >>> [step_of_batch(trainer, batch, steps_per_epoch(trainer)) for batch in range(10)]
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    """
    together = int(trainer.accumulate_grad_batches)
    return batch // together * together * steps // trainer.num_training_batches if steps > 1 else 0
