"""The training data of a fit once more, to measure statistics of averaged weights on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from lightning.pytorch.utilities.combined_loader import CombinedLoader

from dynhp_lightning.state import data_parts
from dynhp_torch.ending import AverageEnding, average_ending

__all__ = ["fit_ending"]


def fit_ending(trainer: Any, course: object) -> AverageEnding | None:
    """The averaged weights that a fit ends by, if the course of its policy asks for them."""
    module = trainer.lightning_module
    return average_ending(
        course,
        module,
        batches=lambda: _batches(trainer),
        feed=_training_step(trainer) if module.automatic_optimization else None,
        drawn=data_parts(trainer),
    )


def _batches(trainer: Any) -> Iterator[Any]:
    """Another pass over the training data; the one that is under way is not touched."""
    loader, most = trainer.fit_loop._combined_loader, trainer.num_training_batches
    anew = CombinedLoader(loader.iterables, loader._mode)
    for batch, _, _ in islice(iter(anew), most if isinstance(most, int) else None):
        made = trainer.precision_plugin.convert_input(batch)
        made = trainer.lightning_module._on_before_batch_transfer(made, dataloader_idx=0)
        yield trainer.strategy.batch_to_device(made, dataloader_idx=0)


def _training_step(trainer: Any) -> Callable[[Any, Any], None]:
    """Let the module see a batch as in training, and log nothing of it."""

    def feed(module: Any, batch: Any) -> None:
        arguments = trainer.fit_loop.epoch_loop._build_kwargs(OrderedDict(), batch, 0)
        vars(module).update(dict.fromkeys(_LOGS, _nothing))
        try:
            trainer.strategy.training_step(*arguments.values())
        finally:
            for name in _LOGS:
                del vars(module)[name]

    return feed


_LOGS = ("log", "log_dict")


def _nothing(*_: Any, **__: Any) -> None:
    pass
