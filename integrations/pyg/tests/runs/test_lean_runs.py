"""A lean run measures less and gives the same."""

from __future__ import annotations

from typing import get_args

import pytest

from dynhp_pyg.runs.example import tiny_graph
from dynhp_pyg.runs.run import LinkRun, Method, run
from dynhp_pyg.runs.spec import Criterion, space_of

GRAPH = tiny_graph()


@pytest.mark.parametrize("criterion", get_args(Criterion))
@pytest.mark.parametrize("method", get_args(Method))
def test_every_method_gives_the_same(method: Method, criterion: Criterion) -> None:
    space = space_of(["learning_rate_scale" if method == "recommended" else "edge_message_ratio"])
    settings = LinkRun(
        method=method, criterion=criterion, epochs=12, adapt_every=4, width=4, space=space
    )
    plain, lean = run(settings, graph=GRAPH), run(settings, graph=GRAPH, lean=True)
    for name in ("test_auc", "test_ap", "val_auc", "epoch", "schedule"):
        assert getattr(lean, name) == getattr(plain, name), name
    checked = sum(round_.checked for round_ in plain.history)  # a lean run is not
    assert lean.cost.total == plain.cost.total - checked
    assert lean.plan.most.total == plain.plan.most.total - checked
    assert set(lean.history[-1].metrics) < set(plain.history[-1].metrics)
