"""One argument finds the rate of a functional loop, and sets it in every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from dynhp import plan_for, recommended, spent
from dynhp.planning import Plan, rate_search
from dynhp.tails import wsd
from dynhp_jax import adapt_pytree
from dynhp_jax.loop import PytreeLoop

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


class Searched(NamedTuple):
    """A run with a search: the rates of its main line, and what it lost there."""

    loop: PytreeLoop
    plan: Plan
    rates: list[float]
    losses: list[float]


def searched(
    rate: float, factor: Callable[[float], float] | None = None, **fields: Any
) -> Searched:
    """Find a rate from this one, and train with it; a factor is a schedule of the loop's own."""
    policy = recommended("learning_rate", loss="train_loss")
    loop = adapt_pytree(start(rate), steps=STEPS, policy=policy, **fields)
    run = Searched(loop, plan_for(loop.loop), [], [])
    for step, carry in loop:
        own = 1.0 if factor is None or step.tail else factor((step.number + 0.5) / STEPS)
        in_force = float(carry["opt"].hyperparams["learning_rate"])
        carry, loss = train_step(carry, own)
        step.report(carry, train_loss=loss)
        if step.main:
            run.losses.append(float(loss))
            run.rates.append(in_force)
    return run


@pytest.mark.parametrize("rate", [0.1, 0.1 / 17.8, 0.1 * 17.8, 100.0])
def test_the_preset_finds_the_same_rate_from_anywhere(rate: float) -> None:
    """Also from starts between two rates of its grid."""
    run, usual = searched(rate), searched(0.03)
    search = rate_search(run.loop.loop)
    assert search.start == pytest.approx(rate, rel=1e-6)
    assert 0.01 < search.rate < 1
    assert (run.rates, run.losses) == (usual.rates, usual.losses)
    assert max(run.rates) == pytest.approx(search.rate)
    assert 0 < run.rates[-1] < search.rate / 10, "it ends near zero"
    assert max(run.losses[-10:]) < 1e-3 < run.losses[0]
    assert train_step._cache_size() == 1


def test_the_preset_costs_what_was_planned() -> None:
    run = searched(0.01)
    cost, tried = spent(run.loop.loop), [each.epochs for each in run.loop.history[0].tries]
    assert plan_for(run.loop.loop).least == plan_for(run.loop.loop).most == cost
    assert run.plan.least.overhead <= cost.overhead <= run.plan.most.overhead
    assert cost.main_line == STEPS
    assert cost.overhead == sum(tried) + 2 * tried[0], "the check carries out the first twice more"


def test_a_schedule_of_the_loops_own_takes_the_place_of_the_presets() -> None:
    run = searched(0.1, factor=wsd, course=None)
    assert run.rates == pytest.approx([rate_search(run.loop.loop).rate] * STEPS)
    assert max(run.losses[-10:]) < 1e-3 < run.losses[0]
