"""Settings that differ only in the order of a set are the same settings, in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynhp.texts import same_settings, with_braces_sorted
from tests.support.disks import ROOT

SAVED = """
import json, sys
from dataclasses import dataclass, field
from dynhp import DynamicGridAdapter, FullGrid, lowest
from dynhp.testing import NoisyQuadratic

@dataclass(frozen=True)
class Skipping:
    skip: frozenset = frozenset({"alpha", "beta", "gamma", "delta"})
    nested: dict = field(default_factory=lambda: {"one": [{"x", "y, z", "it's {"}], "two": ()})
    def propose(self, known, rng): return FullGrid().propose(known, rng)
    def waves(self, space, current): return FullGrid().waves(space, current)

class Written(Skipping):
    def __repr__(self): return f"Written without {set(self.skip)}"

kind = {"Skipping": Skipping, "Written": Written}[sys.argv[1]]
adapter = DynamicGridAdapter(NoisyQuadratic(), {"lr": [.01, .1]}, criterion=lowest("loss"),
                             adapt_every=2, try_for=1, proposer=kind())
for text in sys.argv[2:]:
    adapter.load_state_dict(json.loads(text))
print(json.dumps(adapter.state_dict()))
"""


def state_of_another_process(kind: str, hashing: int, *states: str) -> str:
    """The state of an adapter in a process in which sets have an order of their own."""
    return subprocess.run(
        [sys.executable, "-c", SAVED, kind, *states],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(hashing)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("kind", ["Skipping", "Written"])
def test_parts_with_sets_are_the_same_in_every_process(kind: str, tmp_path: Path) -> None:
    states = [state_of_another_process(kind, hashing) for hashing in range(3)]
    assert len({json.loads(state)["settings"]["proposer"] for state in states}) > 1
    state_of_another_process(kind, 3, *states)  # which takes them all


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("{1, 2}", "{2, 1}", True),
        ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", True),
        ("{'a': 1, 'b': 2}", "{'b': 1, 'a': 2}", False),
        ("{1, 2}", "{1, 2, 2}", False),
        ("(1, 2)", "(2, 1)", False),
        ("[1, 2]", "[2, 1]", False),
        ("f({(1, 2), (3, 4)})", "f({(3, 4), (1, 2)})", True),
        ("f({(1, 2), (3, 4)})", "f({(4, 3), (1, 2)})", False),
        ("{'a, b', \"c'd, {\"}", "{\"c'd, {\", 'a, b'}", True),
        ("{'a, b'}", "{'b, a'}", False),
        ("{frozenset({1, 2}), 3}", "{3, frozenset({2, 1})}", True),
        ("a {1, 2", "a {2, 1", False),
        ("a} {1, 2}", "a} {2, 1}", False),
        ("(1, 2}", "(2, 1}", False),
        ("don't {1, 2}", "don't {2, 1}", True),
        ("f({1, 2})", "g({2, 1})", False),
        ("f()", None, False),
    ],
)
def test_what_is_the_same(one: str, other: str | None, same: bool) -> None:
    assert same_settings(one, other) is same


@pytest.mark.parametrize(
    ("text", "in_order"),
    [
        ("f(x={2, 1})", "f(x={1,2})"),
        ("b, {2, 1}, a", "b, {1,2}, a"),
        ("f({'b': [2, 1], 'a': {3, 2}})", "f({'a': {2,3},'b': [2, 1]})"),
        ("b, f({2, 1}", "b, f({2, 1}"),  # a bracket that is not closed: as it is
        ("b, {2, 1)", "b, {2, 1)"),
        ("{2, 1}}", "{2, 1}}"),
    ],
)
def test_only_what_stands_in_braces_is_put_in_order(text: str, in_order: str) -> None:
    assert with_braces_sorted(text) == in_order


plain = st.recursive(
    st.integers() | st.text(max_size=4) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.frozensets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)


@given(plain, plain)
def test_equal_things_have_the_same_text_and_others_another(one: object, other: object) -> None:
    assert same_settings(repr(one), repr(one))
    if with_braces_sorted(repr(one)) == with_braces_sorted(repr(other)):
        assert one == other
