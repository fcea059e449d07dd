"""A new integration is one folder and one block in pyproject.toml: what was forgotten is named."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

from dynhp.frameworks import registered
from tests.support.packages import FRAMEWORKS, run_python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
INTEGRATIONS = sorted(path.name for path in (ROOT / "integrations").iterdir() if path.is_dir())
# What the core may import besides the standard library, and where.
OUTSIDE = {
    "numpy": "dynhp",
    "rich": "dynhp/report/live/screen.py",
    "matplotlib": "dynhp/report/plots.py",
}
# What a checkout has and an installation lacks.
NOT_IN_THE_WHEEL = {"benchmarks", "examples", "scripts", "tests"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, and every name taken from one, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(name: str) -> Path:
    return ROOT / "integrations" / name / f"dynhp_{name}"


def test_there_are_integrations_to_look_at() -> None:
    assert {"torch", "pyg", "ray"} <= set(INTEGRATIONS)


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_an_integration_has_its_package_its_tests_and_its_page(name: str) -> None:
    folder = ROOT / "integrations" / name
    for path in (package_of(name) / "__init__.py", folder / "tests", folder / "README.md"):
        assert path.exists(), f"integrations/{name} needs {path.relative_to(ROOT)}"


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_an_integration_has_its_extra_and_its_pins(name: str) -> None:
    extras = project()["project"]["optional-dependencies"]
    assert name in extras, f"pyproject.toml needs optional-dependencies.{name} = [...]"
    pinned = (ROOT / "constraints.txt").read_text("utf-8").lower().replace("_", "-")
    for requirement in extras[name]:
        package = requirement.split(">")[0].strip().lower().replace("_", "-")
        assert f"\n{package}==" in pinned, f"constraints.txt needs a version of {package}"


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_an_integration_registers_itself_and_declares_its_frameworks(name: str) -> None:
    source = (package_of(name) / "__init__.py").read_text("utf-8")
    called = [
        ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)
    ]
    assert "register_integration" in called, f"dynhp_{name} must call register_integration(...)"
    points = project()["project"]["entry-points"]["dynhp.integrations"]
    packages = {value.partition(":")[0].partition(".")[0] for value in points.values()}
    assert f"dynhp_{name}" in packages, (
        f'pyproject.toml needs entry-points."dynhp.integrations".{name} = "dynhp_{name}"'
    )


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_what_it_registers_is_what_it_declares(name: str) -> None:
    try:
        importlib.import_module(f"dynhp_{name}")
    except ImportError:
        pytest.skip(f"what dynhp_{name} needs is not installed")
    integration = registered(f"dynhp_{name}")
    assert integration is not None
    points = project()["project"]["entry-points"]["dynhp.integrations"]
    declared = {
        framework
        for framework, value in points.items()
        if value.partition(":")[0].partition(".")[0] == f"dynhp_{name}"
    }
    assert set(integration.frameworks) == declared
    if integration.kind_of is not None:  # asked also if its package was never imported
        assert points[name] == f"dynhp_{name}.integration:INTEGRATION"


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_an_example_is_known_to_dynhp_check(name: str) -> None:
    examples = [path for path in sources(package_of(name)) if path.name == "example.py"]
    points = project()["project"]["entry-points"]["dynhp.trainers"]
    for path in examples:
        module = ".".join(path.relative_to(package_of(name).parent).with_suffix("").parts)
        assert points.get(name) == f"{module}:example", (
            f'pyproject.toml needs entry-points."dynhp.trainers".{name} = "{module}:example"'
        )


def test_the_wheel_has_the_core_and_every_integration(tmp_path: Path) -> None:
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    expected = [ROOT / "dynhp", *map(package_of, INTEGRATIONS)]
    for package in expected:
        for path in sources(package):
            name = path.relative_to(package.parent).as_posix()
            assert name in files, f"the wheel lacks {name}: see hatch_build.py"
    assert {"dynhp_pyg/data/cora.npz", "dynhp/cli/templates/pyproject.toml.txt"} <= files
    assert not any(name.startswith(("tests/", "integrations/")) for name in files)
    programs = [name for name in files if {"benchmarks", "paper"} & set(name.split("/"))]
    assert programs == [], "the paper's reproduction and the benchmarks are not for the wheel"


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_the_tools_look_at_every_integration(name: str) -> None:
    tools = project()["tool"]
    checked = [path for pattern in tools["mypy"]["files"] for path in ROOT.glob(pattern)]
    assert package_of(name) in checked, f"mypy does not look at dynhp_{name}: see [tool.mypy] files"
    roots = [path for pattern in tools["ruff"]["src"][1:] for path in ROOT.glob(pattern)]
    assert package_of(name).parent in roots, f"ruff does not know dynhp_{name}: see [tool.ruff] src"


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_an_integration_imports_public_modules_of_the_core_and_no_other_integration(
    name: str,
) -> None:
    others = {f"dynhp_{other}" for other in INTEGRATIONS} - {f"dynhp_{name}", "dynhp_torch"}
    for path in sources(package_of(name)):
        for module in imported(path):
            first, *rest = module.split(".")
            assert first not in others, f"{path.relative_to(ROOT)} imports {module}"
            assert first not in NOT_IN_THE_WHEEL, f"{path.relative_to(ROOT)} imports {module}"
            if first == "dynhp":
                private = [part for part in rest if part[0] == "_" and part != "__version__"]
                assert not private, f"{path.relative_to(ROOT)} imports the private {module}"


def test_the_core_imports_no_framework_and_no_integration() -> None:
    known = {*sys.stdlib_module_names, "dynhp"}
    for path in sources(ROOT / "dynhp"):
        place = path.relative_to(ROOT).as_posix()
        for module in imported(path):
            first = module.partition(".")[0]
            allowed = first in known or place.startswith(OUTSIDE.get(first, "nowhere"))
            assert allowed, f"{place} imports {module}; the core needs numpy only"


def names_of_frameworks() -> set[str]:
    """Each integration, all that they need, and the frameworks that they know; not the core's."""
    about = project()["project"]
    extras = about["optional-dependencies"]
    needed = {name: {distribution(each) for each in extras[name]} for name in extras}
    of_the_core = {distribution(each) for each in about["dependencies"]}
    for name in extras.keys() - INTEGRATIONS:
        of_the_core |= needed[name]
    names = {*INTEGRATIONS, *about["entry-points"]["dynhp.integrations"]}
    return names.union(*(needed[name] for name in INTEGRATIONS)) - of_the_core


