"""The site: each page is in its menu once, each public name in its reference, and faults stop it.

``make docs`` builds all of it; these tests build small sites with its settings, one for each fault.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scripts import make_pictures
from scripts.make_api_page import public_names

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = ROOT / "scripts" / "site"
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d")

HOME = "# Home\n\n```{toctree}\nother\napi\n```\n"
OTHER = "# Other\n\n## A part\n\n[home](index.md), [the part](#a-part), [a name](api.md)\n"
API = "# API\n\n## `dynhp.criteria`\n\n| name | what it is |\n|---|---|\n| `Criterion` | x |\n"


def in_menu(page: Path) -> list[str]:
    """The pages that the menus of a page list."""
    lines = "\n".join(TOCTREE.findall(page.read_text("utf-8"))).splitlines()
    return [line for line in lines if line and not line.startswith(":")]


def test_each_page_is_in_the_menu_once() -> None:
    pages = [*DOCS.glob("*.md"), *DOCS.glob("results/**/report.md")]
    names = {path.relative_to(DOCS).with_suffix("").as_posix() for path in pages} - {"index"}
    listed = Counter(name for path in pages for name in in_menu(path))
    assert names - listed.keys() == set(), "add them to a toctree, most to one of docs/index.md"
    assert listed.keys() - names == set()
    assert {name for name, times in listed.items() if times > 1} == set()


def test_each_public_name_of_each_folder_is_in_the_list_of_the_api() -> None:
    listed = {
        id(getattr(importlib.import_module(module), name))
        for module, names in public_names("dynhp").items()
        for name in names
    }
    # The adapter is made of these two: what they hand to each other may change.
    inside = {ROOT / "dynhp" / "engine", ROOT / "dynhp" / "drivers"}
    missing = set()
    for path in (ROOT / "dynhp").rglob("__init__.py"):
        if "__all__" in path.read_text("utf-8") and path.parent not in inside:
            folder = importlib.import_module(".".join(path.parent.relative_to(ROOT).parts))
            names = (name for name in folder.__all__ if id(getattr(folder, name)) not in listed)
            missing |= {f"{folder.__name__}.{name}" for name in names}
    assert missing == set()


@pytest.mark.parametrize("name", make_pictures.PICTURES)
@pytest.mark.filterwarnings("ignore")
def test_the_pictures_are_those_that_the_script_draws(name: str) -> None:
    shown = (make_pictures.FOLDER / f"{name}.svg").read_text("utf-8")
    drawn = make_pictures.PICTURES[name]()
    assert NUMBER.sub("", shown) == NUMBER.sub("", drawn), "run python scripts/make_pictures.py"
    numbers = [np.array(NUMBER.findall(text), float) for text in (shown, drawn)]
    np.testing.assert_allclose(*numbers, atol=1.0)  # another processor may round otherwise


def build(folder: Path, **pages: str) -> subprocess.CompletedProcess[str]:
    """Build a small site with the settings of ours, and a list of the API with one module."""
    pytest.importorskip("sphinx")
    (folder / "docs").mkdir()
    shutil.copytree(SITE, folder / "scripts" / "site")
    for name, text in {"index": HOME, "other": OTHER, "api": API, **pages}.items():
        (folder / "docs" / f"{name}.md").write_text(text, "utf-8")
    (folder / "scripts" / "make_api_page.py").write_text(
        "from pathlib import Path\n"
        f"source = Path({str(ROOT / 'scripts' / 'make_api_page.py')!r})\n"
        "exec(source.read_text('utf-8').replace('*INTEGRATIONS,', ''))\n"
        "MODULES = ('dynhp.criteria',)\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "--fail-on-warning"]
    command += ["-c", "scripts/site", "docs", "site"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_sound_site_is_built_with_an_entry_for_each_name(tmp_path: Path) -> None:
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "reference" / "dynhp.criteria.html").read_text("utf-8")
    for name in ("Criterion", "highest", "lowest", "smallest_gap", "smoothed", "phased"):
        assert f'id="dynhp.criteria.{name}"' in page
    assert "reference/dynhp.criteria.html#dynhp.criteria.Criterion" in (
        tmp_path / "site" / "api.html"
    ).read_text("utf-8")


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("lost", "# Lost\n", "isn't included in any toctree"),
        ("other", "# Other\n\n[nowhere](gone.md)\n", "gone"),
        ("other", "# Other\n\n[no such part](index.md#gone)\n", "gone"),
        ("other", "# Other\n\n![no picture](pictures/gone.svg)\n", "gone.svg"),
        ("index", HOME.replace("other", "other\ngone"), "gone"),
        ("api", API.replace("Criterion", "Gone"), "dynhp.criteria.Gone"),
    ],
    ids=["a page in no menu", "a dead link", "a dead anchor", "no picture", "no page", "no entry"],
)
def test_a_fault_stops_the_site(page: str, text: str, said: str, tmp_path: Path) -> None:
    done = build(tmp_path, **{page: text})
    assert done.returncode != 0
    assert said in done.stderr, done.stderr
