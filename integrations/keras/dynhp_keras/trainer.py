"""A trainer made of a compiled Keras model, one epoch of its fit and an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynhp import Trainer, trainer_from
from dynhp.errors import MetricError, SettingsError, nearest, shown
from dynhp.loops import Binding, Part, bindings
from dynhp.loops.parts import Parts, global_generators, part_of, parts_of
from dynhp.read_back import plain_metrics
from dynhp.records import Candidate, Metrics, Value
from dynhp_keras.bindings import bound_settings
from dynhp_keras.state import generator_parts, model_part, require_built

__all__ = ["keras_trainer"]


def keras_trainer(
    model: Any,
    *,
    fit: Callable[[], object],
    evaluate: Callable[[], Mapping[str, Any]],
    adapts: Sequence[str] = ("learning_rate",),
    bind: Mapping[str, Binding] | None = None,
    state: Sequence[Any] = (),
) -> Trainer:
    """Make a trainer of a model, with snapshots of all that decides its future.

    Args:
        model: built and compiled.
        fit: trains one epoch, as ``lambda: model.fit(x, y, epochs=1, verbose=0)``.
        evaluate: gives names and numbers, as
            ``lambda: model.evaluate(x, y, verbose=0, return_dict=True)``.
        adapts: the names of the hyperparameters; settings of the optimiser bind themselves.
        bind: where the values of other names live.
        state: what else decides the future, such as the generator of a dataset.

    >>> import keras, numpy as np
    >>> x = np.linspace(-1, 1, 8, dtype="float32").reshape(-1, 1)
    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.1), "mse")
    >>> trainer = keras_trainer(
    ...     model, fit=lambda: model.fit(x, 2 * x, epochs=1, verbose=0),
    ...     evaluate=lambda: model.evaluate(x, 2 * x, verbose=0, return_dict=True))
    >>> trainer.train_k(2, {"learning_rate": 0.3})
    >>> trainer.hyperparameters(), list(trainer.metrics())
    ({'learning_rate': 0.3}, ['loss'])
    """
    for role, function in (("fit", fit), ("evaluate", evaluate)):
        if not callable(function):
            raise SettingsError(f"keras_trainer: {role} must be a function, got {shown(function)}")
    if isinstance(adapts, str):
        raise SettingsError(f"adapts must be a list of names, got {adapts!r}")
    require_built(model)
    names = list(dict.fromkeys((*adapts, *(bind or {}))))
    bound = bindings.require_bindings(bound_settings(names, bind, model))
    values = (Part(get=binding.get, set=binding.set) for binding in bound.values())
    others = (*generator_parts(), *(parts_of(state, part_of) if state else ()))
    whole = Parts((model_part(model), *values, *others, *global_generators()))

    # The first call of a fit or an evaluation builds loss and metrics, and draws a batch for it.
    before = whole.get_state()
    evaluate()
    whole.set_state(before)

    def train_k(k: int, hyperparameters: Mapping[str, Value]) -> None:
        candidate = Candidate(hyperparameters)
        for name in candidate:
            if name not in bound:
                raise SettingsError(f"unknown hyperparameter {name!r}{nearest(name, bound)}")
        here = {name: binding for name, binding in bound.items() if name in candidate}
        if not k:
            bindings.apply(here, candidate)  # in force also where no epoch follows
        for _ in range(k):
            bindings.apply(here, candidate)
            fit()
            bindings.verify(here, candidate, "after the epoch")

    def metrics() -> Metrics:
        before = whole.get_state()
        try:
            measured = evaluate()
            if not isinstance(measured, Mapping):
                raise MetricError(
                    f"evaluate must return a mapping of names to numbers, got {shown(measured)}; "
                    "use model.evaluate(..., return_dict=True)"
                )
            return plain_metrics(measured)
        finally:
            whole.set_state(before)

    trainer = trainer_from(
        get_state=whole.get_state,
        set_state=whole.set_state,
        train_k=train_k,
        metrics=metrics,
        hyperparameters=lambda: bindings.read(bound),
        reseed=whole.reseed,
    )
    vars(trainer)["kinds"] = bindings.kinds_of(bound)
    return trainer
