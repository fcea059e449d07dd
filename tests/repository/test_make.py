"""What ``make`` sets up: what the demo needs, the rest with the tests, and torch as asked for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CPU = "https://wheels.example/cpu"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def planned(folder: Path, *arguments: str) -> str:
    """What make would do with an environment in this folder."""
    command = ["make", "--dry-run", "--no-print-directory", f"VENV={folder}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_demo_installs_neither_ray_nor_tools(tmp_path: Path) -> None:
    plan = planned(tmp_path, "demo")
    assert '--editable ".[pyg]"' in plan
    assert "--group" not in plan
    assert "ray" not in plan.replace("array", "")
    assert "dynhp linkpred train" in plan


def test_after_the_demo_the_tests_complete_the_same_environment(tmp_path: Path) -> None:
    (tmp_path / ".ready-demo").touch()
    assert "pip install" not in planned(tmp_path, "demo")
    plan = planned(tmp_path, "lint")
    assert ",ray," in plan
    assert ",xgboost" not in plan, "it is 700 MB; the group test has xgboost-cpu"
    assert "--group test --group lint --group docs" in plan


def test_after_the_tests_the_demo_installs_nothing(tmp_path: Path) -> None:
    (tmp_path / ".ready").touch()
    assert "pip install" not in planned(tmp_path, "demo")
    assert "pip install" not in planned(tmp_path, "lint")


@pytest.mark.parametrize("target", ["demo", "setup"])
def test_the_cpu_build_of_torch_is_taken_where_it_is_asked_for(tmp_path: Path, target: str) -> None:
    assert "--extra-index-url" not in planned(tmp_path, target)
    assert f"--extra-index-url {CPU} torch" in planned(tmp_path, target, f"TORCH_INDEX={CPU}")
    for page in ("README.md", "Makefile", "constraints.txt"):
        assert "TORCH_INDEX=" in (ROOT / page).read_text(encoding="utf-8")


def test_only_the_whole_arena_installs_what_it_compares_with(tmp_path: Path) -> None:
    (tmp_path / ".ready").touch()
    small, whole = planned(tmp_path, "arena"), planned(tmp_path, "arena-full")
    assert "pip install" not in small
    assert "--group arena" in whole
    assert whole.index("--plan") < whole.index("nohup"), "it says what it costs before it starts"


def test_the_papers_reproduction_is_one_command_and_needs_little(tmp_path: Path) -> None:
    plan = planned(tmp_path, "reproduce", "PART=headline", "PROTOCOL=paper", "OPTIONS=--seeds 2")
    assert plan.index('--editable ".[pyg]"') < plan.index(
        '--editable ".[pyg,igraph]" --group paper'
    )
    assert "--group test" not in plan
    assert plan.endswith(" -m benchmarks.paper --part headline --protocol paper --seeds 2\n")
    (tmp_path / ".ready").touch()
    plan = planned(tmp_path, "reproduce")
    assert "pip install" not in plan
    assert plan.endswith("/bin/python -m benchmarks.paper\n")


def test_every_version_that_is_installed_is_pinned() -> None:
    """Setuptools too, which torch brings."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("setuptools==") for line in lines)
