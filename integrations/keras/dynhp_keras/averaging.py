"""Averaged weights as the model of a fit: scored and seen at the end of epochs, kept at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import keras
import numpy as np

from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp.loops.parts import Parts, global_generators
from dynhp.tails.averaging import newest_weight
from dynhp_keras.state import buffers_of, generator_parts

__all__ = ["FitAverage"]

_MEASURED = 16
"""On how many batches of the training data the statistics of BatchNormalization are measured."""


class FitAverage:
    """An average of the weights over about the last share of all batches, and the model with it.

    While it is on, the model has the averaged weights, and the statistics of BatchNormalization
    that belong to them, measured again on some batches of the training data. Neither leaves a
    trace: what is taken off is put back to the bit, with the generators that were drawn from.

    Args:
        model: whose weights are averaged.
        share: over about which last share of all batches so far.
        adapter: of Keras, for the training data.
        data: their place, as parts of a state.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    >>> average = FitAverage(model, 0.5, adapter=None, data=())
    >>> for weight in (0.0, 1.0, 1.0, 2.0):
    ...     model.set_weights([np.full((1, 1), weight)]); average.update()
    >>> average.put_on(); float(model.get_weights()[0][0, 0])
    1.5
    >>> average.take_off(); float(model.get_weights()[0][0, 0])
    2.0
    """

    def __init__(self, model: Any, share: float, *, adapter: Any, data: Sequence[Part]) -> None:
        self._model = model
        self._share = share
        self._adapter = adapter
        self._variables = [each for each in model.variables if _has_fraction(each)]
        _require_no_buffers(model)
        self._drawn = Parts([*generator_parts(), *global_generators(), *data])
        self._taken = 0  # how many weights are in the average
        self._means = [keras.ops.zeros_like(_fine(each)) for each in self._variables]
        self._own: list[Any] | None = None  # the model's own, while the average is on
        self._statistics: list[Any] | None = None  # those of this average, once they are measured

    def part(self) -> Part:
        """The average as a part of a state."""
        return Part(get=self._get, set=self._set, name="the averaged weights", deliver=self.deliver)

    def _get(self) -> dict[str, Any]:
        return {"taken": self._taken, "means": [_array(each) for each in self._means]}

    def _set(self, state: dict[str, Any]) -> None:
        self._taken = state["taken"]
        self._means = [keras.ops.convert_to_tensor(each.copy()) for each in state["means"]]
        self._statistics = None

    def update(self) -> None:
        """Take the weights after a batch into the average."""
        # On JAX the variables are empty between batches, until the state is asked for.
        getattr(self._model, "jax_state_sync", _nothing)()
        stays = 1 - newest_weight(self._share, self._taken)
        pairs = zip(self._means, map(_fine, self._variables), strict=True)
        self._means = [own + (mean - own) * stays for mean, own in pairs]
        self._taken += 1
        self._statistics = None

    def put_on(self) -> None:
        """Give the model the averaged weights."""
        if self._own is not None or not self._taken:
            return
        self._own = [_copied(each) for each in self._variables]
        _write(self._variables, self._means)
        layers = _measured_layers(self._model)
        if not layers:
            return
        if self._statistics is None:
            self._measure(layers)
        else:
            _write(_statistics_of(layers), self._statistics)

    def take_off(self) -> None:
        """Give the model its own weights again."""
        own, self._own = self._own, None
        if own is not None:
            _write(self._variables, own)

    def deliver(self) -> None:
        """Give the model the averaged weights for good."""
        self.put_on()
        self._own = None

    def _measure(self, layers: Sequence[Any]) -> None:
        """Measure statistics anew, as the plain mean over batches, and leave no other trace."""
        measured = _statistics_of(layers)
        kept = {id(each) for each in measured}
        others = [each for each in self._model.variables if id(each) not in kept]  # also of seeds
        before = [_copied(each) for each in others]
        momenta = [layer.momentum for layer in layers]
        drawn = self._drawn.get_state()
        try:
            with _without_gradients():
                for place, inputs in enumerate(self._batches()):
                    for layer in layers:
                        layer.momentum = place / (place + 1)
                    self._model(inputs, training=True)
        finally:
            self._drawn.set_state(drawn)
            for layer, momentum in zip(layers, momenta, strict=True):
                layer.momentum = momentum
            _write(others, before)
        self._statistics = [_copied(each) for each in measured]

    def _batches(self) -> Iterator[Any]:
        for batch in islice(self._adapter.get_numpy_iterator(), _MEASURED):
            yield keras.utils.unpack_x_y_sample_weight(batch)[0]


def _measured_layers(model: Any) -> list[Any]:
    """The layers whose statistics training measures: not those that are frozen."""
    return [
        layer
        for layer in model._flatten_layers()
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    ]


def _statistics_of(layers: Sequence[Any]) -> list[Any]:
    return [each for layer in layers for each in (layer.moving_mean, layer.moving_variance)]


def _require_no_buffers(model: Any) -> None:
    if buffers := buffers_of(model):
        raise SettingsError(
            f"ending='average': {next(iter(buffers))} is a buffer of a module of torch, unknown to "
            "Keras, so that it could not be averaged or measured again; use layers of Keras, or "
            "ending='schedule'"
        )


def _has_fraction(variable: Any) -> bool:
    return bool(keras.backend.is_float_dtype(variable.dtype))


def _value(variable: Any) -> Any:
    return keras.ops.stop_gradient(variable.value)


def _fine(variable: Any) -> Any:
    """The weights in 32 bits at least: at 16 the newest would soon count nothing in the average."""
    coarse = keras.backend.standardize_dtype(variable.dtype) not in ("float32", "float64")
    return keras.ops.cast(_value(variable), "float32") if coarse else _value(variable)


def _array(tensor: Any) -> Any:
    return np.array(keras.ops.convert_to_numpy(tensor), copy=True)


def _copied(variable: Any) -> Any:
    return keras.ops.copy(_value(variable))


def _write(variables: Sequence[Any], values: Sequence[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        # A copy: JAX makes what is assigned the variable's own, and compiled steps write into it.
        variable.assign(keras.ops.copy(value))


@contextmanager
def _without_gradients() -> Iterator[None]:
    if keras.config.backend() != "torch":
        yield
        return
    import torch

    with torch.no_grad():
        yield


def _nothing() -> None:
    """Other backends have no state of their own."""
