"""Link prediction as a dynhp trainer: its state, its epochs, its metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from dynhp.errors import SettingsError, nearest
from dynhp_pyg.model.average import Average
from dynhp_pyg.model.batches import draw
from dynhp_pyg.model.dropout import RecentNoise
from dynhp_pyg.model.engines.encoders import Encoder
from dynhp_pyg.model.engines.evaluation import StageName, positives_of
from dynhp_pyg.model.engines.factory import Architecture, Path, make_engine
from dynhp_pyg.model.engines.inputs import InputKind
from dynhp_pyg.model.engines.kernels import Rates
from dynhp_pyg.model.hyperparameters import Settings, changed, whole
from dynhp_pyg.model.metrics import average_precision, binary_cross_entropy, roc_auc
from dynhp_pyg.model.schedule import Schedule, ScheduleName
from dynhp_pyg.model.state import frozen, frozen_model, load, sides, snapshot
from dynhp_pyg.splits.make import Split

__all__ = ["LinkPredictionTrainer"]

Scores: TypeAlias = NDArray[np.float32]
State: TypeAlias = dict[str, Any]

_NO_SCORES = frozen(np.empty(0, dtype=np.float32))


class LinkPredictionTrainer:
    """Trains a model to tell edges from non-edges, and obeys all laws of dynhp's trainers.

    An epoch is one full-batch step and, with ``keep_best``, the validation AUC. Adaptable, one
    or several at once: ``edge_message_ratio``, ``learning_rate_scale``, ``weight_decay``,
    ``dropout``, ``negatives_per_positive``; one that is not passed to ``train_k`` has the value
    given here. The random state is the seed and the epoch, no global generator is touched, and
    a state is a dictionary of read-only arrays and numbers.

    Nodes without features get a learnt embedding (``inputs="degrees"`` is the other choice). An
    ``encoder`` is a function from a number of channels to a module called as ``(x, edge_index)``;
    its ``torch.nn.Dropout`` layers get the dropout in force. ``averaged_over`` adds the metrics
    ``ema_val_auc`` and ``ema_val_loss`` of weights averaged over about so many epochs.

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
        negatives_per_positive: float = 1.0,
        edge_message_ratio: float = 0.5,
        resample_every: int = 1,
        inputs: InputKind = "auto",
        encoder: Encoder | None = None,
        path: Path = "fast",
        seed: int = 0,
        device: str = "cpu",
        with_average_precision: bool = False,
        keep_best: bool = True,
        averaged_over: int | None = None,
    ) -> None:
        self._defaults = self._in_force = Settings(
            edge_message_ratio=edge_message_ratio,
            weight_decay=weight_decay,
            dropout=dropout,
            negatives_per_positive=negatives_per_positive,
        )
        self._schedule = Schedule(name=schedule, learning_rate=learning_rate, epochs=epochs)
        if not 0 <= momentum < 1:
            raise SettingsError(f"momentum must lie in [0, 1), got {momentum!r}; 0.0 turns it off")
        self._momentum = momentum
        self._resample_every = whole("resample_every", resample_every, least=1)
        self._seed = whole("seed", seed, least=0)
        self._split, self._device = split, device
        self._with_average_precision, self._keep_best = with_average_precision, keep_best
        architecture = Architecture(
            layers=layers, width=width, inputs=inputs, encoder=encoder, path=path
        )
        self._engine, self._adaptable = make_engine(
            split, architecture, self._seed, device=torch.device(device)
        )
        self._average = (
            None if averaged_over is None else Average(self._engine.parameters, over=averaged_over)
        )
        self._recent = RecentNoise()
        self._epoch = 0
        self._fitted: tuple[Scores, Scores] = (_NO_SCORES, _NO_SCORES)
        self._best: dict[str, Any] | None = None
        self._only: frozenset[str] | None = None
        self._measured: dict[str, float] | None = None
        self._validated: tuple[Scores, Scores, float] | None = None

    def get_state(self) -> State:
        """Hand out all that decides the future, in arrays that nobody can write into."""
        return {
            "epoch": self._epoch,
            "seed": self._seed,
            "momentum": snapshot(self._engine.momentum),
            "fitted": self._fitted,
            "best": self._best,
            "average": None if self._average is None else snapshot(self._average.weights),
            **self._model(),
        }

    def set_state(self, state: State) -> None:
        """Go back to a state, of this trainer or of one built with the same arguments."""
        self._load_model(state)
        load(self._engine.momentum, state["momentum"])
        self._epoch, self._seed = state["epoch"], state["seed"]
        positives, negatives = state["fitted"]
        self._fitted = (frozen(positives), frozen(negatives))
        self._best = frozen_model(state["best"])
        if self._average is not None:
            load(self._average.weights, state["average"])
        self._recent.since(self._epoch)
        self._forget()

    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None:
        """Train for ``k`` epochs with these values in force."""
        whole("k", k, least=0)
        self._in_force = changed(self._defaults, hyperparameters, self._adaptable)
        for _ in range(k):
            self._train_epoch(self._in_force)

    def metrics(self) -> dict[str, float]:
        """Measure training (on the last step's own scores) and validation; nan before training."""
        if self._measured is None:
            self._measured = self._measure()
        return dict(self._measured)

    def measure_only(self, names: Collection[str] | None) -> None:
        """Leave all other metrics out of ``metrics()``, as most take time; None measures all again.

        >>> from dynhp_pyg.runs.example import tiny_split
        >>> trainer = LinkPredictionTrainer(tiny_split(), width=8)
        >>> trainer.measure_only(["val_auc"])
        >>> list(trainer.metrics())
        ['val_auc']
        """
        known = self._measures()
        if isinstance(names, str):
            raise SettingsError(f"names must be a collection of names, got {names!r}; pass a list")
        for name in names or ():
            if name not in known:
                raise SettingsError(
                    f"a metric must be one this trainer measures, got {name!r}"
                    + nearest(name, known)
                )
        self._only, self._measured = None if names is None else frozenset(names), None

    def hyperparameters(self) -> dict[str, float]:
        """Give the values now in force."""
        return self._in_force.named(self._adaptable)

    def reseed(self, seed: int) -> None:
        """Draw everything that follows from another seed; the weights stay."""
        self._seed = whole("seed", seed, least=0)

    def test(self) -> dict[str, float]:
        """Measure the best-validation checkpoint (else the present weights) on the test pairs."""
        present, best = self._model(), self._best
        try:
            if best is not None:
                self._load_model(best)
            positives, negatives = self._scores("test")
        finally:
            self._load_model(present)
        return {
            "test_auc": roc_auc(positives, negatives),
            "test_ap": average_precision(positives, negatives),
            "test_loss": _plain(binary_cross_entropy(positives, negatives)),
            "val_auc": _plain(self._validation()[2]) if best is None else best["val_auc"],
            "epoch": float(self._epoch if best is None else best["epoch"]),
        }

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Copy the present parameters, by name."""
        return {name: snapshot(tensor) for name, tensor in self._engine.named().items()}

    def _train_epoch(self, settings: Settings) -> None:
        batch = draw(
            self._split,
            settings,
            seed=self._seed,
            epoch=self._epoch,
            resample_every=self._resample_every,
            recent=self._recent,
            device=self._device,
        )
        rate = self._schedule.at(self._epoch) * settings.learning_rate_scale
        scores = self._engine.step(batch, Rates(rate, self._momentum, settings.weight_decay))
        self._fitted = sides(scores, batch.positives.shape[1])
        self._epoch += 1
        self._forget()
        if self._average is not None:
            self._average.update(self._engine.parameters)
        if self._keep_best:
            self._remember_best()

    def _remember_best(self) -> None:
        auc = self._validation()[2]
        # Strictly better: of equals the first stays, and nan never wins.
        if auc > (-math.inf if self._best is None else self._best["val_auc"]):
            self._best = {"epoch": self._epoch, "val_auc": auc, **self._model()}

    def _measure(self) -> dict[str, float]:
        return {
            name: _plain(measure())
            for name, measure in self._measures().items()
            if self._only is None or name in self._only
        }

    def _measures(self) -> dict[str, Callable[[], float]]:
        """Give the ways to measure each metric, in the order in which they are told."""
        measures: dict[str, Callable[[], float]] = {
            "train_auc": lambda: roc_auc(*self._fitted),
            "train_loss": lambda: binary_cross_entropy(*self._fitted),
            "val_auc": lambda: self._validation()[2],
            "val_loss": lambda: binary_cross_entropy(*self._validation()[:2]),
            "best_val_auc": lambda: math.nan if self._best is None else self._best["val_auc"],
        }
        if self._average is not None:
            averaged = cache(self._scores_of_average)
            measures["ema_val_auc"] = lambda: roc_auc(*averaged())
            measures["ema_val_loss"] = lambda: binary_cross_entropy(*averaged())
        if self._with_average_precision:
            measures["train_ap"] = lambda: average_precision(*self._fitted)
            measures["val_ap"] = lambda: average_precision(*self._validation()[:2])
        return measures

    def _validation(self) -> tuple[Scores, Scores, float]:
        """Score the validation pairs, once for each state."""
        if self._validated is None:
            positives, negatives = self._scores("validation")
            self._validated = (positives, negatives, roc_auc(positives, negatives))
        return self._validated

    def _scores_of_average(self) -> tuple[Scores, Scores]:
        assert self._average is not None
        present = snapshot(self._engine.parameters)
        try:
            load(self._engine.parameters, snapshot(self._average.weights))
            return self._scores("validation")
        finally:
            load(self._engine.parameters, present)

    def _forget(self) -> None:
        """Drop what was measured: the weights have changed."""
        self._measured = self._validated = None

    def _scores(self, stage: StageName) -> tuple[Scores, Scores]:
        return sides(self._engine.scores(stage), positives_of(self._split, stage))

    def _model(self) -> dict[str, Any]:
        return {
            "parameters": snapshot(self._engine.parameters),
            "buffers": tuple(snapshot(buffer) for buffer in self._engine.buffers),
        }

    def _load_model(self, model: Mapping[str, Any]) -> None:
        load(self._engine.parameters, model["parameters"])
        for buffer, array in zip(self._engine.buffers, model["buffers"], strict=True):
            load(buffer, array)


def _plain(value: float) -> float:
    return float(value) if math.isfinite(value) else math.nan
