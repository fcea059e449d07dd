"""What is refused or noticed, on every backend; ``test_keras_backends.py`` runs it for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras_shared import (
    TIES,
    TORCH,
    X,
    Y,
    adapt,
    bits,
    callbacks,
    fit,
    make,
    torch_is_enough,
)

from dynhp import attribute, plateau, rescue
from dynhp.errors import LoopError, NotRepeatable, SettingsError, ValueNotInForce, ValueNotUsed
from dynhp_keras import Adapt, keras_trainer, setting, state, variable
from tests.support.messages import raises


class Decays(callbacks.Callback):
    """Changes weights, as pruning does."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        kernel = self.model.layers[0].kernel
        kernel.assign(kernel * 0.9)


@torch_is_enough
def test_a_hidden_callback_that_changes_what_is_trained_is_noticed() -> None:
    with raises(NotRepeatable):
        fit(make(), Decays(), adapt())
    plain = make()
    fit(plain, Decays())
    wanted = bits(plain)
    model, decays = make(), Decays()
    fit(model, decays, adapt(**TIES, try_for=2, acting=[decays]))
    assert bits(model) == wanted
    with raises(SettingsError):
        fit(make(), adapt(acting=[Decays()]))


@torch_is_enough
@pytest.mark.parametrize(
    "options",
    [
        {"steps_per_epoch": 1},
        {"validation_freq": 2},
    ],
)
def test_fits_that_cannot_be_put_back_are_refused_by_name(options: Any) -> None:
    with raises(SettingsError):
        fit(make(), adapt(), **options)


def test_a_generator_is_refused() -> None:
    batches = ((X[:16], Y[:16]) for _ in range(100))
    with raises(SettingsError):
        fit(make(), adapt(), data=(batches,), batch_size=None, shuffle=False)


class Dataset(keras.utils.PyDataset):
    def __init__(self, rng: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.rng = rng

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: int) -> Any:
        rows = slice(16 * place, 16 * place + 16)
        noise = 0 if self.rng is None else self.rng.normal(size=(16, 4))
        return (X[rows] + noise).astype("float32"), Y[rows]


@torch_is_enough
def test_a_dataset_of_keras_is_repeated_and_its_own_generator_is_not_forgotten() -> None:
    plain = make()
    fit(plain, data=(Dataset(),), batch_size=None, epochs=3)
    wanted = bits(plain)
    model = make()
    fit(model, adapt(dry_run=True), data=(Dataset(),), batch_size=None, epochs=3)
    assert bits(model) == wanted
    with pytest.raises(NotRepeatable):
        fit(make(), adapt(), data=(Dataset(np.random.default_rng(0)),), batch_size=None)
    rng = np.random.default_rng(0)
    fit(make(), adapt(state=[rng]), data=(Dataset(rng),), batch_size=None, epochs=3)
    with raises(SettingsError):
        fit(make(), adapt(), data=(Dataset(workers=2),), batch_size=None)


def test_a_seed_of_a_layer_that_is_left_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = state._variables
    seeds_left_out = lambda *things: {  # noqa: E731
        name: each for name, each in whole(*things).items() if "seed_generator" not in name
    }
    monkeypatch.setattr(state, "_variables", seeds_left_out)
    with raises(NotRepeatable, name=keras.backend.backend()):  # one sees the seed, one its effect
        fit(make(), adapt())


def test_the_memory_of_adam_is_in_the_first_snapshot() -> None:
    model = make()
    assert not model.optimizer.built
    part = state.model_part(model)
    early = part.get()
    fit(model, epochs=1)
    with raises(SettingsError):
        part.set(early)
    model = make()
    state.require_built(model)
    names = list(state.model_part(model).get())
    assert sum("momentum" in name for name in names) == 6
    unbuilt = keras.Sequential([keras.layers.Dense(1)])
    unbuilt.compile("adam", "mse")
    with raises(SettingsError):
        state.require_built(unbuilt)
    with raises(SettingsError):
        state.require_built(keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]))


