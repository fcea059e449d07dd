"""What decides the future of a Keras model in training, as parts of a state."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import keras
import numpy as np
from keras.src.backend.common import global_state
from keras.src.random import seed_generator

from dynhp.errors import SettingsError
from dynhp.loops import Part
from dynhp.loops.parts import Parts

__all__ = [
    "buffers_of",
    "callback_part",
    "generator_parts",
    "guard_shared",
    "guarded",
    "model_part",
    "require_built",
]

_GLOBAL_SEED = seed_generator.GLOBAL_SEED_GENERATOR
_OF_EVERY_CALLBACK = ("_model", "params")


def require_built(model: Any) -> None:
    """Make the optimiser's memory now: Adam's, made after a snapshot, could never be put back.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.Adam(0.01), "mse")
    >>> len(model.optimizer.variables); require_built(model); len(model.optimizer.variables)
    2
    6
    """
    optimizer = getattr(model, "optimizer", None)
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise SettingsError(
            f"{type(model).__name__} has no optimiser; call model.compile(optimizer=...) first"
        )
    if not model.built or not all(layer.built for layer in model._flatten_layers()):
        raise SettingsError(
            f"{type(model).__name__} is not built, so its weights do not exist yet; call it on a "
            "batch of data, or give it keras.Input(...)"
        )
    if not optimizer.built:
        optimizer.build(model.trainable_variables)


def model_part(model: Any) -> Part:
    """All variables: weights, seeds of layers, metrics, the optimiser's memory and iterations.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dropout(0.5, seed=1)])
    >>> model.compile(keras.optimizers.SGD(0.1), "mse")
    >>> part = model_part(model); state = part.get()
    >>> model.optimizer.learning_rate = 7.0; part.set(state)
    >>> round(float(model.optimizer.learning_rate), 3)
    0.1
    """
    optimizer = model.optimizer  # a name of its own, so that the self-check knows it by it

    def get() -> dict[str, Any]:
        return {
            **{name: _value(each) for name, each in _variables(model, optimizer).items()},
            **{name: each.detach().clone() for name, each in buffers_of(model).items()},
        }

    def set_(state: dict[str, Any]) -> None:
        variables = _variables(model, optimizer)
        metrics = {id(each) for each in model.metrics_variables}
        for name, each in variables.items():
            if name in state:
                # A copy: JAX may take memory of numpy as its own, and compiled steps write into it.
                each.assign(state[name].copy())
            elif id(each) not in metrics:  # metrics are reset in every epoch
                raise SettingsError(
                    f"{name} was made after the snapshot, which cannot put it back; build model "
                    "and optimiser before training"
                )
        for name, buffer in buffers_of(model).items():
            buffer.copy_(state[name])

    return Part(get=get, set=set_, reseed=lambda seed: _reseed(model, seed), name="the model")


def _variables(model: Any, optimizer: Any) -> dict[str, Any]:
    """Every variable once, by its place and path, without the numbers that Keras gives to names."""
    known: dict[int, Any] = {}
    for each in (*model.variables, *optimizer.variables, *model.metrics_variables):
        known.setdefault(id(each), each)
    return {
        f"{place}:{re.sub(r'_[0-9]+', '', each.path)}": each
        for place, each in enumerate(known.values())
    }


def _value(variable: Any) -> Any:
    return np.array(keras.ops.convert_to_numpy(variable.value), copy=True)


def buffers_of(model: Any) -> dict[str, Any]:
    """Buffers of torch modules inside the model, which are no variables of Keras."""
    if keras.config.backend() != "torch":
        return {}
    found = dict(model.named_buffers())
    known = set(map(id, found.values()))
    for place, layer in enumerate(model._flatten_layers()):  # a Sequential hides its layers
        for name, buffer in layer.named_buffers():
            if id(buffer) not in known:
                known.add(id(buffer))
                found[f"layer {place}.{name}"] = buffer
    return found


def _reseed(model: Any, seed: int) -> None:
    places = enumerate(each for each in model.variables if each.path.endswith("generator_state"))
    for place, each in places:
        each.assign(np.asarray([(seed + place) % 2**31, 0], dtype=each.dtype))


def generator_parts() -> tuple[Part, ...]:
    """Keras's global seeds, and torch's where torch is there; the core adds numpy and Python."""
    parts = [Part(get=_global_seed, set=_set_global_seed, name="keras.random")]
    if "torch" in sys.modules:
        from dynhp_torch.parts import torch_generators

        parts += torch_generators()
    return tuple(parts)


def _global_seed() -> Any:
    generator = global_state.get_global_attribute(_GLOBAL_SEED)
    return None if generator is None else _value(generator.state)


def _set_global_seed(state: Any) -> None:
    if state is None:  # it was made in a try
        global_state.set_global_attribute(_GLOBAL_SEED, None)
    elif _global_seed() is not None:
        seed_generator.global_seed_generator().state.assign(state.copy())


def guarded(part: Part, armed: Callable[[], bool]) -> Part:
    """A part that is put back while it is allowed to, and otherwise left alone.

    A fit that raised leaves its run behind, which ends when Python clears it away: at a moment when
    the model may be in other hands.

    >>> place = [1]
    >>> part = Part(get=lambda: place[0], set=lambda state: place.__setitem__(0, state))
    >>> guarded(part, lambda: False).set(7); place
    [1]
    """

    def set_(state: Any) -> None:
        if armed():
            part.set(state)

    return replace(part, set=set_)


def guard_shared(parts: Parts, armed: Callable[[], bool]) -> None:
    """Guard the global generators too, which the core has added: others draw from them meanwhile.

    >>> parts = Parts([Part(get=int, set=print, shared=True)])
    >>> guard_shared(parts, lambda: False); parts.set_state((7,))
    """
    parts.parts = tuple(guarded(each, armed) if each.shared else each for each in parts.parts)


def callback_part(callbacks: Sequence[Any]) -> Part:
    """What callbacks that take part in training remember, such as how long to wait."""

    def get() -> list[dict[str, Any]]:
        return [
            copy.deepcopy({k: v for k, v in vars(each).items() if k not in _OF_EVERY_CALLBACK})
            for each in callbacks
        ]

    def set_(state: list[dict[str, Any]]) -> None:
        for each, saved in zip(callbacks, state, strict=True):
            vars(each).update(copy.deepcopy(saved))

    return Part(get=get, set=set_, name="callbacks that take part in training")
