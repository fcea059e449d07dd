"""The runs of the reproduction, one of them, and the command around all."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, get_args

import pytest

from benchmarks.paper.compared import PAIRS
from benchmarks.paper.program import main
from benchmarks.paper.protocol.parts import Part, runs_of
from benchmarks.paper.protocol.task import cost, most_epochs, train_run
from dynhp.errors import SettingsError


def test_the_tables_are_the_papers() -> None:
    runs = runs_of("tables", protocol="paper", seeds=1)
    columns = {(run["graph"], run["split"], run["negatives"]) for run in runs}
    assert len(columns) == 12
    assert Counter(run["method"] for run in runs) == {
        "fixed": 12 * 9,
        "random": 12,
        "adagrid": 12 * 9 * 2,
        "placebo": 12 * 2,
    }
    adagrid = [run for run in runs if run["method"] == "adagrid"]
    assert {(run["adapt_every"], run["try_for"]) for run in adagrid} == set(PAIRS)
    assert {run["criterion"] for run in adagrid} == {"validation", "gap"}


def test_three_seeds_of_the_tables_are_about_1_7_million_epochs() -> None:
    epochs = sum(map(most_epochs, runs_of("tables", protocol="undirected", seeds=3)))
    assert epochs == pytest.approx(1.7e6, rel=0.02)


@pytest.mark.parametrize("part", get_args(Part))
def test_nothing_is_asked_for_twice(part: Part) -> None:
    runs = runs_of(part, protocol="undirected", seeds=2)
    assert len({json.dumps(run, sort_keys=True) for run in runs}) == len(runs)
    assert all(cost(run) > 0 for run in runs)


def test_the_headline_is_part_of_the_tables() -> None:
    tables = runs_of("tables", protocol="undirected", seeds=3)
    assert all(run in tables for run in runs_of("headline", protocol="undirected", seeds=3))


def test_more_seeds_only_add_runs() -> None:
    few = runs_of("variants", protocol="undirected", seeds=2)
    assert runs_of("variants", protocol="undirected", seeds=3)[: len(few)] == few


@pytest.mark.parametrize("part", get_args(Part))
def test_every_run_of_every_part_can_be_carried_out_as_planned(part: Part) -> None:
    kinds = {}
    for run in runs_of(part, protocol="undirected", seeds=1, epochs=4, width=2):
        settled = {"graph": "cora", "split": "80/10/10", "negatives": "uniform"}
        kind = {**run, **settled}
        if "adapt_every" in kind:
            kind |= {"adapt_every": 2, "try_for": min(2, kind["try_for"])}
        kinds[json.dumps(kind, sort_keys=True)] = kind
    for kind in kinds.values():
        result = json.loads(json.dumps(train_run(**kind), allow_nan=False))
        assert 4 <= result["epochs_trained"] <= result["planned"] == most_epochs(kind)
        assert 0 < result["test_auc"] < 1
        assert sum(epochs for epochs, _ in result["schedule"]) in (0, 4)


def test_complete_search_is_the_best_of_nine_fixed_runs() -> None:
    """So that the nine runs serve as a table of their own and none is trained twice."""
    settled: dict[str, Any] = {"graph": "cora", "split": "80/10/10", "epochs": 5, "width": 4}
    runs = [
        train_run(**settled, method="fixed", ratio=ratio / 10, seed=1) for ratio in range(1, 10)
    ]
    complete = train_run(**settled, method="complete", seed=1)
    best = max(runs, key=lambda run: run["val_auc"])
    for name in ("test_auc", "val_auc", "best_epoch"):
        assert best[name] == complete[name]
    assert complete["epochs_trained"] == sum(run["epochs_trained"] for run in runs)


@pytest.mark.parametrize(("part", "seeds"), [("nothing", 1), ("tables", 0)])
def test_bad_parts_and_seeds_are_refused(part: Any, seeds: int) -> None:
    with pytest.raises(SettingsError):
        runs_of(part, protocol="paper", seeds=seeds)


def reproduce(folder: Path, *more: str) -> int:
    """Run the command, on as little as there is."""
    options = ["--part", "quick", "--epochs", "3", "--width", "2", "--out", str(folder), *more]
    return main(options)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The folder of a reproduction by two workers, not to be changed, and what it printed."""
    folder = tmp_path_factory.mktemp("reproduced")
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert reproduce(folder, "--workers", "2") == 0
    return folder, out.getvalue(), err.getvalue()


def test_quick_gives_three_methods_and_a_report(reproduced: tuple[Path, str, str]) -> None:
    folder, out, err = reproduced
    for method in ("complete search", "random search", "AdaGrid"):
        assert method.lower() in out.lower()
    assert "11 of 11 runs" in err
    (where,) = folder.glob("undirected-quick-K2-o2-3-epochs")
    assert "<html" in (where / "report.html").read_text()
    command = "make reproduce PART=quick PROTOCOL=undirected OPTIONS='--width 2 --epochs 3'"
    assert f"| command | {command} |" in (where / "report.md").read_text()
    assert (where / "runs.csv").read_bytes() == (folder / "results.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO((folder / "results.csv").read_text())))
    assert len(rows) == 11


def test_one_and_two_workers_give_the_same_bytes(
    tmp_path: Path, reproduced: tuple[Path, str, str]
) -> None:
    assert reproduce(tmp_path, "--workers", "1", "--quiet") == 0
    assert (tmp_path / "results.csv").read_bytes() == (reproduced[0] / "results.csv").read_bytes()


def test_a_second_call_trains_nothing(tmp_path: Path, reproduced: tuple[Path, str, str]) -> None:
    folder = Path(shutil.copytree(reproduced[0], tmp_path / "copy"))
    before = (folder / "results.jsonl").read_bytes()
    assert reproduce(folder, "--quiet") == 0
    assert (folder / "results.jsonl").read_bytes() == before


def test_an_interrupted_command_tells_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.paper.program.run_campaign", interrupted)
    assert reproduce(tmp_path) == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_a_report_of_what_there_is_trains_nothing(
    tmp_path: Path, reproduced: tuple[Path, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(reproduced[0], tmp_path / "copy"))
    before = (folder / "results.jsonl").read_bytes()
    *lines, _ = before.splitlines(keepends=True)
    (folder / "results.jsonl").write_bytes(b"".join(lines))
    assert reproduce(folder, "--report", "--quiet") == 0
    assert "11 runs: 10 done, 1 missing" in capsys.readouterr().out
    assert (folder / "results.jsonl").read_bytes() == b"".join(lines)
    assert reproduce(tmp_path / "nowhere", "--report") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--part", "table"], "--part must be a known one, got 'table'; did you mean 'tables'"),
        (["--protocol", "papers"], "--protocol must be a known one, got 'papers'"),
        (
            ["--part", "quick", "--protocol", "published"],
            "--protocol published has the parts tables and fair, got quick",
        ),
        (["--seeds", "0"], "--seeds must be a whole number"),
        (["--epochs", "0"], "--epochs must be a whole number"),
        (["--workers", "0"], "workers must be a whole number"),
        (["--sed", "1"], "unknown argument '--sed'"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--out", str(tmp_path / "new"), *options]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert len([line for line in printed.splitlines() if line.startswith("error: ")]) == 1
    assert not (tmp_path / "new" / "results.jsonl").exists()
