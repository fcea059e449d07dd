"""The fast path's tensor operations against plain ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dynhp_pyg.model.dropout import DropoutNoise
from dynhp_pyg.model.engines.kernels import (
    Csr,
    Rates,
    pair_scores,
    relu_dropout,
    relu_dropout_backward,
    sgd_step,
    spmm,
    stable_order,
)

CPU = torch.device("cpu")


def _noise(rate: float, seed: int = 0) -> DropoutNoise:
    return DropoutNoise(rate, np.random.SFC64(seed), CPU)


def test_spmm_is_the_dense_product_also_for_empty_rows() -> None:
    dense = torch.rand(7, 5) * (torch.rand(7, 5) < 0.4)
    dense[2] = 0
    rows, columns = dense.nonzero().T
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), (dense != 0).sum(1).cumsum(0)])
    matrix = Csr(offsets, columns, dense[rows, columns])
    factor = torch.rand(5, 3)
    torch.testing.assert_close(spmm(matrix, factor), dense @ factor)


def test_pair_scores_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings, pairs = torch.rand(9, 4), torch.randint(9, (2, 50))
    whole = pair_scores(embeddings, pairs)
    torch.testing.assert_close(whole, (embeddings[pairs[0]] * embeddings[pairs[1]]).sum(1))
    monkeypatch.setattr("dynhp_pyg.model.engines.kernels._PAIRS_AT_ONCE", 7)
    assert torch.equal(pair_scores(embeddings, pairs), whole)


@pytest.mark.parametrize("rate", [0.001, 0.2, 0.5, 0.9])
def test_dropout_drops_at_its_rate_and_keeps_the_mean(rate: float) -> None:
    noise, count = _noise(rate), 400_000
    kept = noise.keep(torch.ones(count))
    dropped = float((kept == 0).float().mean())
    assert set(kept.tolist()) <= {0.0, 1.0}
    assert abs(dropped - rate) < 4 * (rate * (1 - rate) / count) ** 0.5 + 2**-16
    # The scale undoes exactly what the rounded rate takes away.
    assert noise.scale == pytest.approx(1 / (1 - round(rate * 65536) / 65536), rel=1e-12)


def test_dropout_draws_anew_each_time_and_again_from_the_same_seed() -> None:
    first, second = _noise(0.5, 1), _noise(0.5, 1)
    values = torch.ones(1001)
    draws = [first.keep(values), first.keep(values)]
    assert not torch.equal(*draws)
    assert torch.equal(second.keep(values), draws[0])
    # Neighbours are independent: the correlation of a long draw with itself shifted is small.
    long = _noise(0.5).keep(torch.ones(200_000)) - 0.5
    for shift in (1, 2, 3, 4, 64):
        assert abs(float((long[shift:] * long[:-shift]).mean()) / 0.25) < 0.012


def test_no_dropout_keeps_everything_and_draws_nothing() -> None:
    bits = np.random.SFC64(0)
    before = bits.state["state"]["state"].tolist()
    values = torch.rand(10)
    assert torch.equal(DropoutNoise(0.0, bits, CPU).keep(values), values)
    assert bits.state["state"]["state"].tolist() == before


def test_relu_dropout_and_its_backward() -> None:
    values = torch.randn(50, 8)
    kept = _noise(0.3).keep(torch.ones(50, 8))
    output = relu_dropout(values.clone(), _noise(0.3))
    assert torch.equal(output, values.relu() * kept)
    gradient = torch.randn(50, 8)
    expected = gradient * kept * (values > 0)
    assert torch.equal(relu_dropout_backward(gradient, output), expected)


def test_sgd_step_is_torchs() -> None:
    parameter = torch.nn.Parameter(torch.randn(30))
    flat, momentum = parameter.detach().clone(), torch.zeros(30)
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9, weight_decay=0.01)
    for _ in range(5):
        gradient = torch.randn(30)
        parameter.grad = gradient.clone()
        optimizer.step()
        sgd_step(flat, momentum, gradient, rates=Rates(0.1, 0.9, 0.01))
    torch.testing.assert_close(flat, parameter.detach(), rtol=1e-6, atol=1e-7)


@given(keys=st.lists(st.integers(0, 200_000), max_size=60), small=st.booleans())
def test_stable_order_sorts_and_keeps_the_order_of_equals(keys: list[int], small: bool) -> None:
    bound = 9 if small else 200_001
    array = np.array(keys, dtype=np.int64) % bound
    assert stable_order(array, bound).tolist() == np.argsort(array, kind="stable").tolist()
