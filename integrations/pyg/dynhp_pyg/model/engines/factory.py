"""What an engine is, and which one trains a model: fast, the PyG reference, a user's encoder."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, Protocol, get_args

import numpy as np
import torch
from torch import Tensor

from dynhp_pyg.checks import one_of, whole
from dynhp_pyg.model.batches import Batch, Stream, entropy, torch_seed
from dynhp_pyg.model.engines.encoders import Encoder, EncoderModel, ModuleEngine
from dynhp_pyg.model.engines.evaluation import StageName
from dynhp_pyg.model.engines.fast import FastGcn
from dynhp_pyg.model.engines.inputs import InputKind, SparseInput, input_of
from dynhp_pyg.model.engines.kernels import Rates
from dynhp_pyg.model.engines.reference import GcnShape, ReferenceGcn, initial_weights
from dynhp_pyg.model.hyperparameters import HyperparameterValues
from dynhp_pyg.splits.make import Split

__all__ = ["Architecture", "Engine", "PathName", "make_engine"]

PathName = Literal["fast", "reference"]


class Engine(Protocol):
    """What trains: flat parameters and momenta, one step, and the scores of an evaluation stage."""

    parameters: Tensor
    momentum: Tensor
    buffers: list[Tensor]

    def step(self, batch: Batch, rates: Rates) -> Tensor:
        """Train on one batch and give the scores before the step, positives first."""
        ...

    def scores(self, name: StageName) -> Tensor:
        """Score the pairs of an evaluation stage, positives first, without noise."""
        ...

    def named(self) -> dict[str, Tensor]:
        """Give the parameters by name, as views."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """What is trained, except the data."""

    layers: int
    width: int
    inputs: InputKind
    encoder: Encoder | None
    path: PathName

    def __post_init__(self) -> None:
        whole("layers", self.layers, least=1)
        whole("width", self.width, least=1)
        one_of("path", self.path, get_args(PathName))


def make_engine(
    split: Split, architecture: Architecture, seed: int, *, device: torch.device
) -> tuple[Engine, frozenset[str]]:
    """Give the engine with its initial weights, and the hyperparameters that it can adapt."""
    adaptable = frozenset(field.name for field in fields(HyperparameterValues))
    inputs = input_of(split, architecture.inputs, device)
    if architecture.encoder is not None:
        model = _encoder(architecture, architecture.encoder, inputs, split, seed)
        known = adaptable if model.has_dropout else adaptable - {"dropout"}
        return ModuleEngine(split, model, device), known
    shape = GcnShape(
        num_nodes=split.graph.num_nodes,
        channels=None if inputs is None else inputs.channels,
        width=architecture.width,
        layers=architecture.layers,
    )
    weights = initial_weights(shape, np.random.default_rng(entropy(seed, 0, Stream.WEIGHTS)))
    if architecture.path == "reference":
        with torch.random.fork_rng():  # GCNConv draws weights, which are then replaced
            return ModuleEngine(split, ReferenceGcn(inputs, weights), device), adaptable
    return FastGcn(split, inputs, weights=weights, device=device), adaptable


def _encoder(
    architecture: Architecture, make: Encoder, inputs: SparseInput | None, split: Split, seed: int
) -> EncoderModel:
    # Modules draw their weights from torch's global generator: it is seeded, then restored.
    with torch.random.fork_rng():
        torch.manual_seed(torch_seed(entropy(seed, 0, Stream.WEIGHTS)))
        return EncoderModel(make, inputs, nodes=split.graph.num_nodes, width=architecture.width)
