"""Averaged weights in the carry: their mathematics, their place in a run, and what is refused."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from dynhp import DynamicGridAdapter, recommended
from dynhp.errors import SettingsError
from dynhp.planning import rate_search
from dynhp_jax import adapt_pytree, average_of, injected, pytree_trainer
from tests.support.messages import raises

INPUTS = jnp.asarray(np.random.default_rng(0).normal(size=(64, 4)), jnp.float32)
NOISE = jnp.asarray(np.random.default_rng(1).normal(size=(64, 1)), jnp.float32)
TARGETS = INPUTS @ jnp.ones((4, 1)) + 0.3 * NOISE
TX = optax.inject_hyperparams(optax.sgd)(learning_rate=0.05)
STEPS = 60


def start(*, averaged: bool = True) -> Any:
    weights = jnp.zeros((4, 1))
    carry = {"weights": weights, "opt": TX.init(weights), "key": jax.random.key(0)}
    return {**carry, "average": average_of(weights, 0.2)} if averaged else carry


@functools.partial(jax.jit, donate_argnums=0)
def train_step(carry: Any) -> Any:
    key, shuffle = jax.random.split(carry["key"])
    rows = jax.random.randint(shuffle, (8,), 0, 64)
    loss, grads = jax.value_and_grad(loss_of)(carry["weights"], rows)
    updates, opt = TX.update(grads, carry["opt"])
    weights = optax.apply_updates(carry["weights"], updates)
    after = {"weights": weights, "opt": opt, "key": key}
    if "average" in carry:
        after["average"] = carry["average"].update(weights)
    return after, loss


def loss_of(weights: Any, rows: Any = slice(None)) -> Any:
    return ((INPUTS[rows] @ weights - TARGETS[rows]) ** 2).mean()


def loop_of(carry: Any, **fields: Any) -> Any:
    known: dict[str, Any] = {"adapt_every": 20, "try_for": 4, "minimize": "loss", **fields}
    return adapt_pytree(carry, steps=STEPS, space={"learning_rate": [0.02, 0.05, 0.1]}, **known)


def train(loop: Any, *, until: int = STEPS) -> Any:
    """Train to the end, or until this step of the main line was reported."""
    for step, carry in loop:
        carry, _ = train_step(carry)
        step.report(carry, loss=loss_of(carry["average"].weights))
        if step.main and step + 1 == until < STEPS:
            return jax.tree.map(jnp.copy, loop.carry), loop.state_dict()
    return loop.carry


def bits(tree: Any) -> list[bytes]:
    leaves = [
        leaf
        for leaf in jax.tree.leaves(tree)
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    ]
    return [np.asarray(leaf).tobytes() for leaf in leaves]


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_the_average_is_of_the_last_share_and_its_window_grows(share: float) -> None:
    average = average_of(jnp.full(1, 99.0), share)
    take_in = jax.jit(lambda old, new: old.update(new))
    mean = 0.0
    for number in range(50):
        newest = float(np.sin(number))
        mean += (newest - mean) * min(1.0, 1 / (share * (number + 1)))
        average = take_in(average, jnp.full(1, newest))
        assert float(average.weights[0]) == pytest.approx(mean, abs=1e-5)
    if share == 1.0:
        assert mean == pytest.approx(np.sin(np.arange(50)).mean())


def test_the_first_weights_are_the_average_to_the_bit() -> None:
    first = jnp.asarray(np.random.default_rng(3).normal(size=9), jnp.float32)
    average = average_of(first * 1e9).update(first)
    assert bits(average.weights) == bits(first)


def test_whole_numbers_and_keys_are_those_of_the_newest_weights() -> None:
    def weights(number: int) -> Any:
        return {"w": jnp.full(1, number, jnp.float32), "n": jnp.asarray(number),
                "key": jax.random.key(number), "scale": float(number)}  # fmt: skip

    average = average_of(weights(0), 1.0)
    for number in (1, 2):
        average = average.update(weights(number))
    assert float(average.weights["w"][0]) == float(average.weights["scale"]) == 1.5
    assert int(average.weights["n"]) == 2
    assert bool(average.weights["key"] == jax.random.key(2))


def test_nothing_is_compiled_again_and_donated_memory_is_no_harm() -> None:
    train_step.clear_cache()
    carry = start()
    for _ in range(3):
        carry, _ = train_step(carry)
    assert train_step._cache_size() == 1


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_run_with_averages_is_exact(dry_run: bool) -> None:
    """Under tries, in a dry run, and where it goes on from the middle."""
    whole = train(loop_of(start(), dry_run=dry_run))
    if dry_run:
        plain = start()
        for _ in range(STEPS):
            plain, _ = train_step(plain)
        assert bits(plain) == bits(whole)
    assert int(whole["average"].taken) == STEPS
    carry, state = train(loop_of(start(), dry_run=dry_run), until=35)
    again = loop_of(carry, dry_run=dry_run)
    again.load_state_dict(state)
    assert bits(train(again)) == bits(whole)


def test_the_best_epoch_is_delivered_with_its_average() -> None:
    loop = loop_of(start(), keep_best=True)
    train(loop)
    assert loop.best is not None
    loop.deliver()
    assert float(loss_of(loop.carry["average"].weights)) == -loop.best.score
    assert int(loop.carry["average"].taken) == loop.best.epoch + 1


def test_the_preset_may_end_by_the_average() -> None:
    policy = recommended("learning_rate", ending="average")
    loop = adapt_pytree(start(), steps=200, policy=policy)
    rates = []
    for step, carry in loop:
        rates += [float(carry["opt"].hyperparams["learning_rate"])] if step.main else []
        carry, loss = train_step(carry)
        step.report(carry, train_loss=loss)
    assert rates == pytest.approx([rate_search(loop.loop).rate] * 200)
    carry = loop.carry
    assert loss_of(carry["average"].weights) < loss_of(carry["weights"])


def test_without_an_average_in_the_carry_a_run_cannot_end_by_one() -> None:
    policy = recommended("learning_rate", ending="average")
    with raises(SettingsError):
        adapt_pytree(start(averaged=False), steps=200, policy=policy)


def test_a_trainer_may_end_by_it_too() -> None:
    def trainer(*, averaged: bool) -> Any:
        return pytree_trainer(
            start(averaged=averaged),
            train_epoch=lambda carry, values: train_step(carry)[0],
            evaluate=lambda carry: {"train_loss": loss_of(carry["weights"])},
            bind={"learning_rate": injected("learning_rate")},
        )

    policy = recommended("learning_rate", ending="average")
    made = trainer(averaged=True)
    DynamicGridAdapter(made, policy=policy, epochs=20).run(20)
    assert bits(made.deliver()) == bits(made.carry["average"].weights)
    with raises(SettingsError):
        DynamicGridAdapter(trainer(averaged=False), policy=policy)


def test_statistics_are_measured_again_as_the_mean_over_the_batches() -> None:
    average = average_of(jnp.zeros(1)).update(jnp.full(1, 3.0))

    def measure(weights: Any, batch: Any) -> Any:
        return {"mean": (weights * batch).mean(), "largest": batch.max()}

    again = average.statistics(measure, [jnp.arange(2.0), jnp.arange(4.0)])
    assert again == {"mean": 3.0, "largest": 2.0}
    with raises(SettingsError):
        average.statistics(measure, iter(()))


def test_nothing_is_delivered_before_an_update() -> None:
    average = average_of(jnp.ones(1))
    with raises(SettingsError):
        average.weights  # noqa: B018
    assert float(jax.jit(lambda each: each.weights)(average)[0]) == 1.0  # not known when compiled


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_the_average_of_weights_of_16_bits_is_kept_in_32(dtype: Any) -> None:
    """Of 400 numbers whose mean lies between two of them, the last ones still count."""
    step = 2.0**-7
    average = average_of({"coarse": jnp.ones(1, dtype), "fine": jnp.ones(1)}, 1.0)
    take_in = jax.jit(lambda old, new: old.update(new))
    for number in range(400):
        newest = 1 + step * (number % 2)
        weights = {"coarse": jnp.full(1, newest, dtype), "fine": jnp.full(1, newest)}
        average = take_in(average, weights)
    assert take_in._cache_size() == 1
    assert float(average.mean["coarse"][0]) == pytest.approx(1 + step / 2, abs=1e-4)
    assert {name: leaf.dtype for name, leaf in average.weights.items()} == {
        "coarse": dtype, "fine": jnp.float32
    }  # fmt: skip


@pytest.mark.parametrize("share", [0, 1.5, "tenth"])
def test_a_share_is_a_share(share: Any) -> None:
    with raises(SettingsError):
        average_of(jnp.ones(1), share)
