"""A whole adapted run of a trainer with the options of ``adapt``, for integrations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from dynhp.adapter import DynamicGridAdapter
from dynhp.best import best_criterion
from dynhp.errors import SettingsError, shown
from dynhp.loops.options import LoopOptions, policy_and_others, require_planned_end
from dynhp.middleware.each_epoch import EpochLook, each_epoch
from dynhp.policy import Policy
from dynhp.records import History, Metrics
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
    look: EpochLook | None = None,
    **options: Unpack[LoopOptions],
) -> History:
    """Train to the end with adaptation: a trainer in place of a loop, and the options of ``adapt``.

    Args:
        trainer: what trains; at the end it is in the final state, or with ``keep_best`` in its
            best one.
        epochs: the epochs of the main line.
        space: the hyperparameters and their values, unless the policy has them.
        look: called with the number and the metrics of each epoch of the main line; the run ends
            with the epoch for which it returns true, or with the try that this epoch belongs to.
            Where the main line goes back to an earlier state, so do the numbers.
        options: as in ``dynhp.adapt``: ``policy`` or its fields, and all others except for
            ``steps`` and those of runs that end by themselves.

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
    require_planned_end(policy, others, caller="adapt_trainer")
    own = best_criterion(others.get("keep_best"), policy.criterion)
    keeper = None if own is None else KeepBest(trainer, own)
    over = False

    def looked(epoch: int, metrics: Metrics) -> bool:
        nonlocal over
        over = look is not None and look(epoch, metrics)
        return over

    adapter = DynamicGridAdapter(
        trainer if keeper is None else keeper,
        policy=policy,
        callbacks=others.get("callbacks", ()),
        middleware=() if look is None else [each_epoch(looked)],
    )
    rounds: Any = adapter.rounds(epochs, progress=others.get("progress", False))
    with closing(rounds):  # at once, so that a display is
        for _ in rounds:
            if over:
                break
    if keeper is not None:
        keeper.deliver()
    return adapter.history


def require_onward(policy: Policy, callbacks: Sequence[object]) -> None:
    """Refuse a policy that goes back to earlier states beside callbacks that cannot go back.

    Args:
        policy: of the run.
        callbacks: of a framework, which see each epoch of the main line once.

    >>> from dynhp import plateau
    >>> require_onward(plateau("lr", default=0.1, loss="loss"), [])
    """
    if policy.start_from != "here" and callbacks:
        raise SettingsError(
            "callbacks cannot take back what they have seen, and this policy goes back to earlier "
            f"states, start_from={shown(policy.start_from)}; leave out {shown(callbacks[0])}, or "
            "take another policy"
        )
