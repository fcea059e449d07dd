"""A whole adapted run of a trainer with the options of ``adapt``, for integrations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import chosen_criterion
from dynhp.errors import SettingsError, shown
from dynhp.loops.best import best_criterion
from dynhp.loops.options import LoopOptions
from dynhp.records import History
from dynhp.spaces import SpaceLike
from dynhp.trainer import Trainer
from dynhp.wrappers.keep_best import KeepBest

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["adapt_trainer"]


def adapt_trainer(
    trainer: Trainer,
    epochs: int,
    *,
    space: SpaceLike,
    adapt_every: int | None = None,
    try_for: float,
    **options: Unpack[LoopOptions],
) -> History:
    """Train to the end with adaptation: a trainer in place of a loop, and the options of ``adapt``.

    Args:
        trainer: what trains; at the end it is in the final state, or with ``keep_best`` in its
            best one.
        epochs: the epochs of the main line.
        space: the hyperparameters and their values.
        adapt_every: the epochs of a round; in its place ``when=``, a trigger.
        try_for: the epochs of a try.
        options: all others as in ``dynhp.adapt``, except for ``steps``.

    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> history = adapt_trainer(trainer, 6, space={"lr": [0.1, 0.5]}, minimize="loss",
    ...                         adapt_every=3, try_for=1)
    >>> [round_.candidate["lr"] for round_ in history]
    [0.5, 0.5]
    """
    given: dict[str, Any] = dict(options)
    if (steps := given.pop("steps", None)) is not None:
        raise SettingsError(
            f"steps is for loops whose body counts steps, got {shown(steps)}; leave it out"
        )
    progress = given.pop("progress", False)
    keeper = _keeper(trainer, given)
    adapter = DynamicGridAdapter(
        trainer if keeper is None else keeper,
        space,
        adapt_every=adapt_every,
        try_for=try_for,
        **given,
    )
    history = adapter.run(epochs, progress=progress)
    if keeper is not None:
        keeper.deliver()
    return history


def _keeper(trainer: Trainer, given: dict[str, Any]) -> KeepBest | None:
    keep_best = given.pop("keep_best", None)
    criterion = chosen_criterion(*map(given.get, ("criterion", "minimize", "maximize")))
    own = best_criterion(keep_best, criterion)
    return None if own is None else KeepBest(trainer, own)
