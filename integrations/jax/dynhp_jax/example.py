"""A small ready trainer: an MLP with dropout, Adam, keys and shuffled batches, in one pytree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from dynhp import Ordered, Trainer
from dynhp.records import Value
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
    data, first, second = jax.random.split(jax.random.key(0), 3)
    inputs = jax.random.normal(data, (64, 4))
    labels = (inputs[:, 0] * inputs[:, 1] > 0).astype(jnp.int32)
    params = {
        "first": jax.random.normal(first, (4, 8)) / 2,
        "second": jax.random.normal(second, (8, 2)) / 3,
    }
    tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.01)

    def loss_of(params: Any, inputs: Any, labels: Any, kept: Any) -> Any:
        hidden = jax.nn.relu(inputs @ params["first"]) * kept
        losses = optax.softmax_cross_entropy_with_integer_labels(hidden @ params["second"], labels)
        return losses.mean()

    def step(carry: Any, batch: Any, dropout: Any) -> tuple[Any, None]:
        key, noise = jax.random.split(carry["key"])
        kept = jax.random.bernoulli(noise, 1 - dropout, (16, 8)) / (1 - dropout)
        grads = jax.grad(loss_of)(carry["params"], inputs[batch], labels[batch], kept)
        updates, memory = tx.update(grads, carry["memory"])
        new = optax.apply_updates(carry["params"], updates)
        return {"params": new, "memory": memory, "key": key}, None

    @partial(jax.jit, donate_argnums=0)
    def epoch(carry: Any, dropout: Any) -> Any:
        key, shuffle = jax.random.split(carry["key"])
        batches = jax.random.permutation(shuffle, 32).reshape(2, 16)
        return jax.lax.scan(partial(step, dropout=dropout), {**carry, "key": key}, batches)[0]

    @jax.jit
    def measured(carry: Any) -> Any:
        return loss_of(carry["params"], inputs[32:], labels[32:], 1.0)

    def train_epoch(carry: Any, values: Mapping[str, Value]) -> Any:
        return epoch(carry, values["dropout"])

    return pytree_trainer(
        {"params": params, "memory": tx.init(params), "key": jax.random.key(1)},
        train_epoch=train_epoch,
        evaluate=lambda carry: {"val_loss": measured(carry)},
        bind={"learning_rate": injected("learning_rate")},
        reads=["dropout"],
    )
