"""Runs the fast tests of the core with the oldest numpy declared, on every Python that is here.

Run as ``python scripts/test_oldest.py``, or with the versions of Python that are wanted. Each has a
virtual environment of its own in ``build/oldest``; a Python that is not here is said, and left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# The first numpy that there is for a Python, where the oldest declared is older than that.
FIRST_NUMPY = {"3.12": "1.26.0", "3.13": "2.1.0"}
TOOLS = ("hypothesis>=6.100", "pytest>=8", "pytest-timeout>=2.3", "pytest-xdist>=3.5", "sybil>=9")
# As ``make pytest`` does first, and what is saved: that is where versions of numpy differ.
SLOW = ("executors", "campaign", "repository", "storage/test_bad_disks.py")


def main() -> int:
    """Test on all of them, and say how each ended."""
    results = {version: _tested(version) for version in sys.argv[1:] or PYTHONS}
    for version, result in results.items():
        print(f"Python {version}: {result}")
    return 1 if any("failed" in result for result in results.values()) else 0


def _tested(version: str) -> str:
    python = _interpreter(version)
    if python is None:
        return "not here, left out"
    numpy = FIRST_NUMPY.get(version, _declared())
    tests = [f"--ignore=tests/{name}" for name in SLOW]
    command = [_environment(python, version, numpy), "-m", "pytest", "-q", "-n", "2", "tests"]
    done = subprocess.run(
        [*command, "dynhp", "--doctest-modules", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return f"numpy {numpy}, {'failed' if done.returncode else 'passed'}"


def _declared() -> str:
    (oldest,) = re.findall(r'"numpy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    return str(oldest)


def _interpreter(version: str) -> str | None:
    """The Python of this version that is on the path, if it can be started."""
    for name in (f"python{version}", "python3", sys.executable):
        path = shutil.which(name)
        if path and _output(path, "import sys; print('%d.%d' % sys.version_info[:2])") == version:
            return path
    return None


def _output(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def _environment(python: str, version: str, numpy: str) -> str:
    """The Python of a virtual environment with this numpy, made where it is not there yet."""
    place = ROOT / "build" / "oldest" / f"{version}-{numpy}"
    inside = str(place / ("Scripts" if os.name == "nt" else "bin") / "python")
    code = "import numpy, pytest, hypothesis, sybil, xdist; print(numpy.__version__)"
    if not Path(inside).exists() or _output(inside, code) != numpy:
        subprocess.run([python, "-m", "venv", "--clear", place], check=True)
        pip = [inside, "-m", "pip", "install", "--quiet", "--only-binary=numpy"]
        subprocess.run([*pip, f"numpy=={numpy}", *TOOLS], check=True)
    return inside


if __name__ == "__main__":
    sys.exit(main())
