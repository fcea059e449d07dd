"""What does not reproduce the paper loads nothing of the reproduction, nor what only it needs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
def none_loaded(after):
    names = [name + "." for name in sys.modules]
    loaded = [name for name in names if name.startswith(("dynhp_pyg.paper.", "jinja2."))]
    assert not loaded, (after, loaded)
{program}
"""
COMMANDS = """
import dynhp_pyg
for name in dynhp_pyg.__all__: getattr(dynhp_pyg, name)
none_loaded("import")
import contextlib, io
from dynhp.cli.main import main
for arguments in {commands!r}:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            assert main(["linkpred", *arguments]) == 0
        except SystemExit as end:
            assert end.code == 0
    assert printed.getvalue(), arguments
    none_loaded(arguments)
    print(*arguments)
"""
TINY = ["--dataset", "cora", "--epochs", "2", "--adapt-every", "2", "--width", "2", "--quiet"]
COMMANDS_TO_TRY = [
    ["train", "--help"],
    ["reproduce", "--help"],
    ["train", *TINY],
    ["audit", "--dataset", "cora"],
]


def run_elsewhere(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter that has loaded nothing yet."""
    command = [sys.executable, "-c", PROGRAM.format(program=program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_importing_the_package_and_other_commands_load_no_reproduction() -> None:
    done = run_elsewhere(COMMANDS.format(commands=COMMANDS_TO_TRY))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [" ".join(arguments) for arguments in COMMANDS_TO_TRY]


def test_the_check_itself_notices_what_is_loaded() -> None:
    done = run_elsewhere("import dynhp_pyg.paper.report\nnone_loaded('import')")
    assert done.returncode == 1
    for name in ("dynhp_pyg.paper.report", "jinja2"):
        assert f"'{name}." in done.stderr
