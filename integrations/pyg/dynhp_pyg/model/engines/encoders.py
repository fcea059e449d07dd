"""Any PyG encoder, and the reference GCN, trained by autograd and ``torch.optim.SGD``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.model.batches import Batch
from dynhp_pyg.model.engines.evaluation import StageName, stage_pairs
from dynhp_pyg.model.engines.inputs import SparseInput
from dynhp_pyg.model.engines.kernels import Rates, pair_scores
from dynhp_pyg.splits.make import Split

__all__ = ["Encoder", "EncoderModel", "ModuleEngine"]

Encoder = Callable[[int], nn.Module]
"""Makes an encoder for a number of input channels; it is called as ``(x, edge_index)``."""


class EncoderModel(nn.Module):
    """A user's encoder with the input that it reads; each batch seeds the encoder's noise.

    Features are made dense here, because PyG's layers need them so.
    """

    def __init__(
        self, make: Encoder, inputs: SparseInput | None, *, nodes: int, width: int
    ) -> None:
        super().__init__()
        self.embedding: nn.Parameter | None = None
        self._features: Tensor | None = None
        if inputs is None:
            self.embedding = nn.Parameter(torch.randn(nodes, width) * width**-0.5)
        else:
            self._features = inputs.dense(inputs.matrix.values)
        self.encoder = make(width if inputs is None else inputs.channels)
        self._dropouts = [part for part in self.modules() if isinstance(part, nn.Dropout)]

    @property
    def has_dropout(self) -> bool:
        """Whether there is a dropout layer, whose rate can change."""
        return bool(self._dropouts)

    def forward(self, edge_index: Tensor, batch: Batch | None) -> Tensor:
        """Embed all nodes; without a batch, so without noise, for evaluation."""
        reads = self._features if self.embedding is None else self.embedding
        if batch is None:
            embedded: Tensor = self.encoder(reads, edge_index)
            return embedded
        for dropout in self._dropouts:
            dropout.p = batch.rate
        # Layers draw from torch's global generator: it is seeded for them, then restored.
        with torch.random.fork_rng():
            torch.manual_seed(batch.noise_seed())
            noisy: Tensor = self.encoder(reads, edge_index)
            return noisy


class ModuleEngine:
    """An engine around a module called as ``(edge_index, batch or None)``."""

    def __init__(self, split: Split, module: nn.Module, device: torch.device) -> None:
        self._split, self._module, self._device = split, module.to(device), device
        tensors = list(module.parameters())
        sizes = [tensor.numel() for tensor in tensors]
        self.parameters = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
        self.momentum = torch.zeros_like(self.parameters)
        self.buffers = list(module.buffers())
        self._optimizer = torch.optim.SGD(tensors, lr=1.0, momentum=0.9, foreach=False)
        flats = zip(*(torch.split(f, sizes) for f in (self.parameters, self.momentum)), strict=True)
        # Module and optimiser work on views of the flat vectors, which are the state.
        for tensor, (value, momentum) in zip(tensors, flats, strict=True):
            tensor.data = value.view(tensor.shape)
            self._optimizer.state[tensor] = {"momentum_buffer": momentum.view(tensor.shape)}

    def step(self, batch: Batch, rates: Rates) -> Tensor:
        """Train on one batch and give the scores before the step, positives first."""
        for group in self._optimizer.param_groups:
            group["lr"], group["momentum"] = rates.learning_rate, rates.momentum
            group["weight_decay"] = rates.weight_decay
        self._module.train()
        self._optimizer.zero_grad()
        with torch.enable_grad():
            edge_index = self._edge_index(self._split.train[:, batch.message])
            embeddings = self._module(edge_index, batch)
            positives = pair_scores(embeddings, self._tensor(batch.positives))
            negatives = pair_scores(embeddings, self._tensor(batch.negatives))
            scores = torch.cat([positives, negatives])
            labels = torch.cat([torch.ones_like(positives), torch.zeros_like(negatives)])
            binary_cross_entropy_with_logits(scores, labels).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return scores.detach()

    def scores(self, name: StageName) -> Tensor:
        """Score the pairs of an evaluation stage, positives first, without noise."""
        self._module.eval()
        with torch.no_grad():
            embeddings = self._module(self._edge_index(self._split.message_edges(name)), None)
            return pair_scores(embeddings, self._tensor(stage_pairs(self._split, name)))

    def named(self) -> dict[str, Tensor]:
        """Give the parameters by name, as views."""
        return {name: tensor.detach() for name, tensor in self._module.named_parameters()}

    def _edge_index(self, arcs: Ints) -> Tensor:
        edge_index = self._tensor(arcs)
        if self._split.protocol == "undirected":
            return torch.cat([edge_index, edge_index.flip(0)], dim=1)
        return edge_index

    def _tensor(self, pairs: Ints) -> Tensor:
        return torch.tensor(pairs, device=self._device)
