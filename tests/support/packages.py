"""What the package of every integration promises: a helpful import, nothing of others, examples."""

from __future__ import annotations

import difflib
import doctest
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOOPS = ROOT / "examples" / "loops"
FRAMEWORKS = frozenset(
    [
        "gymnasium",
        "jax",
        "keras",
        "lightgbm",
        "lightning",
        "mlflow",
        "optax",
        "optuna",
        "ray",
        "sklearn",
        "tensorboard",
        "tensorflow",
        "torch",
        "torch_geometric",
        "transformers",
        "wandb",
        "xgboost",
    ]
)


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has imported nothing yet, but finds all packages of this tree."""
    paths = [str(ROOT), *map(str, sorted((ROOT / "integrations").iterdir()))]
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def check_says_what_to_install(package: str, missing: str, line: str) -> None:
    """Without a module that it needs, importing a package fails, and this line says the way out."""
    done = run_python(f"sys.modules[{missing!r}] = None; import {package}")
    assert done.returncode == 1
    assert f"ImportError: {line}" in done.stderr


def frameworks_of(package: str, *, after: str = "pass", **environment: str) -> set[str]:
    """The frameworks and integrations that a package brings, besides those that ``after`` has."""
    tops = "{name.partition('.')[0] for name in sys.modules}"
    code = f"{after}; before = {tops}; import {package}; print(*{tops} - before)"
    done = run_python(code, **environment)
    assert done.returncode == 0, done.stderr
    names = set(done.stdout.split())
    return {name for name in names if name in FRAMEWORKS or name.startswith("dynhp_")}


def check_examples(package: ModuleType) -> None:
    """Every public name has an example in its docstring."""
    finder = doctest.DocTestFinder(recurse=False)
    for name in package.__all__:
        thing = getattr(package, name)
        assert any(test.examples for test in finder.find(thing, name)), name


def changed_lines(name: str) -> int:
    """How many lines of an ordinary script differ from the one that is adapted."""
    plain, adapted = (_code_of(LOOPS / f"{name}{end}.py") for end in ("_plain", ""))
    codes = difflib.SequenceMatcher(None, plain, adapted).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in codes if tag != "equal")


def _code_of(path: Path) -> list[str]:
    """The lines that do something: those after the docstring that are not empty."""
    return [line for line in path.read_text().splitlines()[1:] if line.strip()]


def sources_of(name: str) -> tuple[str, str, str]:
    """An ordinary script, the same one with a dry run, and adapted."""
    plain, adapted = ((LOOPS / f"{name}{end}.py").read_text() for end in ("_plain", ""))
    assert adapted.count("adapt_every=") == 1
    return plain, adapted.replace("adapt_every=", "dry_run=True, adapt_every="), adapted


def run_script(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run a script in a folder, and give the file that it was asked to write."""
    script, out = folder / "script.py", folder / "saved.npz"
    script.write_text(source)
    monkeypatch.setattr(sys, "argv", [str(script), str(out)])
    monkeypatch.chdir(folder)
    runpy.run_path(str(script), run_name="__main__")
    return out
