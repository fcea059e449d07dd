"""``dynhp new-integration``: writes a plug-in whose tests say what is left to fill in."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import shutil
import tempfile
from pathlib import Path
from string import Template
from typing import Any

from dynhp.cli.check import trainer_points
from dynhp.errors import SettingsError, shown

TEMPLATES = Path(__file__).parent / "templates"
OWN_DISTRIBUTION = "pyproject.toml"  # written for a plug-in that is a distribution of its own
FILES = {
    "README.md": "README.md.txt",
    OWN_DISTRIBUTION: "pyproject.toml.txt",
    "dynhp_{name}/__init__.py": "package/__init__.py.txt",
    "dynhp_{name}/trainer.py": "package/trainer.py.txt",
    "dynhp_{name}/example.py": "package/example.py.txt",
    "dynhp_{name}/py.typed": None,
    "tests/test_{name}_laws.py": "tests/test_laws.py.txt",
    "tests/test_{name}_package.py": "tests/test_package.py.txt",
}


def register(subparsers: Any) -> None:
    """Add the command to the others."""
    parser = subparsers.add_parser(
        "new-integration",
        help="write a plug-in for a framework, to be filled in",
        description="Write a folder with a plug-in for a framework: a package dynhp_NAME, its "
        "tests, a README and, unless it lies in dynhp's own integrations/, a pyproject.toml that "
        "makes it a distribution of its own. Its law tests fail until the trainer is filled in, "
        "and say what to do.",
    )
    parser.add_argument("name", help="the framework, as it is imported, in small letters")
    parser.add_argument(
        "--into",
        metavar="DIR",
        help="the folder to write, new or empty (default: integrations/NAME in a checkout of "
        "dynhp, dynhp-NAME elsewhere)",
    )
    parser.set_defaults(func=run)


def run(parsed: argparse.Namespace) -> int:
    """Write the folder and say what comes next; if something is wrong, nothing is written."""
    name = _require_name(parsed.name)
    if parsed.into is not None:
        folder = Path(parsed.into)
    elif _is_checkout(Path("integrations").absolute()):
        folder = Path("integrations", name)
    else:
        folder = Path(_distribution(name))
    within = _is_checkout(folder.absolute().parent)
    texts = plug_in(name, distribution=not within)
    try:
        _require_new(folder)
        _write(folder, texts)
    except OSError as error:
        raise SettingsError(f"{shown(str(folder))} cannot be written: {error.strerror}") from error
    print(f"wrote {folder}: {', '.join(texts)}")
    print(_next_steps(name, folder, within))
    return 0


def plug_in(name: str, *, distribution: bool = True) -> dict[str, str]:
    """The files of a new plug-in, by their paths.

    Args:
        name: the framework's name.
        distribution: whether it is to be a distribution of its own, not a part of dynhp.

    >>> list(plug_in("acme", distribution=False))[:2]
    ['README.md', 'dynhp_acme/__init__.py']
    """
    own = _distribution(name)
    words = {
        "name": name,
        "Class": "".join(word.title() for word in name.split("_")),
        "distribution": own,
        "install": own if distribution else f"dynhp[{name}]",
    }
    texts = {}
    for path, source in FILES.items():
        if distribution or path != OWN_DISTRIBUTION:
            template = "" if source is None else (TEMPLATES / source).read_text("utf-8")
            texts[path.format(name=name)] = Template(template).substitute(words)
    return texts


def _distribution(name: str) -> str:
    return f"dynhp-{name.replace('_', '-')}"


def _require_name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        words = re.findall(r"[a-z0-9]+", name.lower())
        proposed = "_".join(words).lstrip("0123456789_")
        usable = proposed and not keyword.iskeyword(proposed)
        raise SettingsError(
            "an integration is named like a Python module, in small letters, digits and _, got "
            f"{shown(name)}{f'; {proposed!r} would do' if usable else ''}"
        )
    for point in trainer_points():
        if point.name == name:
            raise SettingsError(
                f"there is an integration {name!r} already, {point.value!r}; choose another name, "
                "or `dynhp check` it"
            )
    if importlib.util.find_spec(f"dynhp_{name}") is not None:
        raise SettingsError(
            f"there is a package dynhp_{name} already; choose another name than {name!r}"
        )
    return name


def _is_checkout(folder: Path) -> bool:
    """Whether this is dynhp's own folder of integrations."""
    return folder.name == "integrations" and (folder.parent / "dynhp" / "adapter.py").is_file()


def _require_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(
            f"a plug-in is written into a new or empty folder, got {shown(str(folder))}, which is "
            "not; choose another with --into"
        )
    if not folder.absolute().parent.is_dir():
        raise SettingsError(
            f"--into: the folder {shown(str(folder.parent))} does not exist; make it first"
        )


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write all files or none: beside the folder first, then in one move."""
    beside = Path(tempfile.mkdtemp(prefix=".new-integration-", dir=folder.absolute().parent))
    try:
        made = beside / "plug-in"
        for path, text in texts.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, "utf-8")
        made.replace(folder.absolute())
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _next_steps(name: str, folder: Path, within: bool) -> str:
    if within:
        return (
            f"now  python -m pytest {folder}    # the laws fail, and say what to fill in\n"
            f"then pyproject.toml: optional-dependencies.{name} = [...], "
            f'entry-points."dynhp.integrations".{name} = "dynhp_{name}" and '
            f'entry-points."dynhp.trainers".{name} = "dynhp_{name}.example:example"; '
            f"constraints.txt: its pins; ARCHITECTURE.md: a row; docs/{name}.md: a tutorial\n"
            "     python -m pytest tests/repository    # says what was forgotten"
        )
    return (
        f"now  cd {folder} && python -m pytest    # the laws fail, and say what to fill in\n"
        f"then python -m pip install --editable . && dynhp check {name}"
    )
