"""The package as a whole: a helpful import that brings in no other framework."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dynhp
import dynhp_optuna


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    paths = [str(Path(module.__file__ or "").parent.parent) for module in (dynhp, dynhp_optuna)]
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"],
        capture_output=True,
        text=True,
    )


def test_without_optuna_the_import_says_what_to_install() -> None:
    done = run_python("sys.modules['optuna'] = None; import dynhp_optuna")
    assert done.returncode == 1
    assert "dynhp_optuna needs Optuna: pip install 'dynhp[optuna]'" in done.stderr


def test_importing_it_imports_no_other_framework() -> None:
    names = "{'torch', 'tensorboard', 'mlflow', 'wandb', 'ray', 'cmaes', 'sklearn', 'matplotlib'}"
    done = run_python(f"import dynhp_optuna; print({names} & set(sys.modules))")
    assert done.stdout.strip() == "set()", done.stderr
