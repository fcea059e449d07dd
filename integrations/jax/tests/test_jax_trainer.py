"""The trainer form: laws on the example and on others, broken ones refused, checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from functional import training

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import LawBroken, LoopError, MetricError, SettingsError
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.codecs import decode, encode
from dynhp.testing import check_trainer, trainer_checks
from dynhp_jax import injected, pytree_trainer
from dynhp_jax.example import example, make
from dynhp_jax.leaves import KeyData
from tests.support.messages import raises

RATE = {"learning_rate": [0.003, 0.01, 0.03]}


def test_the_example_obeys_the_laws() -> None:
    check_trainer(*example())


def raw() -> Any:
    """A raw key, a numpy array that is written into, a count in Python, and no donation."""
    made = training(raw=True)

    def train_epoch(carry: Any, values: Any) -> Any:
        seen = carry["seen"]
        seen += 1
        rest = made.epoch({name: carry[name] for name in carry if name != "seen"})[0]
        return {**rest, "seen": seen}

    return pytree_trainer(
        {**made.start(), "seen": np.zeros(2)},
        train_epoch=train_epoch,
        evaluate=lambda carry: {"loss": made.measure(carry["params"])},
        bind={"learning_rate": injected("learning_rate")},
    )


def test_a_raw_key_and_arrays_of_numpy_obey_the_laws() -> None:
    check_trainer(raw, RATE, another_process=False)


class KeyOutside:
    """Keeps its key beside the carry, as a global of the script would be."""

    def __init__(self) -> None:
        self.key = jax.random.key(0)
        made = training()

        def train_epoch(carry: Any, values: Any) -> Any:
            self.key, noise = jax.random.split(self.key)
            return made.epoch({**carry, "key": noise})[0]

        self.trainer = pytree_trainer(
            made.start(),
            train_epoch=train_epoch,
            evaluate=lambda carry: {"loss": made.measure(carry["params"])},
            bind={"learning_rate": injected("learning_rate")},
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trainer, name)


def test_a_key_that_is_left_out_breaks_the_law_of_restore() -> None:
    checks = dict(trainer_checks(KeyOutside, RATE, another_process=False))
    with raises(LawBroken):
        checks["restore"]()


def test_a_run_that_is_resumed_ends_as_the_undisturbed_one(tmp_path: Path) -> None:
    def adapter() -> Any:
        criterion = lowest("val_loss")
        return DynamicGridAdapter(
            make(), example()[1], criterion=criterion, adapt_every=2, try_for=1
        )

    whole = adapter()
    history = run_with_checkpoints(whole, 4, checkpoint=tmp_path / "whole")
    run_with_checkpoints(adapter(), 2, checkpoint=tmp_path / "parts")
    resumed = adapter()
    assert run_with_checkpoints(resumed, 4, checkpoint=tmp_path / "parts") == history
    for here, there in zip(
        *map(jax.tree.leaves, (whole.trainer.carry, resumed.trainer.carry)), strict=True
    ):
        assert (here == there).all() if here.ndim else here == there


@pytest.mark.parametrize(
    "array",
    [
        jnp.arange(3, dtype=jnp.int8),
        jnp.asarray(0.1),
        jnp.zeros((0, 2)),
        jnp.ones((2, 2), dtype=jnp.bfloat16),
        jnp.asarray([1 + 2j]),
        jnp.asarray(True),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_arrays_are_stored_to_the_bit(array: Any) -> None:
    stored = decode(encode(array))
    assert (stored.dtype, stored.shape) == (array.dtype, array.shape)
    assert stored.weak_type == array.weak_type
    assert np.asarray(stored).tobytes() == np.asarray(array).tobytes()


def test_keys_are_stored_and_damaged_arrays_are_refused() -> None:
    key = KeyData(impl="rbg", data=jnp.arange(4, dtype=jnp.uint32))
    stored = decode(encode(key))
    assert (stored.impl, stored.data.tolist()) == ("rbg", [0, 1, 2, 3])
    from dynhp_jax.codecs import _from_plain

    good = {"dtype": "float32", "shape": [2], "weak": False, "bytes": np.zeros(8, np.uint8)}
    assert _from_plain(good).shape == (2,)
    for broken in ({"shape": [3]}, {"shape": [-2]}, {"bytes": [0] * 8}, {"dtype": "float64"}):
        with pytest.raises(ValueError, match=r"bytes|shape|float64"):
            _from_plain({**good, **broken})


def test_what_a_trainer_cannot_be_made_of_is_refused() -> None:
    carry: Any = jnp.ones(1)
    options: Any = {"train_epoch": lambda carry, values: carry, "evaluate": lambda carry: {}}
    with raises(SettingsError):
        pytree_trainer(carry, **options)
    with raises(SettingsError):
        pytree_trainer(carry, **options, reads="lr")
    with raises(SettingsError):
        pytree_trainer(carry, **{**options, "train_epoch": 3}, reads=["lr"])
    trainer = pytree_trainer(carry, **options, reads=["lr"])
    with raises(SettingsError):
        trainer.train_k(1, {"rate": 0.1})
    with raises(SettingsError):
        trainer.set_state(({"carry['w']": 1}, *trainer.get_state()[1:]))
    trainer = pytree_trainer(carry, **{**options, "evaluate": lambda carry: 3.0}, reads=["lr"])
    with raises(MetricError):
        trainer.metrics()
    destroys = jax.jit(lambda carry: carry * 2, donate_argnums=0)
    trainer = pytree_trainer(
        jnp.ones(1),
        **{**options, "evaluate": lambda carry: {"x": destroys(carry)[0]}},
        reads=["lr"],
    )
    with raises(LoopError):
        trainer.metrics()


def test_optax_makes_its_settings_as_expected() -> None:
    """The names that dynhp_jax relies on, in every version of optax that is allowed."""
    state = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1).init(jnp.ones(1))
    assert {"hyperparams", "hyperparams_states", "inner_state"} <= set(state._fields)
