"""Tensors sent to other processes: nothing is lost, and nothing large is pickled."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping

import pytest
import torch
from torch import nn

from dynhp import Trainer
from dynhp.executors import Processes
from dynhp.executors.pool.packing import pieces_of
from dynhp.executors.pool.shared_memory import Segments, load, pack
from dynhp.records import Value
from dynhp.testing.executors import check_executor
from dynhp_torch import optimizer_param, torch_trainer

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e5m2]
DTYPES += [torch.int64, torch.int8, torch.uint8, torch.uint16, torch.bool, torch.complex64]


@pytest.fixture
def segments() -> Iterator[Segments]:
    made = Segments()
    yield made
    made.clear()


def raw(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def some(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(300, 400), (2, 3), (), (0, 4)], ids=str)
def test_tensors_of_every_kind_arrive(
    segments: Segments, dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    tensor = some(dtype, *shape)
    (arrived,) = load(pack([tensor], segments), segments)
    assert type(arrived) is torch.Tensor
    assert (arrived.dtype, arrived.shape, raw(arrived)) == (dtype, tensor.shape, raw(tensor))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.rand(300, 200).t(),
        torch.rand(300, 200)[10:20, ::2],
        torch.rand(2, 3, 64, 64).to(memory_format=torch.channels_last),
        torch.rand(1).expand(5),
    ],
    ids=["turned", "a part", "channels last", "spread"],
)
def test_strides_are_kept(segments: Segments, tensor: torch.Tensor) -> None:
    arrived = load(pack(tensor, segments), segments)
    assert torch.equal(arrived, tensor)
    assert arrived.stride() == tensor.stride()
    assert arrived.storage_offset() == tensor.storage_offset()


@pytest.mark.parametrize("size", [4, 100_000])
def test_what_shares_memory_still_does_and_it_is_ones_own(segments: Segments, size: int) -> None:
    whole = torch.zeros(size)
    state = {"whole": whole, "first": whole[:2], "tied": nn.Parameter(whole)}
    packed = pack(state, segments)
    arrived = load(packed, segments)
    arrived["whole"][0] = 7.0
    assert arrived["first"][0] == arrived["tied"][0] == 7.0
    assert (whole[0], load(packed, segments)["whole"][0]) == (0, 0)
    assert sum(packed.sizes) < 4 * size + 2000  # it went once


def test_parameters_and_requires_grad(segments: Segments) -> None:
    state = [
        torch.ones(2, requires_grad=True),
        nn.Parameter(torch.ones(2), requires_grad=False),
        nn.Parameter(torch.ones(50_000)),
    ]
    arrived = load(pack(state, segments), segments)
    assert [type(each) for each in arrived] == [type(each) for each in state]
    assert [each.requires_grad for each in arrived] == [True, False, True]
    assert pieces_of(state)[1].nbytes == 200_000


@pytest.mark.parametrize(
    "tensor",
    [
        torch.eye(2).to_sparse(),
        torch.tensor([1 + 2j]).conj(),
        torch.ones(2, requires_grad=True) * 2,
        torch.empty(2, device="meta"),
    ],
    ids=["sparse", "conjugate", "in a graph", "meta"],
)
@pytest.mark.filterwarnings("ignore:.*TypedStorage is deprecated")
def test_what_is_more_than_memory_travels_as_torch_sends_it(
    segments: Segments, tensor: torch.Tensor
) -> None:
    arrived = load(pack(tensor, segments), segments)
    by_torch = pickle.loads(pickle.dumps(tensor))
    assert (arrived.layout, arrived.device, arrived.shape) == (
        by_torch.layout,
        by_torch.device,
        by_torch.shape,
    )
    if not tensor.is_meta:
        assert arrived.to_dense().tolist() == by_torch.to_dense().tolist()


def test_attributes_travel_too(segments: Segments) -> None:
    tensor = torch.ones(2)
    tensor.note = "mine"  # type: ignore[attr-defined]
    assert load(pack(tensor, segments), segments).note == "mine"


def test_memory_that_is_only_lent_is_copied() -> None:
    stream, piece = pieces_of(torch.zeros(20_000))
    read_only = bytes(piece)
    arrived = pickle.loads(stream, buffers=[read_only])
    arrived += 1  # a tensor in read-only memory would end the process
    assert read_only == bytes(len(read_only))


def test_a_large_tensor_leaves_no_large_pickle() -> None:
    tensor = torch.zeros(10 << 18)  # 10 MB
    stream, piece = pieces_of({"model": {"weight": tensor}, "step": 3})
    assert (stream.nbytes < 1000, piece.nbytes) == (True, 10 << 20)
    tensor[0] = 1.0
    assert bytes(piece[:4]) == raw(tensor[:1])  # and it is no copy


def make() -> Trainer:
    """A model whose weights are too large for a message."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(32, 100, generator=generator)
    target = inputs.sin().sum(dim=1, keepdim=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(100, 200), nn.Tanh(), nn.Dropout(0.2), nn.Linear(200, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def train_epoch(values: Mapping[str, Value]) -> None:
        model.train()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), target).backward()
        optimizer.step()

    @torch.no_grad()
    def evaluate() -> dict[str, float]:
        model.eval()
        return {"loss": nn.functional.mse_loss(model(inputs), target).item()}

    return torch_trainer(
        state=[model, optimizer],
        train_epoch=train_epoch,
        evaluate=evaluate,
        bind={"lr": optimizer_param(optimizer, "lr")},
    )


def test_on_other_processes_the_answer_is_that_of_serial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers know of tensors because their trainer does, and send them back alike."""
    sizes: list[tuple[int, ...]] = []
    make_segments = Segments.make
    monkeypatch.setattr(
        Segments, "make", lambda self, each: sizes.append(tuple(each)) or make_segments(self, each)
    )
    check_executor(
        lambda make_trainer: Processes(make_trainer, workers=2),
        make_trainer=make,
        space={"lr": [0.001, 0.01, 0.1]},
    )
    assert len(sizes) > 10
    assert all(pickled < 20_000 < sum(rest) for pickled, *rest in sizes)
