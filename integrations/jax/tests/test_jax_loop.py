"""A functional loop: tries leave no trace, nothing compiles again, and mistakes are named."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from functional import RATES, FunctionalTraining, bits, training

from dynhp import Placebo, rescue
from dynhp.errors import (
    Hint,
    LoopError,
    NotRepeatable,
    SettingsError,
    ValueNotInForce,
    ValueNotUsed,
)
from dynhp_jax import adapt_pytree, injected
from tests.support.messages import raises, warns

EPOCHS = 7
SPACE = {"learning_rate": RATES}


def run(made: FunctionalTraining, **options: Any) -> Any:
    settings: dict[str, Any] = {"adapt_every": 3, "try_for": 1, "minimize": "loss", **options}
    space, epochs = settings.pop("space", SPACE), settings.pop("epochs", EPOCHS)
    loop = adapt_pytree(made.start(), epochs, space=space, **settings)
    for epoch, carry in loop:
        carry, loss = made.epoch(carry)
        epoch.report(carry, loss=loss)
    return loop


@pytest.mark.parametrize(
    ("donate", "raw", "try_for"), [(False, False, 1), (True, False, 3), (False, True, 3)]
)
def test_a_dry_run_is_bit_identical_to_the_plain_loop(
    donate: bool, raw: bool, try_for: int
) -> None:
    made = training(raw=raw, donate=donate)
    carry = made.start()
    for _ in range(EPOCHS):
        carry, _ = made.epoch(carry)
    loop = run(made, dry_run=True, try_for=try_for)
    assert bits(loop.carry) == bits(carry)
    assert len(loop.history.rounds[0].tries) == 3
    assert made.train._cache_size() == 1


@pytest.mark.parametrize("donate", [False, True])
def test_several_rates_compile_once_and_the_chosen_one_is_in_force(donate: bool) -> None:
    made = training(donate=donate)
    loop = run(made)
    assert made.train._cache_size() == 1
    assert loop.history.rounds[0].candidate["learning_rate"] == 0.03
    chosen = loop.history.rounds[-1].candidate["learning_rate"]
    setting = loop.carry["opt"].hyperparams["learning_rate"]
    assert np.float32(chosen) == setting
    assert (setting.dtype, setting.weak_type) == (jnp.float32, False)


def test_a_weak_type_stays_weak_so_that_nothing_compiles_again() -> None:
    made = training()
    start = made.start()
    weak = {**start["opt"].hyperparams, "learning_rate": jnp.asarray(0.01)}
    assert weak["learning_rate"].weak_type
    loop = adapt_pytree(
        {**start, "opt": start["opt"]._replace(hyperparams=weak)},
        2,
        space=SPACE,
        minimize="loss",
        adapt_every=2,
        try_for=1,
    )
    handed = [carry["opt"].hyperparams["learning_rate"] for _, carry in first_passes(loop)]
    assert [(each.weak_type, each.dtype) for each in handed] == [(True, jnp.float32)]


def drive(loop: Any, body: Any) -> None:
    for epoch, carry in loop:
        body(epoch, carry)


def first_passes(loop: Any) -> Any:
    for epoch, carry in loop:
        yield epoch, carry
        return


def test_the_choice_equals_a_reference_by_hand() -> None:
    made = training()
    carry, current, chosen = made.start(), 0.01, []
    for _ in range(2):
        tries = []
        for rate in [current, *(other for other in RATES if other != current)]:
            setting = jnp.full_like(carry["opt"].hyperparams["learning_rate"], rate)
            settings = {**carry["opt"].hyperparams, "learning_rate": setting}
            origin = {**carry, "opt": carry["opt"]._replace(hyperparams=settings)}
            after, loss = made.epoch(origin)
            tries.append((float(loss), rate, after))
        _, current, carry = min(tries, key=lambda each: each[0])
        carry, _ = made.epoch(carry)
        chosen.append(current)
    loop = adapt_pytree(made.start(), 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)
    for epoch, given in loop:
        given, loss = made.epoch(given)
        epoch.report(given, {"loss": loss})
    assert [round_.candidate["learning_rate"] for round_ in loop.history] == chosen
    assert bits(loop.carry) == bits(carry)


def test_a_key_that_is_left_out_is_caught_and_named() -> None:
    made = training()
    key = jax.random.key(3)
    loop = adapt_pytree(made.start(), 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)

    def body(epoch: Any, carry: Any) -> None:
        nonlocal key
        key, noise = jax.random.split(key)
        carry = {**carry, "key": noise}
        carry, loss = made.epoch(carry)
        epoch.report(carry, loss=loss)

    with raises(NotRepeatable):
        drive(loop, body)


def test_a_raw_key_that_is_left_out_is_caught_and_named() -> None:
    made = training(raw=True)
    key = jax.random.PRNGKey(3)
    loop = adapt_pytree(made.start(), 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)

    def body(epoch: Any, carry: Any) -> None:
        nonlocal key
        key, noise = jax.random.split(key)
        carry, loss = made.epoch({**carry, "key": noise})
        epoch.report(carry, loss=loss)

    with raises(NotRepeatable):
        drive(loop, body)


def test_a_carry_that_is_not_handed_back_is_refused() -> None:
    made = training()
    options: Any = {"space": SPACE, "minimize": "loss", "adapt_every": 2, "try_for": 1}

    def forgets(epoch: Any, carry: Any) -> None:
        made.epoch(carry)

    with raises(LoopError):
        drive(adapt_pytree(made.start(), 4, **options), forgets)

    def keeps(epoch: Any, carry: Any) -> None:
        made.epoch(carry)
        epoch.report(carry, loss=1.0)

    with raises(LoopError):
        drive(adapt_pytree(made.start(), 4, **options), keeps)

    def twice(epoch: Any, carry: Any) -> None:
        epoch.carry, loss = made.epoch(carry)
        epoch.report(made.epoch(carry)[0], loss=loss)

    with raises(LoopError):
        drive(adapt_pytree(made.start(), 4, **options), twice)


def test_another_structure_is_refused() -> None:
    loop = adapt_pytree(
        {"w": jnp.ones(1)}, 4, space={"lr": [0.1, 0.2]}, minimize="loss", adapt_every=2, try_for=1
    )

    def body(epoch: Any, carry: Any) -> None:
        epoch.report({"v": carry["w"] * epoch["lr"]}, loss=1.0)

    with raises(LoopError):
        drive(loop, body)


def test_a_donation_that_comes_late_is_noticed() -> None:
    plain, donating = training(), training(donate=True)
    loop = adapt_pytree(
        plain.start(), 6, space=SPACE, minimize="loss", adapt_every=2, try_for=1, check="off"
    )

    def body(epoch: Any, carry: Any) -> None:
        carry, loss = (plain if epoch < 2 else donating).epoch(carry)
        epoch.report(carry, loss=loss)

    with raises(LoopError):
        drive(loop, body)


def test_a_donated_carry_that_is_handed_back_is_refused() -> None:
    made = training(donate=True)
    loop = adapt_pytree(made.start(), 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)

    def body(epoch: Any, carry: Any) -> None:
        _, loss = made.epoch(carry)
        epoch.report(carry, loss=loss)

    with raises(LoopError):
        drive(loop, body)


def test_a_value_that_is_overwritten_stops_the_run() -> None:
    made = training()
    opt = made.start()["opt"]
    loop = adapt_pytree(made.start(), 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)

    def body(epoch: Any, carry: Any) -> None:
        carry, loss = made.epoch(carry)
        # The optimiser state from before the loop, as when it is kept in another variable.
        epoch.report({**carry, "opt": opt if epoch.trying else carry["opt"]}, loss=loss)

    with raises(ValueNotInForce):
        drive(loop, body)


def test_a_schedule_is_refused_and_a_factor_on_top_of_it_is_the_way_out() -> None:
    schedule = optax.cosine_decay_schedule(0.03, 20)
    made = FunctionalTraining(
        optimizer=optax.inject_hyperparams(optax.adam)(learning_rate=schedule)
    )
    with raises(SettingsError):
        run(made)
    scaled = optax.chain(optax.adam(schedule), optax.inject_hyperparams(optax.scale)(step_size=1.0))
    loop = run(FunctionalTraining(optimizer=scaled), space={"step_size": [0.3, 1.0, 3.0]})
    assert len({one.series[0]["loss"] for one in loop.history.rounds[0].tries}) == 3


def test_a_value_that_nobody_reads_is_refused() -> None:
    made = FunctionalTraining(optimizer=optax.adam(0.01))
    with raises(LoopError):
        run(made)
    with raises(SettingsError):
        run(made, bind={"learning_rate": injected("learning_rate")})


def test_a_value_baked_into_a_compiled_function_is_noticed() -> None:
    made = FunctionalTraining(optimizer=optax.adam(0.01))
    loop = adapt_pytree(made.start(), 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)

    def body(epoch: Any, carry: Any) -> None:
        _ = epoch["learning_rate"]
        carry, loss = made.epoch(carry)
        epoch.report(carry, loss=loss)

    with pytest.raises(ValueNotUsed):
        drive(loop, body)


def test_two_optimisers_are_bound_by_their_places() -> None:
    tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
    carry = {name: (jnp.ones(1), tx.init(jnp.ones(1))) for name in ("critic", "actor")}
    space = {"critic": [0.1, 0.5], "actor": [0.1, 0.3]}
    bind = {name: injected("learning_rate", where=name) for name in space}
    loop = adapt_pytree(carry, 2, space=space, bind=bind, minimize="loss", adapt_every=2, try_for=1)
    for epoch, carry in loop:
        for name, (weight, memory) in carry.items():
            updates, memory = tx.update(2 * weight, memory)
            carry = {**carry, name: (optax.apply_updates(weight, updates), memory)}
        epoch.report(carry, loss=sum((weight**2).sum() for weight, _ in carry.values()))
    rates = {
        name: float(memory.hyperparams["learning_rate"]) for name, (_, memory) in loop.carry.items()
    }
    assert rates == pytest.approx({"critic": 0.5, "actor": 0.3})
    with raises(ValueNotInForce):
        adapt_pytree(loop.carry, 2, space=SPACE, minimize="loss", adapt_every=2, try_for=1)


def test_who_ends_in_a_try_is_told_where_the_final_carry_is() -> None:
    with warns(Hint):
        loop = run(training(), adapt_every=1)
    assert loop.carry["epoch"] == EPOCHS
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(training(), epochs=6)
    assert not [each for each in caught if "loop.carry" in str(each.message)]


def test_generators_beside_the_carry_belong_to_the_state() -> None:
    made = training()
    generator = np.random.default_rng(5)
    loop = adapt_pytree(
        made.start(),
        4,
        space=SPACE,
        state=[generator],
        minimize="loss",
        adapt_every=2,
        try_for=1,
        dry_run=True,
    )
    for epoch, carry in loop:
        carry, loss = made.epoch({**carry, "key": jax.random.key(int(generator.integers(9)))})
        epoch.report(carry, loss=loss)
    fresh = np.random.default_rng(5)
    fresh.integers(9, size=4)
    assert generator.bit_generator.state == fresh.bit_generator.state


def test_independent_randomness_reseeds_typed_keys_only() -> None:
    loop = run(training(), proposer=Placebo(3), space=SPACE)
    losses = {tuple(each["loss"] for each in one.series) for one in loop.history.rounds[0].tries}
    assert len(losses) == 3
    with raises(SettingsError):
        run(training(raw=True), proposer=Placebo(3))


@pytest.mark.parametrize(
    "carry",
    [
        {},
        {"w": jnp.ones(1), "rng": np.random.default_rng(0)},
        {"w": jnp.ones(1), "data": iter([1])},
    ],
)
def test_what_cannot_be_a_carry_is_refused(carry: Any) -> None:
    with raises(SettingsError):
        adapt_pytree(carry, 4, space=SPACE, minimize="loss", adapt_every=2, try_for=1)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_a_preset_with_a_way_back_works() -> None:
    loop = adapt_pytree({"w": jnp.ones(1)}, 6, policy=rescue("lr", default=2.5, loss="loss"))
    for epoch, carry in loop:
        factor = (1 - epoch["lr"]) * (1e3 if epoch["lr"] > 2 else 1)
        carry = {"w": carry["w"] * factor}
        epoch.report(carry, loss=carry["w"].sum() ** 2)
    assert loop.history.epochs == 6
    assert [round_.abandoned for round_ in loop.history][:3] == [0, 0, 1]
    assert loop.history[-1].candidate["lr"] < 2.5
