"""A whole adapted run of a trainer with the options of ``adapt``, for integrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynhp.adapter import DynamicGridAdapter
from dynhp.best import best_criterion
from dynhp.errors import SettingsError, shown
from dynhp.loops.options import LoopOptions, policy_and_others
from dynhp.records import History
from dynhp.spaces import SpaceLike
from dynhp.trainer import Trainer
from dynhp.wrappers.keep_best import KeepBest

if TYPE_CHECKING:
    from typing import Unpack


def adapt_trainer(
    trainer: Trainer,
    epochs: int,
    *,
    space: SpaceLike | None = None,
    **options: Unpack[LoopOptions],
) -> History:
    """Train to the end with adaptation: a trainer in place of a loop, and the options of ``adapt``.

    Args:
        trainer: what trains; at the end it is in the final state, or with ``keep_best`` in its
            best one.
        epochs: the epochs of the main line.
        space: the hyperparameters and their values, unless the policy has them.
        options: as in ``dynhp.adapt``: ``policy`` or its fields, and all others except for
            ``steps``.

    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> history = adapt_trainer(trainer, 6, space={"lr": [0.1, 0.5]}, minimize="loss",
    ...                         adapt_every=3, try_for=1)
    >>> [round_.candidate["lr"] for round_ in history]
    [0.5, 0.5]
    """
    policy, others = policy_and_others(space, options, caller="adapt_trainer")
    if (steps := others.get("steps")) is not None:
        raise SettingsError(
            f"steps is for loops whose body counts steps, got {shown(steps)}; leave it out"
        )
    own = best_criterion(others.get("keep_best"), policy.criterion)
    keeper = None if own is None else KeepBest(trainer, own)
    adapter = DynamicGridAdapter(
        trainer if keeper is None else keeper, policy=policy, callbacks=others.get("callbacks", ())
    )
    history = adapter.run(epochs, progress=others.get("progress", False))
    if keeper is not None:
        keeper.deliver()
    return history
