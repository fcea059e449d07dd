"""A model that is spread over two ranks: tries leave no trace, ranks choose alike, runs resume."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel

from dynhp.errors import ContractError, SettingsError
from dynhp.storage.codecs import decode, encode
from dynhp_torch.parts import torch_part
from dynhp_torch.parts.shards import LocalShard, is_fully_sharded, is_sharded, local
from dynhp_torch.parts.tensors import filled, made, write_into
from tests.support.messages import raises

SHARD = LocalShard(local=torch.ones(2, 3), shape=(4, 3), mesh=(2,), placements=("S(0)",))


@pytest.fixture(scope="module")
def ranks(
    two: Callable[..., list[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """What two ranks have seen."""
    printed = two("sharded_ranks.py", tmp_path_factory.mktemp("sharded"))
    for out, err in printed:
        assert out, err
    return [json.loads(out) for out, _ in printed]


def test_a_dry_run_is_plain_training_to_the_bit(ranks: list[dict[str, Any]]) -> None:
    for rank in ranks:
        assert {**rank["dry"], "chosen": None} == {**rank["plain"], "chosen": None}


def test_both_ranks_choose_alike_and_what_they_chose_can_be_trained_again_plainly(
    ranks: list[dict[str, Any]],
) -> None:
    first, second = (rank["adapted"] for rank in ranks)
    assert first["chosen"] == second["chosen"]
    assert len(set(first["chosen"])) > 1
    for rank in ranks:
        del rank["adapted"]["chosen"]
        assert rank["adapted"] == rank["replayed"]
    assert first["weights"] != ranks[0]["plain"]["weights"]


def test_the_weights_are_one_model_and_each_rank_has_its_own_running_means(
    ranks: list[dict[str, Any]],
) -> None:
    first, second = (rank["adapted"]["weights"] for rank in ranks)
    different = {name for name in first if first[name] != second[name]}
    assert different == {"1.running_mean", "1.running_var"}


def test_another_model_goes_on_from_the_checkpoints_of_the_ranks(
    ranks: list[dict[str, Any]],
) -> None:
    for rank in ranks:
        assert rank["resumed"] == {k: v for k, v in rank["adapted"].items() if k != "chosen"}


def test_shards_fit_only_a_model_that_is_spread_likewise(ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["other spread"] == ranks[1]["other spread"]
    assert ranks[0]["other spread"].startswith(
        "ContractError: a sharded tensor must stay sharded as it is while a run goes on: a state "
        "holds one of (7, 5) over (2,) ranks by S(0), got one that is whole on this rank; start as "
        "many ranks"
    )
    assert ranks[0]["smaller"].startswith("ContractError: a sharded tensor must stay sharded")
    assert "got one of (7, 5) over (1,) ranks by" in ranks[0]["smaller"]


def test_what_needs_a_copy_of_the_model_is_refused(ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["averaged"].startswith("SettingsError: AveragedWeights needs a copy of")


def test_the_older_way_to_shard_is_refused_at_construction() -> None:
    older: Any = FullyShardedDataParallel.__new__(FullyShardedDataParallel)
    nn.Module.__init__(older)  # its own needs an accelerator
    with raises(SettingsError):
        torch_part(nn.ModuleList([older]))


def test_a_shard_is_stored_and_never_takes_the_place_of_a_tensor() -> None:
    again = decode(encode({"momentum": SHARD}))["momentum"]
    assert (again.shape, again.mesh, again.placements) == ((4, 3), (2,), ("S(0)",))
    assert torch.equal(again.local, SHARD.local)
    for write in (
        lambda: write_into(torch.zeros(4, 3), SHARD),
        lambda: filled(None, SHARD, like=torch.zeros(4, 3)),
        lambda: filled(torch.zeros(2, 3), SHARD, like=torch.zeros(2, 3)),
        lambda: made({"nested": [(SHARD,)]}),
    ):
        with raises(ContractError):
            write()


def test_an_ordinary_tensor_is_its_own_shard() -> None:
    tensor = torch.ones(2)
    assert local(tensor) is tensor
    assert not is_sharded(tensor)
    assert not is_fully_sharded(nn.Linear(2, 1))
