"""Ledgers are read whatever the task was called then, and give the committed reports again."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.paper.program import main

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[2] / "docs" / "results"


def test_an_old_reproduction_is_gone_on_with_to_the_same_table(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HERE / "old_ledger", tmp_path / "copy"))
    before = (folder / "results.jsonl").read_bytes()
    assert before.startswith(
        b'{"event":"campaign","version":1,"function":"dynhp_pyg.reproduction.one:one"}\n'
    )
    options = ["--part", "quick", "--epochs", "3", "--width", "2", "--workers", "1", "--quiet"]
    assert main([*options, "--out", str(folder)]) == 0
    after = (folder / "results.jsonl").read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == 1 + 11  # nothing was trained again
    made_with = json.loads((folder / "machine.json").read_text())
    cpu = torch.backends.cpu.get_cpu_capability()
    here = {"torch": torch.__version__, "numpy": np.__version__, "cpu": cpu}
    if here != made_with:  # others add up in another order, so the last bits are others
        pytest.skip(f"the bits were made with {made_with}, here is {here}")
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
    assert main([*options, "--out", str(tmp_path)]) == 0
    committed = {path.name: path.read_bytes() for path in (RESULTS / folder).iterdir()}
    made_again = {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
    assert made_again.pop("report.html")
    assert sorted(made_again) == sorted(committed)
    for name, data in committed.items():
        assert made_again[name] == data, name
