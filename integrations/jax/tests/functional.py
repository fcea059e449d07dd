"""An ordinary functional loop: parameters, Adam, a key and a shuffling generator in one carry."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

INPUTS = np.random.default_rng(0).normal(size=(48, 4)).astype(np.float32)
LABELS = (INPUTS[:, 0] > INPUTS[:, 1]).astype(np.int32)
RATES = [0.003, 0.01, 0.03]


class Training:
    """Everything that is random, stateful and awkward in a functional loop."""

    def __init__(self, *, raw: bool = False, donate: bool = False, optimizer: Any = None) -> None:
        self.tx = optimizer or optax.inject_hyperparams(optax.adam)(learning_rate=0.01)
        self.train = jax.jit(self._train, donate_argnums=(0,) if donate else ())
        self.measure = jax.jit(partial(self._loss, inputs=INPUTS[32:], labels=LABELS[32:]))
        self.raw = raw

    def start(self) -> Any:
        make_key: Any = jax.random.PRNGKey if self.raw else jax.random.key
        params = {"w": jax.random.normal(jax.random.key(7), (4, 2))}
        return {"params": params, "opt": self.tx.init(params), "key": make_key(1), "epoch": 0}

    def _loss(self, params: Any, inputs: Any, labels: Any, kept: Any = 1.0) -> Any:
        outputs = (inputs * kept) @ params["w"]
        return optax.softmax_cross_entropy_with_integer_labels(outputs, labels).mean()

    def _train(self, carry: Any) -> Any:
        params, opt, key = carry["params"], carry["opt"], carry["key"]
        key, shuffle = jax.random.split(key)
        batches = jax.random.permutation(shuffle, 32).reshape(2, 16)
        (params, opt, key), _ = jax.lax.scan(self._step, (params, opt, key), batches)
        return {"params": params, "opt": opt, "key": key, "epoch": carry["epoch"]}

    def _step(self, carry: Any, batch: Any) -> tuple[Any, None]:
        params, opt, key = carry
        key, noise = jax.random.split(key)
        kept = jax.random.bernoulli(noise, 0.8, (16, 4)) / 0.8
        data = jnp.asarray(INPUTS)[batch], jnp.asarray(LABELS)[batch]
        grads = jax.grad(self._loss)(params, *data, kept)
        updates, opt = self.tx.update(grads, opt, params)
        return (optax.apply_updates(params, updates), opt, key), None

    def epoch(self, carry: Any) -> tuple[Any, Any]:
        """One epoch and its metric; the number is counted outside of what is compiled."""
        number = carry["epoch"]
        carry = {**self.train(carry), "epoch": number + 1}
        return carry, self.measure(carry["params"])


@lru_cache
def training(*, raw: bool = False, donate: bool = False) -> Training:
    """The loop with Adam, compiled once for all tests."""
    return Training(raw=raw, donate=donate)


def bits(carry: Any) -> list[Any]:
    """Everything, to the last bit."""
    return [
        (str(leaf.dtype), leaf.weak_type, np.asarray(leaf).tolist())
        if isinstance(leaf, jax.Array)
        else leaf
        for leaf in jax.tree.leaves(
            {**carry, "key": jax.random.key_data(carry["key"])}
            if jnp.issubdtype(carry["key"].dtype, jax.dtypes.prng_key)
            else carry
        )
    ]
