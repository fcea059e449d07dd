"""Link prediction's files of before the modules moved are read, and its runs end bit for bit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dynhp import DynamicGridAdapter, highest
from dynhp.cli.main import main
from dynhp.planning.schedule import Schedule, replay
from dynhp.storage.codecs import decode, encode
from dynhp_pyg.runs.example import example
from tests.support.killing import MortalTrainer
from tests.support.old_files import OLD, copied, digest, end_after, end_of, gone_on_with
from tests.support.old_runs import EPOCHS

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results"
ARCHIVES = sorted((OLD / "pyg").rglob("*.zip"))


def made() -> DynamicGridAdapter:
    make, space = example()
    return DynamicGridAdapter(
        MortalTrainer(make()),
        space,
        criterion=highest("val_auc"),
        adapt_every=4,
        try_for=1,
        check="off",  # that run knew of none
    )


def require_the_same_machine(before: Any) -> None:
    """Other versions and processors add up in another order, so the last bits are others."""
    cpu = torch.backends.cpu.get_cpu_capability()
    here = {"torch": torch.__version__, "numpy": np.__version__, "cpu": cpu}
    if here != before:
        pytest.skip(f"the bits were made with {before}, here is {here}")


# Checkpoints


@pytest.mark.parametrize("where", ["between", "middle"])
def test_an_old_checkpoint_is_gone_on_with_to_the_same_end(where: str, tmp_path: Path) -> None:
    end, expected = gone_on_with("pyg", where, made(), tmp_path), end_after("pyg", where)
    assert end["history"][:2] == expected["history"][:2]
    assert end["calls"] == expected["calls"]
    require_the_same_machine(end_of("pyg")["machine"])
    assert end == expected


def test_an_old_schedule_is_replayed_to_the_same_weights() -> None:
    schedule = Schedule.from_json((OLD / "pyg" / "schedule.json").read_text())
    trainer = made().trainer
    assert replay(schedule, trainer).epochs == EPOCHS
    require_the_same_machine(end_of("pyg")["machine"])
    assert digest(trainer.get_state()) == end_of("pyg")["replayed"]


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_archive_is_written_again_to_the_last_byte(path: Path) -> None:
    data = path.read_bytes()
    assert encode(decode(data)) == data


# Ledgers, whose headers name the task as it was called then


def test_an_old_reproduction_is_gone_on_with_to_the_same_table(tmp_path: Path) -> None:
    folder = copied("reproduction", tmp_path)
    before = (folder / "results.jsonl").read_bytes()
    assert before.startswith(
        b'{"event":"campaign","version":1,"function":"dynhp_pyg.reproduction.one:one"}\n'
    )
    options = ["--quick", "--epochs", "3", "--width", "2", "--workers", "1", "--quiet"]
    assert main(["linkpred", "reproduce", *options, "--out", str(folder)]) == 0
    after = (folder / "results.jsonl").read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == 1 + 11  # nothing was trained again
    require_the_same_machine(json.loads((folder / "machine.json").read_text()))
    assert (folder / "results.csv").read_bytes() == (folder / "expected.csv").read_bytes()


@pytest.mark.parametrize(
    ("protocol", "part", "ledger", "folder"),
    [
        ("paper", "headline", "paper", "paper-headline"),
        ("paper", "tables", "paper", "paper-tables"),
        ("undirected", "headline", "undirected", "undirected-headline"),
        ("undirected", "tables", "undirected", "undirected-tables"),
        ("undirected", "variants", "undirected", "undirected-variants"),
        ("published", "tables", "published", "published"),
        ("paper", "fair", "published", "paper-fair"),
        ("undirected", "fair", "undirected-fair", "undirected-fair"),
    ],
)
def test_the_committed_ledgers_give_the_committed_reports_to_the_last_byte(
    protocol: str, part: str, ledger: str, folder: str, tmp_path: Path
) -> None:
    (tmp_path / "results.jsonl").write_bytes(
        gzip.decompress((RESULTS / f"{ledger}.jsonl.gz").read_bytes())
    )
    options = ["--protocol", protocol, "--part", part, "--report", "--quiet"]
    assert main(["linkpred", "reproduce", *options, "--out", str(tmp_path)]) == 0
    committed = {path.name: path.read_bytes() for path in (RESULTS / folder).iterdir()}
    made_again = {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
    assert made_again.pop("report.html")
    assert sorted(made_again) == sorted(committed)
    for name, data in committed.items():
        assert made_again[name] == data, name
