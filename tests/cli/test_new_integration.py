"""``dynhp new-integration``: what it writes fails until filled in, and is found once installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from dynhp.cli.new_integration import plug_in
from dynhp.testing import LAWS
from dynhp.testing.toys.quadratic import example

Run = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).resolve().parents[2]
THIRD_PARTY = ROOT / "tests" / "fixtures" / "third_party_plugin"
FILLED_IN = ("dynhp_numpy/trainer.py", "README.md")


def files_in(folder: Path) -> dict[str, str]:
    files = (
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    )
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def python(*arguments: str, cwd: Path, path: str = "") -> subprocess.CompletedProcess[str]:
    """Python in a folder, with dynhp as it is here and what ``path`` adds to it."""
    places = os.pathsep.join(filter(None, (path, str(ROOT))))
    environment = {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_a_distribution_of_its_own(run: Run, tmp_path: Path) -> None:
    code, out, err = run("new-integration", "acme_lab")
    assert (code, err) == (0, "")
    written = files_in(tmp_path / "dynhp-acme-lab")
    assert written == plug_in("acme_lab")
    assert 'acme_lab = "dynhp_acme_lab.example:example"' in written["pyproject.toml"]
    assert 'acme_lab = "dynhp_acme_lab"' in written["pyproject.toml"]
    assert "register_integration(" in written["dynhp_acme_lab/__init__.py"]
    assert "class AcmeLabTrainer:" in written["dynhp_acme_lab/trainer.py"]
    assert "pip install 'dynhp-acme-lab'" in written["dynhp_acme_lab/__init__.py"]
    assert out.startswith("wrote dynhp-acme-lab: README.md, pyproject.toml, dynhp_acme_lab/")
    assert "dynhp check acme_lab" in out
    assert sorted(os.listdir(tmp_path)) == ["dynhp-acme-lab", "mine.py", "wrong.py"]


def test_every_file_of_python_can_be_read_and_nothing_is_left_to_be_replaced() -> None:
    for path, text in plug_in("acme_lab").items():
        assert "$" not in text, path
        if path.endswith(".py"):
            compile(text, path, "exec")


def test_an_integration_of_dynhp_itself(run: Run, tmp_path: Path) -> None:
    (tmp_path / "integrations").mkdir()
    (tmp_path / "dynhp").mkdir()
    (tmp_path / "dynhp" / "adapter.py").touch()
    code, out, _ = run("new-integration", "acme")
    assert code == 0
    written = files_in(tmp_path / "integrations" / "acme")
    assert "pyproject.toml" not in written
    assert "pip install 'dynhp[acme]'" in written["dynhp_acme/__init__.py"]
    assert 'entry-points."dynhp.trainers".acme = "dynhp_acme.example:example"' in out
    assert 'entry-points."dynhp.integrations".acme = "dynhp_acme"' in out


def test_an_empty_folder_will_do_and_a_folder_named_integrations_is_not_enough(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "integrations" / "mine").mkdir(parents=True)
    assert run("new-integration", "acme", "--into", "integrations/mine")[0] == 0
    assert "pyproject.toml" in files_in(tmp_path / "integrations" / "mine")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-Lib", "in small letters, digits and _, got 'My-Lib'; 'my_lib' would do"),
        ("3d", "got '3d'; 'd' would do"),
        ("class", "got 'class'\n"),
        ("../up", "got '../up'; 'up' would do"),
        ("été", "got 'été'"),
        ("a__b", "got 'a__b'; 'a_b' would do"),
        ("", "got ''"),
        ("x" * 5000 + "!", "(5003 characters)"),
        ("toy", "there is an integration 'toy' already, 'somewhere:something'"),
        ("here", "there is a package dynhp_here already"),
    ],
)
def test_names_that_cannot_work(
    run: Run, install: Callable[..., None], tmp_path: Path, name: str, message: str
) -> None:
    install("dynhp.trainers", toy=example)
    sys.path.insert(0, str(tmp_path))
    (tmp_path / "dynhp_here").mkdir()
    before = sorted(os.listdir(tmp_path))
    try:
        code, out, err = run("new-integration", name)
    finally:
        sys.path.remove(str(tmp_path))
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("into", "message"),
    [
        (".", "into a new or empty folder, got '.', which is not"),
        ("mine.py", "got 'mine.py', which is not"),
        ("no/where", "the folder 'no' does not exist"),
        ("x" * 5000, "cannot be written: "),
    ],
)
def test_folders_that_cannot_be_written(run: Run, tmp_path: Path, into: str, message: str) -> None:
    before = files_in(tmp_path)
    code, out, err = run("new-integration", "acme", "--into", into)
    assert (code, out) == (2, "")
    assert message in err
    assert files_in(tmp_path) == before


def test_nothing_stays_where_writing_fails(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Path.write_text

    def full(path: Path, text: str, encoding: str) -> int:
        if path.name == "trainer.py":
            raise OSError(28, "No space left on device")
        return written(path, text, encoding)

    monkeypatch.setattr(Path, "write_text", full)
    code, _, err = run("new-integration", "acme")
    assert (code, err) == (
        2,
        "dynhp: error: 'dynhp-acme' cannot be written: No space left on device\n",
    )
    assert sorted(os.listdir(tmp_path)) == ["mine.py", "wrong.py"]


def test_the_laws_fail_until_it_is_filled_in_and_say_what_to_do(run: Run, tmp_path: Path) -> None:
    assert run("new-integration", "numpy")[0] == 0
    folder = tmp_path / "dynhp-numpy"
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)
    assert f"{len(LAWS)} failed, 1 passed" in done.stdout, done.stdout
    assert done.stdout.count("fill in __init__: build model, optimiser, data and") >= len(LAWS)
    done = python("-m", "dynhp", "check", "dynhp_numpy.example:example", "--here", cwd=folder)
    assert done.returncode == 2
    assert "fill in __init__: build model" in done.stderr


def test_the_example_in_the_tests_is_the_plug_in_that_was_written_filled_in() -> None:
    new, filled = plug_in("numpy"), files_in(THIRD_PARTY)
    assert new.keys() == filled.keys()
    same = [path for path in new if new[path] == filled[path]]
    assert [path for path in new if path not in same] == sorted(FILLED_IN)
    assert "NotImplementedError" in new["dynhp_numpy/trainer.py"]
    assert "NotImplementedError" not in filled["dynhp_numpy/trainer.py"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The third-party plug-in, built and installed by pip into a folder, without the network."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    done = python("-m", "pip", "install", *options, str(folder), str(THIRD_PARTY), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_plug_in_of_others_is_a_distribution_that_dynhp_check_discovers(installed: Path) -> None:
    done = python("-m", "dynhp", "check", "numpy", "toy", cwd=installed, path=str(installed))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["numpy", "  ok       restore"]
    assert sum(line.startswith("  ok ") for line in done.stdout.splitlines()) == 2 * len(LAWS)


@pytest.fixture
def _forgotten(registry: object) -> Iterator[None]:
    """Leave nothing of the plug-in in this process."""
    yield
    for name in [each for each in sys.modules if each.partition(".")[0] == "dynhp_numpy"]:
        del sys.modules[name]


@pytest.mark.usefixtures("_forgotten")
def test_it_is_among_all_that_are_installed(
    run: Run, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(installed))
    every = metadata.entry_points

    def quick(**asked: str) -> list[metadata.EntryPoint]:
        return [point for point in every(**asked) if point.name in ("numpy", "toy")]

    monkeypatch.setattr(metadata, "entry_points", quick)
    code, out, _ = run("check", "--here")
    assert code == 0
    assert out.startswith("numpy (dynhp-numpy 0.1.0)\n  ok       restore")
    assert out.splitlines()[-2].split() == ["numpy", "(dynhp-numpy", "0.1.0)", *["ok"] * len(LAWS)]
    code, _, err = run("new-integration", "numpy")
    assert code == 2
    assert "there is an integration 'numpy' already, 'dynhp_numpy.example:example'" in err


def test_its_own_tests_pass(installed: Path) -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=THIRD_PARTY)
    assert done.returncode == 0, done.stdout


LIKE_OURS = """
import importlib, sys
from dynhp.selfcheck.reach import in_reach, loop_names

