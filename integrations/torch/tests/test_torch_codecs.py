"""Every tensor comes back bit for bit, and torch runs resume from checkpoints."""

from __future__ import annotations

import copy
import math
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from dynhp import DynamicGridAdapter, lowest
from dynhp.errors import CodecError
from dynhp.storage.checkpoint import checkpoints, resume, run_with_checkpoints
from dynhp.storage.codecs import decode, encode
from dynhp_torch import codecs, optimizer_param, torch_trainer
from tests.support.killing import Killed
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf")

codecs.register()


def is_dense(dtype: torch.dtype) -> bool:
    """Whether a plain tensor can have it; quantized and reserved types cannot."""
    if str(dtype).startswith(("torch.q", "torch.bits")):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.empty(1, dtype=dtype).view(torch.uint8)
    except (RuntimeError, NotImplementedError):
        return False
    return True


ALL = {dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
DTYPES = sorted(filter(is_dense, ALL), key=str)


def raw(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().resolve_conj().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def some(dtype: torch.dtype, count: int = 6) -> torch.Tensor:
    size = torch.empty(count, dtype=dtype).element_size() * count
    noise = np.random.default_rng(0).integers(0, 2 if dtype is torch.bool else 256, size)
    return torch.from_numpy(noise.astype(np.uint8)).view(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(6,), (2, 3), (), (0, 4)], ids=str)
def test_tensors_of_every_dtype_come_back_bit_for_bit(
    dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    tensor = some(dtype, max(1, math.prod(shape)))[: math.prod(shape)].reshape(shape)
    back = decode(encode([tensor]))[0]
    assert type(back) is torch.Tensor
    assert (back.dtype, back.shape) == (dtype, tensor.shape)
    assert raw(back) == raw(tensor)


def test_the_types_that_matter_are_among_them() -> None:
    assert {torch.bfloat16, torch.bool, torch.complex64, torch.float8_e5m2} <= set(DTYPES)
    assert len(DTYPES) >= 15


def test_the_order_in_memory_is_kept() -> None:
    image = torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last)
    back = decode(encode(image))
    assert back.stride() == image.stride()
    assert torch.equal(back, image)
    turned = torch.rand(3, 4).t()
    assert decode(encode(turned)).stride() == turned.stride()


def test_a_tensor_that_came_back_can_be_written_to_and_leaves_the_first_alone() -> None:
    tensor = torch.zeros(3)
    first, second, other = decode(encode([tensor, tensor, torch.zeros(3)]))
    first += 1
    assert (tensor.sum(), second.sum(), other.sum()) == (0, 3, 0)


def test_views_of_one_memory_still_are() -> None:
    whole = torch.arange(12.0)
    tied = nn.Parameter(whole)
    state = {
        "whole": whole,
        "shaped": whole.view(3, 4),
        "every other": whole[::2],
        "turned": whole.view(3, 4).t()[1:],
        "tied": tied,
        "data": tied.data,
        "bits": whole.view(torch.int32),
    }
    data = encode(state)
    assert len(data) < 12 * 4 + 4000
    back = decode(data)
    assert {name: item.stride() for name, item in back.items()} == {
        name: item.stride() for name, item in state.items()
    }
    with torch.no_grad():
        whole.mul_(3)
        back["whole"].mul_(3)
    for name, item in state.items():
        assert torch.equal(back[name], item), name
    assert encode(back) == encode(state)


def test_a_resumed_run_of_tied_tensors_is_the_undisturbed_one(tmp_path: Path) -> None:
    class Tied:
        def __init__(self) -> None:
            weights = torch.ones(20)
            self.state = {"encoder": weights, "decoder": weights.view(4, 5), "part": weights[::2]}

        def get_state(self) -> Any:
            return copy.deepcopy(self.state)

        def set_state(self, state: Any) -> None:
            self.state = copy.deepcopy(state)

        def train_k(self, k: int, values: Any) -> None:
            for _ in range(k):
                self.state["encoder"].mul_(1 - values["lr"])

        def metrics(self) -> dict[str, float]:
            return {"loss": float(self.state["decoder"].sum() + self.state["part"].sum())}

    def tied_adapter() -> DynamicGridAdapter:
        return DynamicGridAdapter(
            Tied(), {"lr": [0.1, 0.2]}, criterion=lowest("loss"), adapt_every=4, try_for=1
        )

    with checkpoints(tmp_path, tied_adapter()) as begun:
        next(begun.rounds(12))
    assert resume(tmp_path, tied_adapter()) == tied_adapter().run(12)


def test_parameters_and_requires_grad() -> None:
    leaf = torch.ones(2, requires_grad=True)
    frozen = nn.Parameter(torch.ones(2), requires_grad=False)
    back = decode(encode([leaf, frozen, nn.Parameter(torch.zeros(1))]))
    assert [type(item) for item in back] == [torch.Tensor, nn.Parameter, nn.Parameter]
    assert [item.requires_grad for item in back] == [True, False, True]


def test_generators_go_on_where_they_were() -> None:
    generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=generator)
    back = decode(encode(generator))
    assert torch.equal(torch.rand(4, generator=back), torch.rand(4, generator=generator))


