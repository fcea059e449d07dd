"""What integrations tell the core: when imported, and before that by entry points."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dynhp import frameworks
from dynhp.frameworks import (
    GROUP,
    Integration,
    integrations_of,
    loaded_frameworks,
    loaded_integrations,
    package_for,
    registered,
    runs_loops,
)
from dynhp.records.provenance import versions_here
from tests.support.packages import run_python

Register = Callable[[Integration], None]
Declare = Callable[..., None]

ACME = """
from dynhp.frameworks import Integration
LOADED = True
INTEGRATION = Integration(package="dynhp_acme", frameworks=("acme",), own_adapt="is of acme")
"""


class OfAcme:
    """A class of a framework, seen by the name of its module."""

    __module__ = "acme.nn.layers"


class MadeFromIt(OfAcme):
    __module__ = "my_models"


@pytest.fixture
def declare(registry: Register, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Declare:
    """Declares frameworks as entry points do: a name each, and what it says."""
    (tmp_path / "dynhp_acme").mkdir()
    (tmp_path / "dynhp_acme" / "__init__.py").touch()
    (tmp_path / "dynhp_acme" / "integration.py").write_text(ACME)
    (tmp_path / "dynhp_broken.py").write_text("raise OSError('no data')")
    monkeypatch.syspath_prepend(str(tmp_path))
    read = functools.cache(_read_anew)
    monkeypatch.setattr(frameworks, "_declared", read)

    def declared(**lines: str) -> None:
        points = [metadata.EntryPoint(name, value, GROUP) for name, value in lines.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda *, group: {GROUP: points}[group])

    yield declared
    for name in [name for name in sys.modules if name.startswith(("dynhp_acme", "dynhp_broken"))]:
        del sys.modules[name]


_read_anew = frameworks._declared.__wrapped__


def test_what_is_registered_is_known_by_its_package_and_by_its_loop_owners(
    registry: Register,
) -> None:
    assert registered("dynhp_acme") is None
    assert not runs_loops("acme")
    acme = Integration(package="dynhp_acme", loop_owners=("acme", "acme_tools"))
    registry(acme)
    assert registered("dynhp_acme") is acme
    assert runs_loops("acme_tools")
    assert not runs_loops("dynhp_acme")
    assert loaded_integrations() == [acme]


def test_an_object_is_known_by_its_class_and_by_those_that_it_is_made_from(
    registry: Register,
) -> None:
    acme = Integration(package="dynhp_acme", frameworks=("acme",))
    registry(acme)
    registry(Integration(package="dynhp_other", frameworks=("other",)))
    assert integrations_of(OfAcme) == integrations_of(MadeFromIt) == [acme]
    assert integrations_of(SimpleNamespace) == integrations_of(dict) == []
    assert package_for("acme") == "dynhp_acme"
    assert package_for("my_models") is None


def test_what_the_core_knows_itself_needs_no_entry_points(
    registry: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frameworks, "_declared", lambda: pytest.fail("they take long to read"))
    assert integrations_of(dict) == integrations_of(type(pytest.approx)) == []


def test_an_integration_that_nobody_imported_is_known_by_its_entry_point(declare: Declare) -> None:
    declare(acme="dynhp_acme", other="dynhp_other")
    assert package_for("acme") == "dynhp_acme"
    assert integrations_of(OfAcme) == []
    assert "dynhp_acme" not in sys.modules, "there was nothing to ask"


def test_it_is_asked_as_soon_as_its_framework_is_loaded_and_not_before(
    declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(acme="dynhp_acme.integration:INTEGRATION")
    assert integrations_of(OfAcme) == loaded_integrations() == []
    assert "dynhp_acme" not in sys.modules, "it would import the framework"
    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace())
    (acme,) = integrations_of(OfAcme)
    assert acme.own_adapt == "is of acme"
    assert loaded_integrations() == [acme]
    assert registered("dynhp_acme") is acme


def test_objects_of_one_framework_do_not_load_the_integration_of_another(
    declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(other="dynhp_acme.integration:INTEGRATION")
    monkeypatch.setitem(sys.modules, "other", SimpleNamespace())
    assert integrations_of(OfAcme) == []
    assert "dynhp_acme" not in sys.modules


@pytest.mark.parametrize("value", ["dynhp_broken:INTEGRATION", "dynhp_acme.integration:OTHER"])
def test_one_that_cannot_be_loaded_is_tried_once_and_stops_nothing(
    declare: Declare, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    declare(acme=value)
    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace())
    assert integrations_of(OfAcme) == loaded_integrations() == []
    assert frameworks._attempted == {value.partition(":")[0].partition(".")[0]}


def test_versions_of_loaded_frameworks_are_recorded_for_anybodys_integration(
    declare: Declare, registry: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(acme="dynhp_acme", absent="dynhp_absent", hidden="dynhp_hidden")
    registry(Integration(package="dynhp_other", frameworks=("other", "never_loaded")))
    monkeypatch.setitem(sys.modules, "acme", SimpleNamespace(__version__="1.2"))
    monkeypatch.setitem(sys.modules, "other", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "hidden", None)
    assert loaded_frameworks() == ["acme", "other"]
    versions = versions_here()
    assert list(versions) == ["python", "dynhp", "numpy", "acme", "other"]
    assert versions["acme"] == "1.2"
    assert versions["other"] == "unknown"


def test_importing_dynhp_reads_no_entry_points() -> None:
    code = "import dynhp; print('importlib.metadata' in sys.modules, len(sys.modules) > 0)"
    assert run_python(code).stdout.split() == ["False", "True"]


def test_entry_points_are_read_once(registry: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def entry_points(*, group: str) -> list[metadata.EntryPoint]:
        asked.append(group)
        return []

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    monkeypatch.setattr(frameworks, "_declared", functools.cache(_read_anew))
    assert package_for("acme") is package_for("other") is None
    assert asked == [GROUP]
