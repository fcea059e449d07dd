"""The rival: the loop that a PyTorch Geometric user would write, as in its tutorials."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor

from dynhp_pyg.splits.make import Split

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch_geometric imports deprecated parts of torch
    from torch_geometric.nn import GCNConv
    from torch_geometric.utils import negative_sampling


class PlainGcn(torch.nn.Module):
    """Two graph convolutions of width 64 with dropout before each."""

    def __init__(self, channels: int, width: int = 64) -> None:
        super().__init__()
        self.first, self.second = GCNConv(channels, width), GCNConv(width, width)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Embed all nodes."""
        x = F.dropout(x, 0.2, training=self.training)
        x = self.first(x, edge_index).relu()
        x = F.dropout(x, 0.2, training=self.training)
        embedded: Tensor = self.second(x, edge_index)
        return embedded


class PlainLoop:
    """Dense features, GCNConv, ``negative_sampling``, ``torch.optim.SGD``, scikit-learn's AUC."""

    def __init__(self, split: Split, *, epochs: int = 500) -> None:
        graph = split.graph
        assert graph.features is not None
        rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.features.indptr))
        dense = np.zeros(graph.features.shape, dtype=np.float32)
        dense[rows, graph.features.indices] = graph.features.data
        self.x, self.nodes = torch.tensor(dense), graph.num_nodes
        self.train = torch.tensor(split.train)
        self.both = torch.cat([self.train, self.train.flip(0)], dim=1)
        pairs = np.concatenate([split.validation, split.validation_negatives], axis=1)
        self.pairs = torch.tensor(pairs)
        self.labels = np.arange(pairs.shape[1]) < split.validation.shape[1]
        torch.manual_seed(0)
        self.model: Any = PlainGcn(self.x.size(1))
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4
        )
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, epochs)

    def epoch(self) -> float:
        """Do one training step and give the validation AUC."""
        self.model.train()
        self.optimizer.zero_grad()
        order = torch.randperm(self.train.size(1))
        half = self.train.size(1) // 2
        message, positives = self.train[:, order[:half]], self.train[:, order[half:]]
        embeddings = self.model(self.x, torch.cat([message, message.flip(0)], dim=1))
        negatives = negative_sampling(self.both, self.nodes, positives.size(1))
        pairs = torch.cat([positives, negatives], dim=1)
        scores = (embeddings[pairs[0]] * embeddings[pairs[1]]).sum(dim=-1)
        labels = torch.cat([torch.ones(positives.size(1)), torch.zeros(negatives.size(1))])
        F.binary_cross_entropy_with_logits(scores, labels).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.scheduler.step()
        return self.validate()

    @torch.no_grad()
    def validate(self) -> float:
        """Give the validation AUC, with messages on all training edges."""
        self.model.eval()
        embeddings = self.model(self.x, self.both)
        scores = (embeddings[self.pairs[0]] * embeddings[self.pairs[1]]).sum(dim=-1).sigmoid()
        return float(roc_auc_score(self.labels, scores.numpy()))