@torch_is_enough
def test_schedules_and_unknown_names_are_refused() -> None:
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 20)
    with raises(SettingsError):
        fit(make(keras.optimizers.Adam(schedule)), adapt())
    with raises(SettingsError):
        fit(make(), adapt({"rate": [0.1, 0.2]}))
    with raises(SettingsError):
        fit(make(), adapt({"lr": [0.1, 0.2]}))
    with raises(SettingsError):
        fit(make(), adapt({"weight_decay": [0.0, 0.1]}))
    with raises(SettingsError):
        adapt(steps=3)
    with raises(SettingsError):
        fit(make(), adapt(), adapt())
    alone = adapt()
    alone.set_model(make())
    with raises(SettingsError):
        alone.on_train_begin()
    with raises(LoopError):
        _ = adapt().history
    with raises(SettingsError):
        variable(3.0)
    with raises(SettingsError):
        setting(keras.optimizers.Adam(0.1), "momentum")


@torch_is_enough
def test_a_rate_that_is_overwritten_stops_the_run() -> None:
    class Overwrites(callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.model.optimizer.learning_rate = 0.5

    overwrites = Overwrites()
    with raises(ValueNotInForce):
        fit(make(), overwrites, adapt(acting=[overwrites]))


@torch_is_enough
def test_a_fit_that_fails_before_it_begins_leaves_the_next_one_alone() -> None:
    class Fails(callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            raise RuntimeError("no connection")

    model, ours = make(), adapt()
    with pytest.raises(RuntimeError, match="no connection"):
        fit(model, ours, Fails())
    assert fit(model, epochs=2).epoch == [0, 1]
    assert fit(model, ours, epochs=4, initial_epoch=1).epoch == [1, 2, 3]  # the same one again


@torch_is_enough
def test_backup_and_restore_comes_first(tmp_path: Path) -> None:
    saved = callbacks.BackupAndRestore(tmp_path / "backup", delete_checkpoint=False)
    model = make()
    fit(model, saved, adapt(), epochs=4)
    again = callbacks.BackupAndRestore(tmp_path / "backup", delete_checkpoint=False)
    assert fit(make(), again, adapt(), epochs=6).epoch == [4, 5]
    late = callbacks.BackupAndRestore(tmp_path / "backup", delete_checkpoint=False)
    with raises(SettingsError):
        fit(make(), adapt(), late, epochs=9)


def test_constants_of_a_compiled_step() -> None:
    decays = {"weight_decay": [0.001, 0.01, 0.1]}
    optimizer = keras.optimizers.AdamW(0.01, weight_decay=0.01)
    if TORCH:
        ours = adapt(decays)
        fit(make(optimizer), ours, epochs=3)
        assert len({each.series[0]["val_loss"] for each in ours.history.rounds[0].tries}) == 3
        with pytest.raises(ValueNotUsed):
            fit(make(), adapt({"n": [1, 3]}, bind={"n": attribute(Dataset(), "workers")}))
        return
    with raises(SettingsError):
        fit(make(optimizer), adapt(decays))
    free = {"free": variable(keras.Variable(0.1))}
    with raises(SettingsError):
        fit(make(), adapt({"free": [0.1, 0.2]}, bind=free))


@torch_is_enough
def test_what_a_trainer_cannot_be_made_of_is_refused() -> None:
    model = make()
    with raises(SettingsError):
        keras_trainer(model, fit=3, evaluate=dict)  # type: ignore[arg-type]
    with raises(SettingsError):
        keras_trainer(model, fit=dict, evaluate=dict, adapts="learning_rate")
    trainer = keras_trainer(model, fit=dict, evaluate=lambda: 3.0)  # type: ignore[arg-type,return-value]
    with raises(SettingsError):
        trainer.train_k(1, {"rate": 1.0})
    with raises(Exception):
        trainer.metrics()


@torch_is_enough
def test_a_loader_of_torch_belongs_to_the_state() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    def loader() -> Any:
        data = TensorDataset(torch.tensor(X[:32]), torch.tensor(Y[:32]))
        generator = torch.Generator().manual_seed(3)
        return DataLoader(data, batch_size=16, shuffle=True, generator=generator)

    plain = make()
    fit(plain, data=(loader(),), batch_size=None, epochs=3, shuffle=False)
    wanted = bits(plain)
    model = make()
    fit(model, adapt(dry_run=True), data=(loader(),), batch_size=None, epochs=3, shuffle=False)
    assert bits(model) == wanted


@torch_is_enough
def test_presets_with_a_way_back_are_refused_with_the_way_out() -> None:
    with raises(SettingsError):
        Adapt(policy=rescue("learning_rate", default=0.03))
    lower = plateau("learning_rate", default=0.03, patience=1)
    with raises(SettingsError):
        Adapt(policy=lower)
    ours = Adapt(policy=lower, start_from="here")
    assert fit(make(), ours, epochs=4).epoch == [0, 1, 2, 3]
