"""Estimators whose ``fit`` calls one function that trains: they are fitted by another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from dynhp.loops.options import RunOptions
from dynhp.records import History

_one_at_a_time = threading.RLock()


def fit_by(
    train: Callable[..., tuple[Any, History]],
    fit: Callable[..., Any],
    data: Sequence[Any],
    arguments: Mapping[str, Any],
    *,
    module: ModuleType,
) -> History:
    """Call an estimator's ``fit`` with a function that adapts in place of its module's ``train``.

    So everything that ``fit`` does before and after is done as ever: labels, weights, groups, what
    is written to the estimator. Other threads are not concerned; of those that do this, one goes at
    a time.

    Args:
        train: trains with adaptation; gives what ``train`` of the framework gives, and the history.
        fit: of the estimator.
        data: its positional arguments.
        arguments: others of it, and ``space``, ``on_event`` and the options of ``dynhp.adapt``,
            which ``train`` is given.
        module: in which ``fit`` finds ``train``.

    >>> from dynhp.testing import Quadratic
    >>> from dynhp.wrappers import adapt_trainer
    >>> from types import ModuleType
    >>> framework = ModuleType("framework")
    >>> class Estimator:
    ...     def fit(self, epochs): self.model_ = framework.train(epochs)
    >>> def adapted_train(epochs, **options):
    ...     trainer = Quadratic()
    ...     return trainer, adapt_trainer(trainer, epochs, **options)
    >>> framework.train, estimator = None, Estimator()
    >>> len(fit_by(adapted_train, estimator.fit, [6], {"space": {"lr": [0.1, 0.5]}, "try_for": 1,
    ...            "minimize": "loss", "adapt_every": 3}, module=framework)), estimator.model_.x
    (2, 0.015625)
    """
    names = {"space", "on_event", *RunOptions.__annotations__}
    options = {name: value for name, value in arguments.items() if name in names}
    others = {name: value for name, value in arguments.items() if name not in names}
    histories: list[History] = []

    def adapted(*given: Any, **named: Any) -> Any:
        model, history = train(*given, **named, **options)
        histories.append(history)
        return model

    with _in_place_of_train(module, adapted):
        fit(*data, **others)
    return histories[0]


@contextmanager
def _in_place_of_train(module: ModuleType, adapted: Callable[..., Any]) -> Iterator[None]:
    with _one_at_a_time:
        original = vars(module)["train"]
        here = threading.get_ident()

        def train(*given: Any, **named: Any) -> Any:
            mine = threading.get_ident() == here
            return (adapted if mine else original)(*given, **named)

        vars(module)["train"] = train
        try:
            yield
        finally:
            vars(module)["train"] = original
