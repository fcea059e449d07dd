"""Writes docs/api.md: every public name of every package, and the sentence that says what it is."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"
INTEGRATIONS = sorted(path.name for path in ROOT.glob("integrations/*/dynhp_*"))
MODULES = (
    "dynhp",
    "dynhp.records",
    "dynhp.errors",
    "dynhp.trainer",
    "dynhp.frameworks",
    "dynhp.spaces",
    "dynhp.proposers",
    "dynhp.criteria",
    "dynhp.selection",
    "dynhp.triggers",
    "dynhp.snapshots",
    "dynhp.tails",
    "dynhp.middleware",
    "dynhp.executors",
    "dynhp.executors.pool",
    "dynhp.loops",
    "dynhp.planning",
    "dynhp.wrappers",
    "dynhp.storage",
    "dynhp.storage.codecs",
    "dynhp.campaign",
    "dynhp.report",
    "dynhp.report.plots",
    "dynhp.testing",
    "dynhp.testing.executors",
    *INTEGRATIONS,
)
BEGINNING = """# API

Every public name, by the module it is imported from; a name stands once, where it is shortest to
import. `help(name)` shows its arguments and an example. What is not listed here may change.

<!-- Written by `python scripts/make_api_page.py` from the docstrings; a test compares the two. -->
"""


def is_definition(thing: Any) -> bool:
    """Whether it is a class or a function of a package of this project, not an alias of another."""
    made = inspect.isclass(thing) or inspect.isroutine(thing)
    return made and str(getattr(thing, "__module__", "")).startswith("dynhp")


def public_names(package: str = "") -> dict[str, list[str]]:
    """The public names of each module (of one package), without those that an earlier one has."""
    listed: set[int] = set()
    names: dict[str, list[str]] = {}
    for module_name in MODULES:
        if not f"{module_name}.".startswith(f"{package}." if package else ""):
            continue
        module = importlib.import_module(module_name)
        new = [name for name in module.__all__ if id(getattr(module, name)) not in listed]
        listed.update(id(getattr(module, name)) for name in new)
        names[module_name] = new
    return names


def sentence(thing: Any, name: str, module: Any) -> str:
    """The first sentence of a docstring; of an alias or a constant, what its source says of it."""
    if is_definition(thing):
        return _first_sentence(inspect.getdoc(thing) or "")
    for line in inspect.getsource(module).split(f"\n{name}", 1)[1:]:
        _, _, after = line.partition('"""')
        return _first_sentence(after.partition('"""')[0])
    return ""


def _first_sentence(text: str) -> str:
    words = " ".join(text.split("\n\n")[0].split())
    return words.replace("``", "`").replace("|", "\\|")


def defining_module(name: str, thing: Any, module: str) -> Any:
    """The module in whose source a name is defined, which for an alias has to be looked for."""
    if is_definition(thing):
        return importlib.import_module(thing.__module__)
    package = importlib.import_module(module)
    for node in ast.walk(ast.parse(inspect.getsource(package))):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return defining_module(name, thing, str(node.module))
    return package


def page() -> str:
    """The page as text."""
    parts = [BEGINNING]
    for module_name, names in public_names().items():
        module = importlib.import_module(module_name)
        about = _first_sentence(module.__doc__ or "")
        parts.append(f"\n## `{module_name}`\n\n{about}\n\n| name | what it is |\n|---|---|\n")
        for name in names:
            thing = getattr(module, name)
            home = defining_module(name, thing, module_name)
            parts.append(f"| `{name}` | {sentence(thing, name, home)} |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
