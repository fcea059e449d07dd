"""Two ranks on this machine: they choose alike, fail alike, and never wait for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import torch.distributed as dist

from dynhp.errors import SettingsError
from dynhp.testing import NoisyQuadratic
from dynhp_torch.distributed import Distributed
from tests.support.messages import raises

Two: TypeAlias = Callable[..., list[tuple[str, str]]]


@pytest.fixture(scope="module")
def ranks(two: Two, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two ranks have seen."""
    printed = two("two_ranks.py", tmp_path_factory.mktemp("ranks"))
    for out, err in printed:
        assert out, err
    return [json.loads(out) for out, _ in printed]


def same(ranks: list[dict[str, Any]], name: str) -> Any:
    """What both ranks have seen alike."""
    first, second = (json.dumps(rank[name]) for rank in ranks)  # as text: nan is nan
    assert first == second
    return ranks[0][name]


def test_alone_each_rank_makes_a_choice_of_its_own(ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["alone"]["chosen"] != ranks[1]["alone"]["chosen"]


@pytest.mark.parametrize("name", ["together", "max", "seeds"])
def test_together_all_ranks_make_one_choice(ranks: list[dict[str, Any]], name: str) -> None:
    run = same(ranks, name)
    assert run["raised"] is None
    assert len(run["chosen"]) == 3


def test_metrics_are_reduced(ranks: list[dict[str, Any]]) -> None:
    first = [rank["alone"]["tries"][0][0][0]["loss"] for rank in ranks]
    mean, highest = (same(ranks, name)["tries"][0][0][0] for name in ("together", "max"))
    assert mean["loss"] == pytest.approx(sum(first) / 2)
    assert highest["loss"] == max(first)


def test_what_raises_on_one_rank_fails_on_all_and_the_run_goes_on(
    ranks: list[dict[str, Any]],
) -> None:
    run = same(ranks, "raises")
    errors = [error for _, error, _ in run["tries"] if error]
    assert errors == ["RankFailed: rank 1: RuntimeError: cannot bear lr=0.1"] * 3
    assert run["raised"] is None
    assert 0.1 not in run["chosen"]


def test_what_diverges_on_one_rank_fails_on_all(ranks: list[dict[str, Any]]) -> None:
    run = same(ranks, "nan")
    errors = [error for _, error, _ in run["tries"] if error]
    assert errors == ["loss is nan after epoch 1"] * 3
    assert run["raised"] is None


def test_a_parallel_model_stays_one_model(ranks: list[dict[str, Any]]) -> None:
    run = same(ranks, "model")
    errors = {error for _, error, _ in run["tries"]}
    assert errors == {None, "RankFailed: rank 1: ValueError: a bad batch"}
    assert run["raised"] is None
    assert same(ranks, "weights") == [[pytest.approx(w, abs=0.5) for w in (1.0, -2.0, 3.0)]]


def test_a_bad_batch_before_a_broadcast_of_buffers_holds_nobody_up(
    ranks: list[dict[str, Any]],
) -> None:
    run = same(ranks, "normed")
    errors = {error for _, error, _ in run["tries"]}
    assert errors == {None, "RankFailed: rank 1: ValueError: a bad batch"}
    assert run["raised"] is None
    assert same(ranks, "normed weights")


def test_ranks_that_disagree_stop_and_say_so(ranks: list[dict[str, Any]]) -> None:
    message = same(ranks, "disagree")["raised"]
    assert message.startswith("ContractError: all ranks must train with the same values")
    assert "rank 0: 1 × {'lr': 0.02}, rank 1: 1 × {'lr': 0.05}" in message


def test_a_contract_broken_on_one_rank_ends_the_run_on_all(ranks: list[dict[str, Any]]) -> None:
    message = same(ranks, "lies")["raised"]
    assert message.startswith("ContractError: rank 1: ValueNotInForce: lr should be")


def test_every_rank_gets_a_seed_of_its_own(ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["drawn"] != ranks[1]["drawn"]


def test_ranks_that_do_different_things_are_told(ranks: list[dict[str, Any]]) -> None:
    assert same(ranks, "unequal").startswith(
        "MetricError: all ranks must measure the same metrics, got by rank"
    )
    assert "got by rank ['train_k', 'status']" in same(ranks, "apart")


def test_a_rank_that_is_gone_ends_the_run(ranks: list[dict[str, Any]]) -> None:
    assert "one is gone or hangs" in ranks[1]["lost"]


@pytest.fixture(scope="module")
def undisturbed(two: Two, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What two ranks end with that are not killed."""
    return [out for out, _ in two("killed_ranks.py", tmp_path_factory.mktemp("undisturbed"), 0)]


@pytest.mark.parametrize("step", [1, 3, 6])  # the first checkpoint, a try, the second checkpoint
def test_ranks_go_on_from_what_all_of_them_have_saved(
    two: Two, step: int, undisturbed: list[str], tmp_path: Path
) -> None:
    dead, other = two("killed_ranks.py", tmp_path, step)
    assert (dead[0], "one is gone or hangs" in other[1]) == ("", True)
    files = [{path.name for path in (tmp_path / f"rank{rank}").iterdir()} for rank in range(2)]
    assert files[0] != files[1]
    again = two("killed_ranks.py", tmp_path, 0)
    assert [out for out, _ in again] == undisturbed, again
    assert all(undisturbed)


def test_without_ranks_there_is_an_error() -> None:
    assert not dist.is_initialized()
    with raises(SettingsError):
        Distributed(NoisyQuadratic())
    with raises(SettingsError):
        Distributed(NoisyQuadratic(), reduce="meen")
