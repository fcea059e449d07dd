"""What a training must be like to be adapted; the rest is refused by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from transformers import Trainer

from dynhp.errors import SettingsError

__all__ = ["how_to_measure", "require_own_end", "require_training", "trainer_of"]

_TRAINING_LOSS = ("loss", "train_loss")


def trainer_of(callback: Any, frame: Any) -> Any:
    """The trainer that is calling this callback: hooks are given everything but the trainer."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Trainer) and callback in caller.callback_handler.callbacks:
            return caller
        frame = frame.f_back
    raise SettingsError(
        "Adapt belongs to a Trainer of transformers: give it as Trainer(callbacks=[Adapt(...)]) or "
        "by trainer.add_callback(...)"
    )


def require_training(trainer: Any) -> None:
    """Refuse what cannot be put back."""
    if not hasattr(trainer, "_run_epoch"):
        raise SettingsError(
            "Adapt steps through Trainer._run_epoch, which this version of transformers does not "
            "have; pip install 'dynhp[transformers]'"
        )
    args = trainer.args
    refused = {
        "one device": (args.world_size > 1 or args.n_gpu > 1, "several devices"),
        "one device, unsharded": (
            trainer.is_deepspeed_enabled or trainer.is_fsdp_enabled,
            "DeepSpeed or FSDP",
        ),
        "a batch size that stays": (args.auto_find_batch_size, "auto_find_batch_size=True"),
        "checkpoints that stay here": (args.push_to_hub, "push_to_hub=True"),
        "workers that start anew": (
            args.dataloader_persistent_workers,
            "dataloader_persistent_workers=True",
        ),
    }
    for needed, (is_so, got) in refused.items():
        if is_so:
            raise SettingsError(
                f"Adapt: tries that leave no trace need {needed}, got {got}; train without it"
            )


def require_own_end(args: Any) -> None:
    """Refuse another model at the end than the averaged weights that a policy asks for."""
    if args.load_best_model_at_end:
        raise SettingsError(
            "Adapt: with averaged weights the model at the end is their average, got "
            "load_best_model_at_end=True; leave it out, or take ending='schedule'"
        )


def how_to_measure(missing: Iterable[str]) -> str:
    """What makes a trainer measure in every epoch what is missing there.

    ``train_loss`` is what the trainer calls the mean of a whole training, logged once at its end.

    >>> how_to_measure(["eval_loss"])
    'evaluate in every epoch, as with eval_strategy="epoch"'
    """
    if any(name in _TRAINING_LOSS for name in missing):
        return (
            "the Trainer logs the training loss of an epoch as 'loss', with "
            'logging_strategy="epoch"; judge by that name, as in recommended(..., loss="loss")'
        )
    return 'evaluate in every epoch, as with eval_strategy="epoch"'
