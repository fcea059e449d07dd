"""Runs as the published code trains: which settings they have, and what the command makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dynhp.cli.main import main
from dynhp.errors import SettingsError
from dynhp_pyg.runs.example import tiny_graph
from dynhp_pyg.runs.published import published_settings
from dynhp_pyg.runs.run import LinkRun, run
from dynhp_pyg.runs.spec import WITH_TRIES, space_of
from tests.support.messages import raises

GRAPH = tiny_graph()
SETTINGS = LinkRun(epochs=12, adapt_every=4, try_for=2, width=8, split=(0.6, 0.2, 0.2), seed=3)


@pytest.mark.parametrize("method", [each for each in WITH_TRIES if each != "recommended"])
def test_methods_with_tries_restart_the_rate_in_every_round(method: str) -> None:
    assert published_settings(method, 7)["rate_restarts"] == 7


@pytest.mark.parametrize("method", ["complete", "random", "fixed"])
def test_methods_without_tries_train_as_written(method: str) -> None:
    assert published_settings(method, 7) == {"protocol": "paper"}


def test_what_the_published_code_does_not_know_is_refused() -> None:
    with raises(SettingsError):
        published_settings("recommended", 10)


def test_the_recommended_way_can_have_independent_tries() -> None:
    settings = replace(
        SETTINGS, method="recommended", space=space_of(["learning_rate_scale"]), epochs=16
    )
    other = replace(settings, randomness="independent")
    assert run(settings, graph=GRAPH).history != run(other, graph=GRAPH).history


def test_restarts_and_independent_tries_each_change_the_result() -> None:
    changes: list[dict[str, Any]] = [{}, {"rate_restarts": 4}, {"randomness": "independent"}]
    aucs = {run(replace(SETTINGS, **change), graph=GRAPH).val_auc for change in changes}
    assert len(aucs) == 3


def test_independent_tries_cost_and_repeat_like_any() -> None:
    settings = replace(SETTINGS, rate_restarts=4, randomness="independent")
    first, second = run(settings, graph=GRAPH), run(settings, graph=GRAPH)
    assert first == second
    assert first.as_planned


def test_a_placebo_is_independent_whatever_is_asked_for() -> None:
    common, independent = (
        run(replace(SETTINGS, method="placebo", randomness=randomness), graph=GRAPH)
        for randomness in ("common", "independent")
    )
    assert common.test_auc == independent.test_auc
    assert common.history == independent.history


def test_a_run_says_what_is_unusual_about_it() -> None:
    assert "every" not in str(LinkRun(method="fixed"))
    text = str(LinkRun(rate_restarts=10, randomness="independent"))
    assert "500 epochs, learning rate restarted every 10 epochs, independent tries; adagrid" in text


@pytest.mark.parametrize(
    "settings",
    [
        {"rate_restarts": 0},
        {"rate_restarts": 10, "schedule": "constant"},
        {"randomness": "shared"},
        {"randomness": "independent", "method": "fixed"},
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with raises(SettingsError):
        LinkRun(**settings)


def trained(folder: Path, *options: str) -> dict[str, Any]:
    """What the command wrote, on as little as there is."""
    fixed = ["--dataset", "cora", "--epochs", "4", "--width", "2", "--seeds", "1", "--quiet"]
    given = ["--adapt-every", "2", *fixed, *options, "--out", str(folder)]
    assert main(["linkpred", "train", *given]) == 0
    settings: dict[str, Any] = json.loads((folder / "results.json").read_text())["settings"]
    return settings


def test_the_command_trains_as_published(tmp_path: Path) -> None:
    settings = trained(tmp_path, "--protocol", "published")
    wanted = {"protocol": "paper", "rate_restarts": 2, "randomness": "independent"}
    assert {name: settings[name] for name in wanted} == wanted


def test_what_is_given_goes_before_what_was_published(tmp_path: Path) -> None:
    given = ["--protocol", "published", "--rate-restarts", "3", "--randomness", "common"]
    settings = trained(tmp_path, *given)
    assert (settings["rate_restarts"], settings["randomness"]) == (3, "common")


def test_restarts_need_no_protocol(tmp_path: Path) -> None:
    settings = trained(tmp_path, "--method", "fixed", "--rate-restarts", "2")
    assert (settings["protocol"], settings["rate_restarts"]) == ("undirected", 2)


def test_a_rate_that_stays_cannot_restart_as_published(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["linkpred", "train", "--dataset", "cora", "--protocol", "published"]
    assert main([*command, "--schedule", "constant"]) == 2
    assert "--protocol published restarts a rate that falls" in capsys.readouterr().err


def test_the_split_of_the_published_code_is_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for protocol in ("paper", "published"):
        assert main(["linkpred", "audit", "--dataset", "cora", "--protocol", protocol]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "leaks" in printed[0]
