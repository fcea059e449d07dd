"""A small ready trainer: an MLP with dropout, batch normalisation and Adam."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np

from dynhp import Ordered, Trainer
from dynhp_keras.trainer import keras_trainer

__all__ = ["example", "make"]


def example() -> tuple[Callable[[], Trainer], dict[str, Ordered]]:
    """A factory of trainers, and their space.

    >>> make, space = example()
    >>> trainer = make(); trainer.train_k(1, {"learning_rate": 0.03})
    >>> sorted(trainer.metrics())
    ['loss']
    """
    return make, {"learning_rate": Ordered(0.003, 0.01, 0.03)}


def make() -> Trainer:
    """Seeds of layers, averages of a norm, Adam's memory, shuffled batches.

    >>> make().hyperparameters()
    {'learning_rate': 0.01}
    """
    inputs = np.random.default_rng(0).normal(size=(48, 4)).astype("float32")
    labels = (inputs[:, 0] * inputs[:, 1] > 0).astype("int32")
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, kernel_initializer=keras.initializers.GlorotUniform(seed=1)),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
            keras.layers.Dropout(0.2, seed=2),
            keras.layers.Dense(2, kernel_initializer=keras.initializers.GlorotUniform(seed=3)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    return keras_trainer(
        model,
        fit=lambda: model.fit(inputs[:32], labels[:32], batch_size=16, epochs=1, verbose=0),
        evaluate=lambda: model.evaluate(inputs[32:], labels[32:], verbose=0, return_dict=True),
    )
