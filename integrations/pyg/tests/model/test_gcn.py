"""The model's parts against PyG's, and encoders that users bring."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dynhp.errors import SettingsError
from dynhp_pyg.model.engines.kernels import Csr
from dynhp_pyg.model.engines.reference import GcnShape, initial_weights
from dynhp_pyg.model.engines.sparse import MessagePassing
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.example import tiny_graph, tiny_split
from dynhp_pyg.splits.make import make_split
from tests.support.messages import raises

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch_geometric imports deprecated parts of torch
    from torch_geometric.nn import GAT, GATConv, GraphSAGE
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

CPU = torch.device("cpu")


def _dense(matrix: Csr) -> Tensor:
    size = matrix.offsets.numel() - 1
    rows = torch.repeat_interleave(matrix.offsets.diff())
    return torch.zeros(size, size).index_put((rows, matrix.indices), matrix.values)


@pytest.mark.parametrize("protocol", ["undirected", "paper"])
@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_propagation_is_gcn_norm(protocol: Literal["undirected", "paper"], ratio: float) -> None:
    split = make_split(tiny_graph(), (0.6, 0.2, 0.2), protocol=protocol)
    mask = split.message_mask(ratio, np.random.default_rng(0))
    edge_index = torch.tensor(split.train[:, mask])
    if protocol == "undirected":
        edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    nodes = split.graph.num_nodes
    (source, target), values = gcn_norm(edge_index, num_nodes=nodes)
    expected = torch.zeros(nodes, nodes).index_put((target, source), values)
    propagation = MessagePassing(split, CPU).of(mask)
    torch.testing.assert_close(_dense(propagation.forward), expected)
    torch.testing.assert_close(_dense(propagation.backward), expected.T)


def test_initial_weights_are_glorots() -> None:
    shape = GcnShape(num_nodes=3, channels=400, width=200, layers=2)
    weights = initial_weights(shape, np.random.default_rng(0))
    limit = (6 / 600) ** 0.5
    assert 0.99 * limit < np.abs(weights["weight_1"]).max() <= limit
    assert weights["weight_1"].std() == pytest.approx(limit / 3**0.5, rel=0.01)
    assert not weights["bias_2"].any()


class NormedEncoder(nn.Module):
    """An encoder with buffers, dropout, and noise inside a layer."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = GATConv(channels, 8, dropout=0.3)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.9)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden: Tensor = self.drop(self.norm(self.first(x, edge_index)))
        return hidden


ENCODERS = {
    "sage": lambda channels: GraphSAGE(channels, 8, 2, 8, dropout=0.5),
    "gat": lambda channels: GAT(channels, 8, 2, 8, heads=2, dropout=0.5),
    "normed": NormedEncoder,
}


@pytest.mark.parametrize("inputs", ["auto", "embedding"])
@pytest.mark.parametrize("name", ENCODERS)
def test_any_encoder_learns(name: str, inputs: Literal["auto", "embedding"]) -> None:
    trainer = LinkPredictionTrainer(
        tiny_split(), encoder=ENCODERS[name], inputs=inputs, width=8, epochs=60, dropout=0.1
    )
    before = trainer.metrics()["val_loss"]
    trainer.train_k(60, {})
    after = trainer.metrics()
    assert after["val_loss"] < before
    assert inputs == "embedding" or after["best_val_auc"] > 0.65


def test_an_encoders_dropout_layers_get_the_dropout_in_force() -> None:
    made: list[NormedEncoder] = []

    def encoder(channels: int) -> nn.Module:
        made.append(NormedEncoder(channels))
        return made[-1]

    trainer = LinkPredictionTrainer(tiny_split(), encoder=encoder, dropout=0.1)
    for value in (0.7, 0.2):
        trainer.train_k(1, {"dropout": value})
        assert made[0].drop.p == value == trainer.hyperparameters()["dropout"]
    trainer.train_k(1, {})
    assert made[0].drop.p == 0.1


def test_an_encoder_without_dropout_refuses_to_adapt_it() -> None:
    def encoder(channels: int) -> nn.Module:
        layer: nn.Module = GATConv(channels, 4)
        return layer

    trainer: Any = LinkPredictionTrainer(tiny_split(), encoder=encoder)
    assert "dropout" not in trainer.hyperparameters()
    with raises(SettingsError):
        trainer.train_k(1, {"dropout": 0.5})
