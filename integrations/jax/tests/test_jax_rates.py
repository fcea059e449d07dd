"""One argument finds the rate of a functional loop; the run's schedule is a factor of its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from dynhp import plan_for, recommended, spent
from dynhp.planning import rate_search
from dynhp.tails import wsd
from dynhp_jax import adapt_pytree

STEPS = 100
INPUTS = jnp.asarray(np.random.default_rng(0).normal(size=(64, 4)), jnp.float32)
TARGETS = INPUTS @ jnp.ones((4, 1))
TX = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)


def loss_of(weights: Any, rows: Any) -> Any:
    return ((INPUTS[rows] @ weights - TARGETS[rows]) ** 2).mean()


@jax.jit
def train_step(carry: Any, factor: Any) -> Any:
    key, shuffle = jax.random.split(carry["key"])
    rows = jax.random.randint(shuffle, (16,), 0, 64)
    loss, grads = jax.value_and_grad(loss_of)(carry["weights"], rows)
    updates, opt = TX.update(grads, carry["opt"])
    weights = optax.apply_updates(carry["weights"], factor * updates)
    return {"weights": weights, "opt": opt, "key": key}, loss


def start(rate: float) -> Any:
    weights = jnp.zeros((4, 1))
    opt = TX.init(weights)
    opt.hyperparams["learning_rate"] = jnp.asarray(rate, jnp.float32)
    return {"weights": weights, "opt": opt, "key": jax.random.key(0)}


@pytest.mark.parametrize("rate", [0.00316228, 0.1, 3.16228])
def test_the_preset_finds_the_same_rate_from_anywhere(rate: float) -> None:
    policy = recommended("learning_rate", loss="train_loss")
    loop = adapt_pytree(start(rate), steps=STEPS, policy=policy)
    plan, losses, rates = plan_for(loop.loop), [], []
    for step, carry in loop:
        factor = 1.0 if step.tail else wsd((step.number + 0.5) / STEPS)
        in_force = float(carry["opt"].hyperparams["learning_rate"])
        carry, loss = train_step(carry, factor)
        step.report(carry, train_loss=loss)
        if step.main:
            losses.append(float(loss))
            rates.append(in_force)
    search, cost = rate_search(loop.loop), spent(loop.loop)
    assert (search.start, search.rate) == (rate, 0.1)
    assert rates == pytest.approx([0.1] * STEPS)
    assert plan_for(loop.loop).least == plan_for(loop.loop).most == cost
    assert plan.least.overhead <= cost.overhead <= plan.most.overhead
    assert cost.overhead == 5 * (len(search.rates) + 2)  # a 20th of the run, and the check's two
    assert max(losses[-10:]) < 1e-3 < losses[0]
    assert train_step._cache_size() == 1
