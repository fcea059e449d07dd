"""What adaptation must be compared with: complete search, random search, a fixed value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dynhp._checks import require_count
from dynhp.adapter import DynamicGridAdapter
from dynhp.criteria import Criterion
from dynhp.errors import SettingsError
from dynhp.planning.schedule import Segment, follow
from dynhp.records import Candidate, History, Value
from dynhp.rounds.settings import generator
from dynhp.spaces import Space, SpaceLike
from dynhp.spaces.axis import plain
from dynhp.trainer import Trainer

__all__ = ["complete_search", "fixed", "random_search"]


def complete_search(
    trainer: Trainer,
    space: SpaceLike,
    *,
    criterion: Criterion,
    epochs: int,
    part: float = 1.0,
) -> History:
    """Train one model per grid value and keep the best; ``part`` < 1 goes on only with the best.

    This is the adapter with a single round, so records, costs and reports are the same.

    >>> from dynhp import lowest
    >>> from dynhp.testing import Quadratic
    >>> history = complete_search(Quadratic(), {"lr": [0.1, 0.5]}, criterion=lowest("loss"),
    ...                           epochs=10, part=0.2)
    >>> history[0].candidate, history[0].overhead
    (Candidate(lr=0.5), 2)
    """
    require_count("epochs", epochs)
    if not (isinstance(part, int | float) and 0 < part <= 1):
        raise SettingsError(f"part must lie in (0, 1], got {part!r}")
    adapter = DynamicGridAdapter(
        trainer,
        space,
        criterion=criterion,
        adapt_every=epochs,
        try_for=max(1, round(part * epochs)),
    )
    return adapter.run(epochs)


def random_search(trainer: Trainer, space: SpaceLike, *, epochs: int, seed: int = 0) -> History:
    """A new value every epoch: from the interval of a ``Float``, or from the values of a list.

    >>> from dynhp import Float
    >>> from dynhp.testing import Quadratic
    >>> history = random_search(Quadratic(), {"lr": Float(0.1, 0.9)}, epochs=3)
    >>> len({round_.candidate for round_ in history})
    3
    """
    require_count("epochs", epochs)
    where = space if isinstance(space, Space) else Space(space)
    return follow(_drawn(where, epochs, generator(seed)), trainer)


def fixed(
    trainer: Trainer, values: Mapping[str, Value], *, epochs: int, measure_every: int | None = None
) -> History:
    """The same values all along; measured at the end, or every so many epochs.

    >>> from dynhp.testing import Quadratic
    >>> [round_.metrics["loss"] for round_ in fixed(Quadratic(), {"lr": 0.5}, epochs=2,
    ...                                             measure_every=1)]
    [0.125, 0.03125]
    """
    require_count("epochs", epochs)
    every = epochs if measure_every is None else measure_every
    require_count("measure_every", every)
    if not isinstance(values, Mapping) or not values:
        raise SettingsError(f"fixed: values must map names to values, got {values!r}")
    lengths = [every] * (epochs // every) + [epochs % every] * bool(epochs % every)
    candidate = Candidate({name: plain(name, value) for name, value in values.items()})
    return follow((Segment(epochs=length, values=candidate) for length in lengths), trainer)


def _drawn(space: Space, epochs: int, rng: np.random.Generator) -> Iterator[Segment]:
    for _ in range(epochs):
        yield Segment(epochs=1, values=space.draw(rng))
