"""What adaptation must be compared with: complete search, random search, a fixed value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dynhp._checks import plain_value, require_count, require_mapping, require_number, require_seed
from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import Criterion
from dynhp.errors import SettingsError, shown
from dynhp.planning.schedule import Segment, follow
from dynhp.records import Candidate, History, Value
from dynhp.spaces import Space, SpaceLike
from dynhp.trainer import Trainer

__all__ = ["complete_search", "fixed", "random_search"]


def complete_search(
    trainer: Trainer, space: SpaceLike, *, criterion: Criterion, epochs: int, part: float = 1.0
) -> History:
    """Train one model per grid value and keep the best.

    This is the adapter with a single round, so records, costs and reports are the same.

    Args:
        trainer: what trains; see ``dynhp.trainer.Trainer``.
        space: the hyperparameters and their values.
        criterion: what a model is worth, such as ``highest("val_auc")``.
        epochs: the epochs that the best model is trained for.
        part: the share of them that all models are trained for; then only the best goes on.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> history = complete_search(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                           epochs=10, part=0.2)
    >>> history[0].candidate, history[0].overhead
    (Candidate(lr=0.5), 2)
    """
    epochs = require_count("epochs", epochs)
    require_number("part", part, "lie in (0, 1]", lambda share: 0 < share <= 1)
    adapter = DynamicGridAdapter(
        trainer,
        space,
        criterion=criterion,
        adapt_every=epochs,
        try_for=max(1, round(part * epochs)),
        check="off",  # it would cost one more model; who compares has checked the trainer
    )
    return adapter.run(epochs)


def random_search(trainer: Trainer, space: SpaceLike, *, epochs: int, seed: int = 0) -> History:
    """A new value every epoch: from the interval of a ``Float``, or from the values of a list.

    Args:
        trainer: what trains; see ``dynhp.trainer.Trainer``.
        space: the hyperparameters and their values.
        epochs: the epochs to train.
        seed: of the generator that the values are drawn with.

    >>> from dynhp import Float
    >>> from dynhp.testing import Quadratic
    >>> history = random_search(Quadratic(), {"lr": Float(0.1, 0.9)}, epochs=3)
    >>> len({round_.candidate for round_ in history})
    3
    """
    epochs = require_count("epochs", epochs)
    seed = require_seed("seed", seed)
    space = space if isinstance(space, Space) else Space(space)
    rng = np.random.default_rng(seed)
    return follow((Segment(epochs=1, values=space.draw(rng)) for _ in range(epochs)), trainer)


def fixed(
    trainer: Trainer, values: Mapping[str, Value], *, epochs: int, measure_every: int | None = None
) -> History:
    """The same values for the whole run, measured at the end or every ``measure_every`` epochs.

    >>> from dynhp.testing import Quadratic
    >>> [round_.metrics["loss"] for round_ in fixed(Quadratic(), {"lr": 0.5}, epochs=2,
    ...                                             measure_every=1)]
    [0.125, 0.03125]
    """
    epochs = require_count("epochs", epochs)
    every = epochs if measure_every is None else measure_every
    every = require_count("measure_every", every)
    require_mapping("fixed: values", values)
    if not values:
        raise SettingsError(f"fixed: at least one value is needed, got {shown(values)}")

    whole, rest = divmod(epochs, every)
    lengths = [every] * whole
    if rest:
        lengths.append(rest)
    candidate = Candidate({name: plain_value(name, value) for name, value in values.items()})
    return follow((Segment(epochs=length, values=candidate) for length in lengths), trainer)