def test_sizes_devices_and_dtypes() -> None:
    things = [torch.Size([2, 3]), torch.device("cpu"), torch.float16, OrderedDict(a=torch.Size())]
    back = decode(encode(things))
    assert back == things
    assert [type(item) for item in back] == [type(item) for item in things]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.empty(2, device="meta"),
        lambda: torch.ones(1, requires_grad=True) * 2,
        lambda: torch.ones(1).expand(3),
        lambda: torch.tensor([1 + 2j]).conj(),
        lambda: torch.tensor([1 + 2j]).conj().imag,
    ],
)
def test_what_has_no_bytes_of_its_own_is_refused_with_its_path(make: Any) -> None:
    with raises(CodecError):
        encode({"model": [0, make()]})


@pytest.mark.parametrize(
    "lie",
    [
        {"shape": [10**12]},
        {"shape": [3]},
        {"shape": [-1]},
        {"shape": [2.0]},
        {"shape": [True]},
        {"shape": [2, 2]},
        {"shape": [10**12], "stride": [0]},
        {"shape": [2**70, 0], "stride": [1, 1]},
        {"stride": [2]},
        {"stride": [-1]},
        {"stride": []},
        {"offset": 1},
        {"offset": -1},
        {"offset": 2**63},
        {"dtype": torch.complex128},
        {"dtype": "float32"},
        {"memory": np.zeros(8, np.uint8)},
    ],
    ids=str,
)
def test_a_file_that_lies_about_a_tensor_is_refused(lie: dict[str, Any]) -> None:
    plain = codecs._tensor_to_plain(torch.ones(2))
    codecs._tensor_from_plain(dict(plain))
    with pytest.raises(Exception, match=r"."):
        codecs._tensor_from_plain({**plain, **lie})
    assert plain["memory"].nbytes() == 8


@pytest.mark.parametrize(
    "lie", [["cpu", np.zeros(4)], ["cpu", np.zeros((2, 2), np.uint8)], ["cpu", b"12"], ["x", 1], 3]
)
def test_a_file_that_lies_about_memory_is_refused(lie: Any) -> None:
    with pytest.raises(Exception, match=r"."):
        codecs._memory_from_plain(lie)
    with pytest.raises(Exception, match=r"."):
        codecs._memory_from_plain(["nowhere", np.zeros(4, np.uint8)])


def test_a_device_that_is_not_there_means_the_processor() -> None:
    if torch.cuda.is_available():
        pytest.skip("it is there")
    _, raw = codecs._memory_to_plain(torch.ones(2).untyped_storage())
    assert codecs._memory_from_plain(["cuda:0", raw]).device.type == "cpu"


def make_adapter() -> tuple[Any, DynamicGridAdapter]:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    inputs = torch.rand(64, 4, generator=torch.Generator().manual_seed(2))
    targets = inputs.sum(1, keepdim=True)

    def train_epoch(values: Any) -> None:
        model.train()
        rows = torch.randperm(64)[:32]
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs[rows]), targets[rows]).backward()
        optimizer.step()

    def evaluate() -> dict[str, float]:
        model.eval()
        with torch.no_grad():
            return {"loss": float(nn.functional.mse_loss(model(inputs), targets))}

    trainer = torch_trainer(
        state=[model, optimizer],
        train_epoch=train_epoch,
        evaluate=evaluate,
        bind={"lr": optimizer_param(optimizer, "lr")},
    )
    adapter = DynamicGridAdapter(
        trainer, {"lr": [0.001, 0.01, 0.1]}, criterion=lowest("loss"), adapt_every=4, try_for=2
    )
    return trainer, adapter


def test_a_torch_run_broken_off_in_mid_round_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    trainer, adapter = make_adapter()
    expected = adapter.run(12)
    weights = copy.deepcopy(trainer.get_state())
    trainer, adapter = make_adapter()
    left = iter(range(17))
    train = trainer.train_k

    def stopping(k: int, values: Any) -> None:
        if next(left, None) is None:
            raise Killed
        train(k, values)

    trainer.train_k = stopping
    with pytest.raises(Killed):
        run_with_checkpoints(adapter, 12, checkpoint=tmp_path)
    trainer, adapter = make_adapter()
    torch.manual_seed(99)
    assert run_with_checkpoints(adapter, 12, checkpoint=tmp_path) == expected
    assert encode(trainer.get_state()) == encode(weights)
