"""``dynhp linkpred`` through ``dynhp.cli.main``: output, files, repeatability."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shlex
import subprocess
import sys
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dynhp import errors
from dynhp.cli.main import main
from dynhp.planning import Schedule
from dynhp_pyg import load_graph
from dynhp_pyg.cli import train as train_module
from dynhp_pyg.runs.example import tiny_graph
from dynhp_pyg.runs.run import LinkRun, run

METHODS = ("adagrid", "neighbors", "interpolation", "complete", "random", "fixed", "placebo")
TINY = ["--epochs", "6", "--adapt-every", "3", "--width", "4", "--split", "60/20/20"]
FILES = {"results.json", "results.csv", "seconds.json"}


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "tiny.npz"
    np.savez(path, edge_index=tiny_graph().edges, num_nodes=60)
    return str(path)


def train(graph: str, *more: str) -> int:
    return main(["linkpred", "train", "--graph", graph, *TINY, *more])


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("method", METHODS)
def test_files_say_what_the_records_say(method: str, graph: str, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert train(graph, "--method", method, "--seeds", "2", "--out", str(out), "--quiet") == 0
    settings = {"graph": "tiny", "split": (0.6, 0.2, 0.2), "epochs": 6, "adapt_every": 3}
    results = [
        run(LinkRun(**settings, width=4, method=method, seed=seed), graph=load_graph(graph))  # type: ignore[arg-type]
        for seed in (0, 1)
    ]
    document = json.loads((out / "results.json").read_text())
    rows = rows_of((out / "results.csv").read_text())
    for seed, (result, plain, row) in enumerate(zip(results, document["runs"], rows, strict=True)):
        for name in ("test_auc", "test_ap", "val_auc"):
            assert getattr(result, name) == plain[name] == float(row[name])
        assert seed == plain["seed"] == int(row["seed"])
        assert result.epoch == plain["epoch"] == int(row["best_epoch"])
        assert result.cost.total == int(row["epochs_trained"])
        assert result.cost.overhead == plain["cost"]["overhead"]
        assert result.plan.most.total == int(row["planned_most"])
        assert plain["audit"]["reverse_test"] == 0 == int(row["leaks"])
        text = (out / f"schedule-{seed}.json").read_text()
        assert Schedule.from_json(text) == result.schedule
        assert json.loads(text) == plain["schedule"]
        assert f"{100 * result.test_auc:.2f}" in (out / f"report-{seed}.html").read_text()
    assert document["settings"]["method"] == method == rows[0]["method"]
    aucs = [result.test_auc for result in results]
    mean = document["means"]["test_auc"]
    assert mean["mean"] == pytest.approx(np.mean(aucs))
    half_width = stats.t.ppf(0.975, 1) * np.std(aucs, ddof=1) / np.sqrt(2)
    assert mean["half_width_95"] == pytest.approx(half_width)
    seconds = json.loads((out / "seconds.json").read_text())["runs"]
    assert [each["seed"] for each in seconds] == [0, 1]
    assert all(each["seconds"] > 0 for each in seconds)
    expected = FILES | {"schedule-0.json", "schedule-1.json", "report-0.html", "report-1.html"}
    assert {path.name for path in out.iterdir()} == expected


def test_the_same_command_writes_the_same_bytes(graph: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert train(graph, "--seeds", "2", "--quiet", "--out", str(tmp_path / name)) == 0
    for file in ("results.json", "results.csv", "schedule-0.json", "schedule-1.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_quiet_prints_nothing_but_the_table(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(graph, "--seeds", "2", "--quiet") == 0
    printed, complaints = capsys.readouterr()
    assert complaints == ""
    lines = printed.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("tiny 60/20/20, undirected, uniform negatives, 2 layers of 4")
    assert lines[1].split("  ")[0] == "seed"
    assert [line.split()[0] for line in lines[2:5]] == ["0", "1", "mean"]
    assert lines[5].split()[:2] == ["95", "%"]
    first, second, mean = (float(line.split()[1]) for line in lines[2:5])
    assert mean == pytest.approx((first + second) / 2, abs=0.011)
    half_width = 12.7062 * abs(first - second) / 2
    assert float(lines[5].split()[2].lstrip("±")) == pytest.approx(half_width, abs=0.15)


def test_a_talkative_run(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(graph, "--seeds", "1", "--adapt", "dropout", "--criterion", "gap") == 0
    printed, messages = capsys.readouterr()
    assert "cost: 2.33 runs for seed 0 (14 epochs, planned 14)" in printed
    assert "schedule of seed 0:\ndropout\n0.6 ┤" in printed
    assert "one seed says nothing about luck" in printed
    assert "written" not in printed
    assert "plan for each seed: 6 epochs on the main line + 8 overhead = 14" in messages
    assert re.search(
        r"^seed 0: .*dropout=.*cost 14 of 14 epochs, 2\.33 runs, done in", messages, re.M
    )


@pytest.mark.parametrize("method", ["adagrid", "fixed"])
def test_the_end_says_where_the_report_is_and_what_it_shows(
    method: str, graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(graph, "--method", method, "--out", str(tmp_path / "out")) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    report = tmp_path / "out" / "report-0.html"
    assert report.exists()
    assert last.startswith(f"open {report} in a browser: it shows ")
    assert ("luck" in last) == (method == "adagrid")


def test_hints_come_once_for_all_seeds(graph: str) -> None:
    """From outside, as warnings are shown there: once each, whoever passes them on."""
    command = [sys.executable, "-m", "dynhp", "linkpred", "train", "--graph", graph, *TINY]
    more = ["--seeds", "2", "--adapt", "dropout", "--criterion", "gap"]
    messages = subprocess.run([*command, *more], capture_output=True, text=True).stderr
    hints = [line for line in messages.splitlines() if line.startswith("hint: ")]
    assert [hint.split(maxsplit=2)[1] for hint in hints] == ["dropout:", "smallest_gap"]
    for hint in hints:
        assert messages.count(hint.removeprefix("hint: ")) == 1
    assert messages.count("plan for each seed") == 1
    assert re.search("^seed 1: .*cost 14 of 14 epochs", messages, re.M)


def test_a_run_that_chooses_nothing_gets_no_hints(
    graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_given", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert train(graph, "--seeds", "1", "--method", "placebo") == 0
        assert not [each for each in caught if "with a placebo" in str(each.message)]
        monkeypatch.setattr(errors, "_given", set())
        assert train(graph, "--seeds", "1") == 0
    assert len([each for each in caught if "with a placebo" in str(each.message)]) == 1


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_the_leak_is_told_always(
    graph: str, quiet: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--protocol", "paper", "--method", "fixed", "--seeds", "1", *quiet]
    assert train(graph, *more) == 0
    printed = capsys.readouterr().out
    assert printed.count("protocol 'paper' leaks") == 1
    assert train(graph, "--method", "fixed", "--seeds", "1", *quiet) == 0
    assert "leak" not in capsys.readouterr().out


def test_bundled_cora_and_its_audit(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["--epochs", "2", "--adapt-every", "2", "--width", "4", "--seeds", "1", "--quiet"]
    assert main(["linkpred", "train", "--dataset", "cora", "--method", "fixed", *tiny]) == 0
    assert capsys.readouterr().out.startswith("cora 80/10/10, undirected")
    assert main(["linkpred", "audit", "--dataset", "cora", "--protocol", "paper"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("audit of a 'paper' split: ")
    share = float(printed.split("reverse test share ")[1].split("%")[0])
    assert 88 < share < 92
    assert "use it only to compare with the paper's tables" in printed
    assert main(["linkpred", "audit", "--dataset", "cora"]) == 0
    clean = capsys.readouterr().out
    assert clean.startswith("audit of a 'undirected' split: 0 leaks")
    assert "use it only" not in clean


def test_nothing_is_written_without_out(
    graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    assert train(graph, "--seeds", "1", "--method", "fixed") == 0
    assert list(home.iterdir()) == []


def test_out_that_cannot_be_written_is_refused_before_training(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert train(graph, "--out", str(out)) == 2
        printed, messages = capsys.readouterr()
        assert printed == ""
        assert messages.startswith(
            "dynhp: error: results need a folder that can be written to, got "
        )
        assert len(messages.splitlines()) == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_that_fails_leaves_the_old_files_whole(
    graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert train(graph, "--seeds", "1", "--method", "fixed", "--out", str(out)) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    write, calls = Path.write_bytes, []

    def full(path: Path, data: bytes) -> int:
        calls.append(path)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert train(graph, "--seeds", "1", "--method", "random", "--out", str(out)) == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_interrupt_writes_nothing(
    graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(train_module, "_trained", stop)
    assert train(graph, "--out", str(tmp_path / "out")) == 130
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_named_with_its_install_line(
    graph: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ImportError("No module named 'torch'")

    monkeypatch.setattr(train_module, "_trained", missing)
    assert train(graph) == 2
    assert "run `pip install 'dynhp[pyg]'`" in capsys.readouterr().err


def test_training_is_shown_unless_quiet_and_as_asked(
    graph: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"": True, "--quiet": False, "--no-progress": False, "--quiet --progress": True}
    for options, shown in asked.items():
        assert train(graph, "--method", "fixed", "--seeds", "1", *options.split()) == 0
        assert ("seed 0: epoch 6/6" in capsys.readouterr().err) is shown, options


def test_a_report_says_how_its_run_is_repeated(graph: str, tmp_path: Path) -> None:
    assert train(graph, "--seeds", "2", "--adapt", "dropout", "--out", str(tmp_path / "out")) == 0
    pages = [(tmp_path / "out" / f"report-{seed}.html").read_text() for seed in (0, 1)]
    command = f"dynhp linkpred train --graph {graph} {' '.join(TINY)} --adapt dropout --seeds 2"
    for seed, page in enumerate(pages):
        assert "<h2>To repeat it</h2>" in page
        shown = html.unescape(re.search('<pre class="command">(.*?)</pre>', page)[1])  # type: ignore[index]
        assert sorted(shown.split()) == sorted(command.split())
        assert f"<tr><th>seed</th><td>{seed}</td></tr>" in page
        assert f", torch {metadata.version('torch')}" in page
        for name in ("criterion", "space", "ratio", "protocol", "layers"):
            assert f"<tr><th>{name}</th>" in page
    again = shlex.split(shown)[1:]
    assert main([*again, "--out", str(tmp_path / "again"), "--quiet"]) == 0
    assert (tmp_path / "again" / "report-1.html").read_text() == pages[1]


def test_the_help_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["linkpred", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "train, adapt, report" in shown
    assert "reproduce" not in shown