def distribution(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0].lower()


def test_the_names_of_frameworks_are_found() -> None:
    known = {"torch", "pyg", "torch_geometric", "sklearn", "scikit-learn", "jax", "ray", "wandb"}
    assert known < names_of_frameworks()
    assert not names_of_frameworks() & {"numpy", "rich", "matplotlib"}


def test_no_file_of_the_core_names_a_framework() -> None:
    """In code, messages, docstrings or comments: what the core must know, integrations register."""
    words = "|".join(re.escape(name).replace("_", "[-_ ]") for name in names_of_frameworks())
    named = re.compile(rf"(?<![a-z0-9])(py)?({words})(?![a-z0-9])", re.IGNORECASE)
    places = [
        f"{path.relative_to(ROOT)}:{number}: {match.group()}"
        for path in sorted((ROOT / "dynhp").rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        for match in named.finditer(line)
    ]
    assert places == [], "dynhp.frameworks says how an integration tells the core what it knows"


def test_without_its_framework_dynhp_check_says_what_to_install_for_each_of_them() -> None:
    points = set(project()["project"]["entry-points"]["dynhp.trainers"]) - {"toy"}
    nothing = f"sys.modules.update(dict.fromkeys({sorted(FRAMEWORKS)!r}))"
    done = run_python(
        f"{nothing}; from dynhp.cli.main import main; raise SystemExit(main(['check']))"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for name in sorted(points):
        assert f"pip install 'dynhp[{name}]'" in lines[lines.index(name) + 1]
