"""Optuna's dashboard, the real one, shows the rounds of a run over HTTP."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from dynhp import History
from dynhp_optuna import study_of
from tests.support.loggers import adapter_with

dashboard = pytest.importorskip("optuna_dashboard")


class SilentRequests(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing of requests."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[tuple[History, str]]:
    """A run, and the address of a dashboard that has its study, on this machine alone."""
    storage = f"sqlite:///{tmp_path}/rounds.db"
    history = adapter_with().run(10)
    study_of(history, storage=storage, name="run 1")
    app = dashboard.wsgi(storage)
    with make_server("127.0.0.1", 0, app, handler_class=SilentRequests) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield history, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def got(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


def test_it_shows_every_try_as_a_trial(run: tuple[History, str]) -> None:
    history, address = run
    assert "<html" in got(f"{address}/dashboard").lower()
    [listed] = json.loads(got(f"{address}/api/studies"))["study_summaries"]
    assert listed["study_name"] == "run 1"
    study = json.loads(got(f"{address}/api/studies/{listed['study_id']}"))
    tries = [(round_.index, each) for round_ in history for each in round_.tries]
    assert len(study["trials"]) == len(tries) > 10
    for trial, (index, each) in zip(study["trials"], tries, strict=True):
        assert trial["state"] == "Complete"
        assert {one["name"]: one["param_external_value"] for one in trial["params"]} == {
            name: str(value) for name, value in each.candidate.items()
        }
        attributes = {one["key"]: one["value"] for one in trial["user_attrs"]}
        assert attributes["round"] == str(index)
        values = [one["value"] for one in trial["intermediate_values"]]
        assert values == [metrics["loss"] for metrics in each.series]
