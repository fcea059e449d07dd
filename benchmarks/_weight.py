"""What the package weighs: the time to import it, the size of its files, what it depends on."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from _facts import ROOT, Row
from _versions import environment

__all__ = ["import_seconds", "rows"]

_INTERPRETERS = 20
_INSTALLED = 1.56  # MB: no heavier than the files of Optuna 5.0.0, which most would take instead


def rows() -> list[Row]:
    """Import time and wheel."""
    return [*_import_times(), *_wheel()]


def _import_times() -> list[Row]:
    what = "import dynhp against import numpy"
    statements = {
        what: "import numpy, dynhp",
        f"{what}, with DynamicGridAdapter": "import numpy; from dynhp import DynamicGridAdapter",
        f"{what}, with adapt": "import numpy; from dynhp import adapt",
        f"{what}, all names": "import numpy; from dynhp import *",
    }
    times: dict[str, list[tuple[float, float]]] = {"import numpy": []}
    times |= {statement: [] for statement in statements.values()}
    with tempfile.TemporaryDirectory() as bytecode:
        import_seconds(statements[f"{what}, all names"], bytecode)  # compiles, as pip does
        for _ in range(_INTERPRETERS):
            for statement in times:
                times[statement].append(import_seconds(statement, bytecode))
    fastest = {
        statement: [min(column) * 1e3 for column in zip(*each, strict=True)]
        for statement, each in times.items()
    }
    numpy_clock, numpy_work = fastest["import numpy"]
    rows = []
    for name, statement in statements.items():
        clock, work = fastest[statement]
        note = (
            f"processor time, fastest of {_INTERPRETERS} fresh interpreters: "
            f"{work - numpy_work:.0f} and {numpy_work:.0f} ms; by the clock "
            f"{clock - numpy_clock:.0f} and {numpy_clock:.0f} ms"
        )
        limit = None if name.endswith("all names") else 0.5
        rows.append(Row(name, (work - numpy_work) / numpy_work, "x", limit, note))
    return rows


def import_seconds(statement: str, bytecode: str, tree: Path = ROOT) -> tuple[float, float]:
    """How long it takes in a fresh interpreter: by the clock, and of the main thread's work."""
    code = (
        "from time import perf_counter, thread_time; clock, work = perf_counter(), thread_time(); "
        f"{statement}; print(perf_counter() - clock, thread_time() - work)"
    )
    variables = environment(tree, PYTHONPYCACHEPREFIX=bytecode)
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    clock, work = map(float, done.stdout.split())
    return clock, work


def _wheel() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if built.returncode:
            reason = (built.stderr or built.stdout).strip().splitlines()[-1]
            return [Row("wheel", float("nan"), "MB", 0, f"not built: {reason}")]
        (wheel,) = Path(folder).glob("*.whl")
        return _weigh(wheel)


def _weigh(wheel: Path) -> list[Row]:
    with zipfile.ZipFile(wheel) as archive:
        files = archive.infolist()
        (metadata,) = (each for each in files if each.filename.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(archive.read(metadata).decode())
    core = sum(each.file_size for each in files if not each.filename.startswith("dynhp_"))
    data = sum(each.compress_size for each in files if "/data/" in each.filename)
    needed = [line for line in headers.get_all("Requires-Dist", []) if "extra ==" not in line]
    others = [line for line in needed if not line.startswith("numpy")]
    size = wheel.stat().st_size
    return [
        Row("installed, without integrations", core / 1e6, "MB", _INSTALLED, "as Optuna's files"),
        Row("wheel, as it is downloaded", size / 1e6, "MB", None,
            f"{len(files)} files, all integrations; of it data {data / 1e6:.2f} MB"),
        Row("dependencies besides numpy", len(others), "", 0, f"needs {', '.join(needed)}"),
    ]  # fmt: skip
