"""What the scenarios share: a model with all that makes snapshots hard, and a diary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest

from dynhp_keras import Adapt

callbacks = keras.callbacks
TORCH = keras.config.backend() == "torch"
X = np.random.default_rng(0).normal(size=(48, 4)).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype("int32")
RATES = {"learning_rate": [0.003, 0.01, 0.03]}
EPOCHS = 5


class Strength(keras.layers.Layer):
    """Noise whose strength is a variable, with a seed of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.strength = self.add_weight(shape=(), initializer="zeros", trainable=False)
        self.seed_generator = keras.random.SeedGenerator(4)

    def call(self, inputs: Any) -> Any:
        noise = keras.random.normal(keras.ops.shape(inputs), seed=self.seed_generator)
        return inputs + self.strength * noise


def make(optimizer: Any = None, **compiled: Any) -> Any:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(4),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            Strength(),
            layers.Dense(2),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer or keras.optimizers.Adam(0.01), loss, metrics=["accuracy"], **compiled)
    return model


def fit(model: Any, *listed: Any, **options: Any) -> Any:
    settings: dict[str, Any] = {"epochs": EPOCHS, "batch_size": 16, "verbose": 0, **options}
    data = settings.pop("data", (X[:32], Y[:32]))
    validation = settings.pop("validation_data", (X[32:], Y[32:]))
    return model.fit(*data, validation_data=validation, callbacks=list(listed), **settings)


def equal(series: Any, progress: Any) -> float:
    """All tries are worth the same, so the value in force wins: its try is kept and replayed."""
    return 0.0


# A dry run goes back to the origin after the tries; here the main line goes on from a try.
TIES: dict[str, Any] = {"minimize": None, "criterion": equal}


def adapt(space: Any = None, **options: Any) -> Adapt:
    settings: dict[str, Any] = {"minimize": "val_loss", "adapt_every": 3, "try_for": 1, **options}
    return Adapt(space or RATES, **settings)


def bits(model: Any) -> list[Any]:
    """Weights, seeds, averages, the optimiser's memory, metrics, and the next random numbers."""
    variables = (*model.variables, *model.optimizer.variables, *model.metrics_variables)
    return [
        [keras.ops.convert_to_numpy(each).tolist() for each in variables],
        np.random.get_state(legacy=False)["state"]["pos"],
        float(keras.random.uniform((), seed=None)) if TORCH else 0,
        float(__import__("torch").rand(1)) if TORCH else 0,
        (model.stop_training, model._initial_epoch),
    ]


class Diary(callbacks.Callback):
    """Writes down all that it is told, and what the model looks like at the end of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Any] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.lines.append(("epoch", epoch))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.lines.append((batch, dict(logs)))

    def on_test_begin(self, logs: Any = None) -> None:
        self.lines.append("validation")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        weights = [each.tolist() for each in self.model.get_weights()]
        self.lines.append((epoch, dict(logs), weights, int(self.model.optimizer.iterations)))

    def on_train_end(self, logs: Any = None) -> None:
        self.lines.append(("end", dict(logs)))


def recorders(folder: Path) -> list[Any]:
    saved = str(folder / "{epoch:02d}-{val_loss:.4f}.weights.h5")
    return [
        Diary(),
        callbacks.CSVLogger(str(folder / "log.csv")),
        callbacks.ModelCheckpoint(saved, save_weights_only=True),
        callbacks.EarlyStopping("val_loss", patience=50, restore_best_weights=True),
        callbacks.TerminateOnNaN(),
    ]


def contents(path: Path) -> list[Any]:
    """Every array in a file of weights, the optimiser's too."""
    arrays: list[Any] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            arrays.append(node[()].tolist())

    with h5py.File(path) as file:
        file.visititems(visit)
    return arrays


def seen(listed: list[Any], folder: Path) -> list[Any]:
    files = sorted(folder.glob("*.h5"))
    weights = [contents(file) for file in files]
    best = [listed[3].best_epoch, listed[3].best, listed[3].wait]
    return [
        listed[0].lines,
        (folder / "log.csv").read_text(),
        [f.name for f in files],
        weights,
        best,
    ]


torch_is_enough = pytest.mark.skipif(not TORCH, reason="not about the backend; JAX compiles long")
