"""However a campaign is cut into calls, and its file cut in between: the table is the same."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp.campaign import run_campaign
from dynhp.campaign.data import canonical
from tests.support.campaigning import picky, serial

numbers = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
words = st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
settings = st.fixed_dictionaries(
    {"seed": st.integers(0, 5)},
    optional={"bad": st.booleans(), "lr": values, "a name, with a comma": values},
)
runs = st.lists(settings, max_size=6, unique_by=canonical)
costs = st.sampled_from([None, lambda run: 1.0 + run["seed"], lambda run: 9.0 - run["seed"]])


@pytest.fixture(autouse=True, scope="module")
def _fast_disk() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@st.composite
def campaigns(draw: Any) -> tuple[list[dict[str, Any]], list[tuple[list[dict[str, Any]], float]]]:
    """A list of runs; and calls with some of them, each with the share of the file that stays."""
    wanted = draw(runs)
    some = st.lists(st.sampled_from(wanted), unique_by=canonical) if wanted else st.just([])
    return wanted, draw(st.lists(st.tuples(some, st.floats(0, 1)), max_size=3))


@pytest.mark.many
@given(campaign=campaigns(), cost=costs)
def test_any_calls_give_the_table_of_one(campaign: Any, cost: Any) -> None:
    wanted, calls = campaign
    with tempfile.TemporaryDirectory() as name:
        at_once, in_parts = Path(name, "at once"), Path(name, "in parts")
        expected = run_campaign(picky, wanted, folder=at_once, executor=serial)
        for part, share in calls:
            run_campaign(picky, part, folder=in_parts, executor=serial, cost=cost)
            ledger = in_parts / "results.jsonl"
            os.truncate(ledger, round(share * ledger.stat().st_size))
        results = run_campaign(picky, wanted, folder=in_parts, executor=serial, cost=cost)
        assert results == expected
        assert (in_parts / "results.csv").read_bytes() == (at_once / "results.csv").read_bytes()
        assert [run.settings for run in results] == wanted
        assert [run.error is not None for run in results] == [
            run.get("bad", False) for run in wanted
        ]
