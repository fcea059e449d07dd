"""A small ready trainer: an MLP with dropout, Adam, keys and shuffled batches, in one pytree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dynhp import Ordered, Trainer
from dynhp_jax.injected import injected
from dynhp_jax.trainer import pytree_trainer

__all__ = ["example", "make"]


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"learning_rate": 0.03, "dropout": 0.2})
    >>> sorted(trainer.metrics())
    ['val_loss']
    """
    return make, {
        "learning_rate": Ordered(0.003, 0.01, 0.03),
        "dropout": Ordered(0.0, 0.2, 0.4),
    }


def make() -> Trainer:
    """Dropout, Adam's memory, a typed key, a compiled epoch that is given its memory to keep.

    >>> make().hyperparameters()
    {'learning_rate': 0.01}
    """
    first, second = jax.random.split(jax.random.key(0))
    params = {
        "first": jax.random.normal(first, (4, 8)) / 2,
        "second": jax.random.normal(second, (8, 2)) / 3,
    }
    return pytree_trainer(
        {"params": params, "memory": _OPTIMIZER.init(params), "key": jax.random.key(1)},
        train_epoch=lambda carry, values: _epoch(carry, values["dropout"]),
        evaluate=lambda carry: {"val_loss": _measured(carry["params"])},
        bind={"learning_rate": injected("learning_rate")},
        reads=["dropout"],
    )


# Functions of the module, so that they are compiled once, however many trainers there are.
_OPTIMIZER = optax.inject_hyperparams(optax.adam)(learning_rate=0.01)
_INPUTS = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
_LABELS = (_INPUTS[:, 0] * _INPUTS[:, 1] > 0).astype(np.int32)


def _loss(params: Any, inputs: Any, labels: Any, kept: Any) -> Any:
    hidden = jax.nn.relu(inputs @ params["first"]) * kept
    outputs = hidden @ params["second"]
    return optax.softmax_cross_entropy_with_integer_labels(outputs, labels).mean()


@partial(jax.jit, donate_argnums=0)
def _epoch(carry: Any, dropout: Any) -> Any:
    key, shuffle = jax.random.split(carry["key"])
    batches = jax.random.permutation(shuffle, 32).reshape(2, 16)
    return jax.lax.scan(partial(_step, dropout=dropout), {**carry, "key": key}, batches)[0]


def _step(carry: Any, batch: Any, dropout: Any) -> tuple[Any, None]:
    key, noise = jax.random.split(carry["key"])
    kept = jax.random.bernoulli(noise, 1 - dropout, (16, 8)) / (1 - dropout)
    data = jnp.asarray(_INPUTS)[batch], jnp.asarray(_LABELS)[batch]
    grads = jax.grad(_loss)(carry["params"], *data, kept)
    updates, memory = _OPTIMIZER.update(grads, carry["memory"])
    params = optax.apply_updates(carry["params"], updates)
    return {"params": params, "memory": memory, "key": key}, None


@jax.jit
def _measured(params: Any) -> Any:
    return _loss(params, _INPUTS[32:], _LABELS[32:], 1.0)
