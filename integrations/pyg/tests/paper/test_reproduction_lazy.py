"""What does not reproduce the paper loads nothing of the reproduction, nor what only it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
{program}
loaded = [name for name in sys.modules if (name + ".").startswith(("dynhp_pyg.paper.", "jinja2."))]
assert not loaded, loaded
"""
COMMAND = """
from dynhp.cli.main import main
try:
    assert main({arguments!r}) == 0
except SystemExit as end:
    assert end.code == 0
"""
TINY = ["--dataset", "cora", "--epochs", "2", "--adapt-every", "2", "--width", "2", "--quiet"]


def run_elsewhere(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter that has loaded nothing yet."""
    command = [sys.executable, "-c", PROGRAM.format(program=program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_importing_the_package_loads_no_reproduction() -> None:
    done = run_elsewhere(
        "import dynhp_pyg\nfor name in dynhp_pyg.__all__: getattr(dynhp_pyg, name)"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--help"],
        ["reproduce", "--help"],
        ["train", *TINY],
        ["audit", "--dataset", "cora"],
    ],
    ids=["help", "help of reproduce", "train", "audit"],
)
def test_other_commands_load_no_reproduction(arguments: list[str]) -> None:
    done = run_elsewhere(COMMAND.format(arguments=["linkpred", *arguments]))
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_check_itself_notices_what_is_loaded() -> None:
    done = run_elsewhere("import dynhp_pyg.paper.report")
    assert done.returncode == 1
    for name in ("dynhp_pyg.paper.report", "jinja2"):
        assert f"'{name}'" in done.stderr