package, place, name = sys.argv[1:]
module = importlib.import_module(f"{package}.{place}")
kind = getattr(module, name)
thing = kind.__new__(kind)  # empty, as the two need different things
library = {"__name__": f"{package}.loops", "loop_names": loop_names}
text = "def fit():\\n    hidden = 1\\n    return loop_names()"
exec(compile(text, f"{package}/loops.py", "exec"), library)

def train():
    mine = 2
    return library["fit"]()

names = train()
print("user sees", "mine" in names, "hidden" in names, "looked into", list(in_reach({"it": thing})))
"""


def test_a_plug_in_of_others_is_to_the_self_check_what_ours_are(installed: Path) -> None:
    places = os.pathsep.join((str(installed), str(ROOT / "integrations" / "pyg")))
    for what in (
        ("dynhp_pyg", "splits.negatives", "UniformNegatives"),
        ("dynhp_numpy", "trainer", "NumpyTrainer"),
    ):
        done = python("-c", LIKE_OURS, *what, cwd=installed, path=places)
        assert done.stdout == "user sees True False looked into []\n", done.stdout + done.stderr


KIND_OF = """
from dynhp.frameworks import Integration

def kind_of(owner, name):
    return "shrinkage" if name == "learning_rate" else None

INTEGRATION = Integration(package=__name__, frameworks=("acme_trees",), kind_of=kind_of)
"""


def test_a_plug_in_of_others_says_what_attributes_are_as_ours_do(tmp_path: Path) -> None:
    about = tmp_path / "dynhp_acme_trees-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: dynhp-acme-trees\nVersion: 1.0\n")
    entry = "[dynhp.integrations]\nacme_trees = dynhp_acme_trees:INTEGRATION\n"
    (about / "entry_points.txt").write_text(entry)
    (tmp_path / "dynhp_acme_trees.py").write_text(KIND_OF)
    (tmp_path / "acme_trees.py").write_text("class Trees: learning_rate, depth = 0.1, 3")
    code = (
        "from acme_trees import Trees; from dynhp import attribute; "
        "print(*(attribute(Trees(), name).kind for name in ('learning_rate', 'depth')))"
    )
    done = python("-c", code, cwd=tmp_path, path=str(tmp_path))
    assert done.stdout == "shrinkage depth\n", done.stderr


def test_a_plug_in_of_others_is_known_before_it_is_imported(installed: Path) -> None:
    code = "from dynhp.frameworks import package_for; print(package_for('numpy'))"
    done = python("-c", code, cwd=installed, path=str(installed))
    assert done.stdout == "dynhp_numpy\n", done.stderr
