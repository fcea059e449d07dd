"""Link prediction as a dynhp trainer: its state, its epochs, its metrics."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from dynhp.errors import SettingsError
from dynhp_pyg.checks import whole
from dynhp_pyg.model.average import Average
from dynhp_pyg.model.batches import draw
from dynhp_pyg.model.dropout import RecentNoise
from dynhp_pyg.model.engines.encoders import Encoder
from dynhp_pyg.model.engines.factory import Architecture, PathName, make_engine
from dynhp_pyg.model.engines.inputs import InputKind
from dynhp_pyg.model.engines.kernels import Rates
from dynhp_pyg.model.hyperparameters import HyperparameterValues, changed
from dynhp_pyg.model.measurements import NO_SCORES, Measurements, Sides
from dynhp_pyg.model.schedule import RateSchedule, ScheduleName
from dynhp_pyg.model.state import frozen, frozen_model, load, load_model, model_of, sides, snapshot
from dynhp_pyg.splits.make import Split

__all__ = ["LinkPredictionTrainer"]

State: TypeAlias = dict[str, Any]


class LinkPredictionTrainer:
    """Trains a model to separate edges from non-edges, and obeys all laws of dynhp's trainers.

    An epoch is one full-batch step. Adaptable, alone or together, are ``edge_message_ratio``,
    ``learning_rate_scale``, ``weight_decay``, ``dropout`` and ``negatives_per_positive``; those
    not passed to ``train_k`` have the values given here. The random state is the seed and the
    epoch, no global generator is touched, and a state is a dictionary of read-only arrays and
    numbers.

    Args:
        split: the graph, its training, validation and test edges, and their negatives.
        layers: the number of graph convolutions.
        width: the channels of each layer, and of a learnt embedding.
        dropout: the dropout rate before each layer, and in an encoder's ``torch.nn.Dropout``.
        learning_rate: the learning rate of the first epoch.
        momentum: of stochastic gradient descent.
        weight_decay: of stochastic gradient descent.
        epochs: the length of the learning rate's schedule; training may go on longer, except with
            ``rate_restarts``.
        schedule: "cosine" falls to 0 after ``epochs``, "constant" stays.
        rate_restarts: after how many epochs the learning rate is its first value again, as under
            the published code; None for never.
        negatives_per_positive: how many non-edges are drawn in an epoch for each objective edge.
        edge_message_ratio: the share of training edges that pass messages; the others are the
            epoch's objective.
        resample_every: after how many epochs message edges are chosen again.
        inputs: what the first layer reads: the graph's "features", a learnt "embedding", one-hot
            training "degrees", or "auto": features where there are any, else an embedding.
        encoder: a function from a number of channels to a module that is called as
            ``(x, edge_index)``; by default the paper's GCN.
        path: "fast", or "reference" for the same GCN in plain PyG.
        seed: decides the weights, the batches and the noise.
        device: a device of torch.
        with_average_precision: adds the metrics ``train_ap`` and ``val_ap``.
        keep_best: remembers the weights of the epoch with the best validation AUC for ``test``.
        averaged_over: adds the metrics ``ema_val_auc`` and ``ema_val_loss`` of weights averaged
            over about this many epochs.

    >>> from dynhp_pyg.runs.example import tiny_split
    >>> trainer = LinkPredictionTrainer(tiny_split(), width=8, epochs=20)
    >>> trainer.train_k(5, {"edge_message_ratio": 0.7})
    >>> sorted(trainer.metrics())
    ['best_val_auc', 'train_auc', 'train_loss', 'val_auc', 'val_loss']
    """

    def __init__(
        self,
        split: Split,
        *,
        layers: int = 2,
        width: int = 64,
        dropout: float = 0.2,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        weight_decay: float = 5e-4,
        epochs: int = 500,
        schedule: ScheduleName = "cosine",
        rate_restarts: int | None = None,
        negatives_per_positive: float = 1.0,
        edge_message_ratio: float = 0.5,
        resample_every: int = 1,
        inputs: InputKind = "auto",
        encoder: Encoder | None = None,
        path: PathName = "fast",
        seed: int = 0,
        device: str = "cpu",
        with_average_precision: bool = False,
        keep_best: bool = True,
        averaged_over: int | None = None,
    ) -> None:
        self._defaults = self._in_force = HyperparameterValues(
            edge_message_ratio=edge_message_ratio,
            weight_decay=weight_decay,
            dropout=dropout,
            negatives_per_positive=negatives_per_positive,
        )
        self._schedule = RateSchedule(
            name=schedule, learning_rate=learning_rate, epochs=epochs, restarts=rate_restarts
        )
        if not 0 <= momentum < 1:
            raise SettingsError(f"momentum must lie in [0, 1), got {momentum!r}; 0.0 turns it off")
        self._momentum = momentum
        self._resample_every = whole("resample_every", resample_every, least=1)
        self._seed = whole("seed", seed, least=0)
        self._split, self._device, self._keep_best = split, device, keep_best
        architecture = Architecture(
            layers=layers, width=width, inputs=inputs, encoder=encoder, path=path
        )
        self._engine, self._adaptable = make_engine(
            split, architecture, self._seed, device=torch.device(device)
        )
        self._average = (
            None if averaged_over is None else Average(self._engine.parameters, over=averaged_over)
        )
        self._measurements = Measurements(
            self._engine,
            split,
            average=self._average,
            with_average_precision=with_average_precision,
        )
        self._recent = RecentNoise()
        self._epoch = 0
        self._fitted: Sides = NO_SCORES
        self._best: dict[str, Any] | None = None

    def get_state(self) -> State:
        """Give all that decides the future, in read-only arrays."""
        return {
            "epoch": self._epoch,
            "seed": self._seed,
            "momentum": snapshot(self._engine.momentum),
            "fitted": self._fitted,
            "best": self._best,
            "average": None if self._average is None else snapshot(self._average.weights),
            **model_of(self._engine),
        }

    def set_state(self, state: State) -> None:
        """Go back to a state, of this trainer or of one built with the same arguments."""
        load_model(self._engine, state)
        load(self._engine.momentum, state["momentum"])
        self._epoch, self._seed = state["epoch"], state["seed"]
        positives, negatives = state["fitted"]
        self._fitted = (frozen(positives), frozen(negatives))
        self._best = frozen_model(state["best"])
        if self._average is not None:
            load(self._average.weights, state["average"])
        self._recent.since(self._epoch)
        self._measurements.forget()

    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None:
        """Train for ``k`` epochs with these values in force."""
        whole("k", k, least=0)
        self._in_force = changed(self._defaults, hyperparameters, self._adaptable)
        for _ in range(k):
            self._train_epoch(self._in_force)

    def metrics(self) -> dict[str, float]:
        """Measure training (by the last step's scores) and validation; nan before training."""
        best = math.nan if self._best is None else self._best["val_auc"]
        return self._measurements.metrics(self._fitted, best)

    def measure_only(self, names: Collection[str] | None) -> None:
        """Leave all other metrics out of ``metrics()``, as most take time; None measures all again.

        >>> from dynhp_pyg.runs.example import tiny_split
        >>> trainer = LinkPredictionTrainer(tiny_split(), width=8)
        >>> trainer.measure_only(["val_auc"])
        >>> list(trainer.metrics())
        ['val_auc']
        """
        self._measurements.only(names)

    def hyperparameters(self) -> dict[str, float]:
        """Give the values now in force."""
        return self._in_force.named(self._adaptable)

    def reseed(self, seed: int) -> None:
        """Draw everything that follows from another seed; the weights stay."""
        self._seed = whole("seed", seed, least=0)

    def test(self) -> dict[str, float]:
        """Measure the best-validation checkpoint (else the present weights) on the test pairs."""
        present, best = model_of(self._engine), self._best
        try:
            if best is not None:
                load_model(self._engine, best)
            measured = self._measurements.test()
        finally:
            load_model(self._engine, present)
        if best is None:
            best = {"val_auc": self._measurements.validation().auc, "epoch": self._epoch}
        return {**measured, "val_auc": best["val_auc"], "epoch": float(best["epoch"])}

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Copy the present parameters, by name."""
        return {name: snapshot(tensor) for name, tensor in self._engine.named().items()}

    def _train_epoch(self, values: HyperparameterValues) -> None:
        batch = draw(
            self._split,
            values,
            seed=self._seed,
            epoch=self._epoch,
            resample_every=self._resample_every,
            recent=self._recent,
            device=self._device,
        )
        rate = self._schedule.at(self._epoch) * values.learning_rate_scale
        scores = self._engine.step(batch, Rates(rate, self._momentum, values.weight_decay))
        self._fitted = sides(scores, batch.positives.shape[1])
        self._epoch += 1
        self._measurements.forget()
        if self._average is not None:
            self._average.update(self._engine.parameters)
        if self._keep_best:
            self._remember_best()

    def _remember_best(self) -> None:
        auc = self._measurements.validation().auc
        # Strictly better: of equals the first stays, and nan never wins.
        if auc > (-math.inf if self._best is None else self._best["val_auc"]):
            self._best = {"epoch": self._epoch, "val_auc": auc, **model_of(self._engine)}
