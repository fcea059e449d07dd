"""Runs tests with the oldest versions declared: numpy for the core, frameworks for integrations.

Run as ``python scripts/test_oldest.py``, it runs the core's fast tests on every Python that is
here. Names ask for less or more: ``3.12 jax keras`` is the core on one Python, and the tests of two
integrations. Each has a virtual environment of its own in ``build/oldest``; a Python that is not
here is said, and left out. Old builds of torch for CPUs come from torch's own page, whose address
is given as ``TORCH_INDEX``; without it the torch of ``constraints.txt`` is taken.
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
TOOLS = ("hypothesis>=6.100", "pytest>=8", "pytest-xdist>=3.5", "sybil>=9")
# What the core shows pictures with, where it is there; it is not asked to be old.
SHOWN_WITH = ("matplotlib>=3.8", "rich>=13")
# As ``make pytest`` does first, and what is saved: that is where versions of numpy differ.
SLOW = ("executors", "campaign", "repository", "storage/test_bad_disks.py")
# What tests of an integration need beside its extra: both backends, and what they look at it with.
BESIDE = {
    "keras": ["torch", "jax"],
    "lightgbm": ["scikit-learn"],
    "optuna": ["torch", "scipy", "matplotlib", "scikit-learn"],
    "torch": ["torchdata", "scikit-learn"],
    "xgboost": ["scikit-learn"],
}


def main() -> int:
    """Test all that is asked for, and say how each ended."""
    asked = sys.argv[1:] or list(PYTHONS)
    known = {path.name for path in (ROOT / "integrations").iterdir()}
    unknown = [name for name in asked if name not in known and not re.fullmatch(r"3\.\d+", name)]
    if unknown:
        print(f"{unknown[0]!r} is neither a Python nor one of {', '.join(sorted(known))}")
        return 2
    results = {
        name: _integration_tested(name) if name in known else _tested(name) for name in asked
    }
    for name, result in results.items():
        print(f"{name if name in known else f'Python {name}'}: {result}")
    return 1 if any("failed" in result for result in results.values()) else 0


def _integration_tested(name: str) -> str:
    """Its tests, not its pages, with the versions that its extra begins with."""
    oldest = _oldest(name)
    rest = sorted({*BESIDE.get(name, ()), "numpy"} - {each.partition("=")[0] for each in oldest})
    place = ROOT / "build" / "oldest" / name
    inside = str(place / ("Scripts" if os.name == "nt" else "bin") / "python")
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    pip = [inside, "-m", "pip", "install", "--quiet", "--no-compile", *_torch_index()]
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    done = subprocess.run([*pip, *oldest, *map(_pinned_torch, rest), *TOOLS])
    if done.returncode:
        return f"failed: pip cannot install {' '.join(oldest)} together"
    sources = [ROOT, ROOT / "integrations" / "torch", ROOT / "integrations" / name]
    done = subprocess.run(
        # Warnings are those of old versions about newer ones beside them.
        [inside, "-m", "pytest", "-q", f"integrations/{name}/tests", "-p", "no:cacheprovider",
         "-o", "filterwarnings=default", "-k", "not every_public_name_has_an_example"],
        cwd=ROOT,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "MESSAGES": "ignore",  # parts of them are written by Python and frameworks
            "PYTHONPATH": os.pathsep.join(map(str, sources)),
        },
    )  # fmt: skip
    return f"{' '.join(oldest)}, {'failed' if done.returncode else 'passed'}"


def _oldest(name: str) -> list[str]:
    """The requirements of an extra, each at the version that it begins with."""
    text = (ROOT / "pyproject.toml").read_text()
    (listed,) = re.findall(rf"^optional-dependencies\.{name} = \[(.*?)\]", text, re.M | re.S)
    requirements = re.findall(r'"([\w.-]+)>=([\w.]+)"', listed)
    return [
        _pinned_torch(package) if package == "torch" else f"{package}=={version}"
        for package, version in requirements
    ]


def _pinned_torch(package: str) -> str:
    """The requirement of a package, which is exact for torch: no build for GPUs is wanted."""
    if package != "torch":
        return package
    if "TORCH_INDEX" in os.environ:
        (version,) = set(re.findall(r'"torch>=([\d.]+)"', (ROOT / "pyproject.toml").read_text()))
    else:
        (version,) = re.findall(r"^torch==(\S+)", (ROOT / "constraints.txt").read_text(), re.M)
    return f"torch=={version}"


def _torch_index() -> list[str]:
    address = os.environ.get("TORCH_INDEX")
    return ["--extra-index-url", address] if address else []


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
        env={**os.environ, "OMP_NUM_THREADS": "1", "MESSAGES": "ignore"},
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
    code = (
        "import numpy, pytest, hypothesis, sybil, xdist, matplotlib, rich; print(numpy.__version__)"
    )
    if not Path(inside).exists() or not f"{_output(inside, code)}.".startswith(f"{numpy}."):
        subprocess.run([python, "-m", "venv", "--clear", place], check=True)
        pip = [inside, "-m", "pip", "install", "--quiet", "--only-binary=numpy"]
        subprocess.run([*pip, f"numpy=={numpy}", *TOOLS, *SHOWN_WITH], check=True)
    return inside


if __name__ == "__main__":
    sys.exit(main())
