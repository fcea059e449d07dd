"""Extension of sphinx: a page for each module with public names, from the list of docs/api.md."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from make_api_page import defining_module, is_definition, public_names, sentence
from sphinx.application import Sphinx
from sphinx.config import Config

FOLDER = "reference"
SECTION = re.compile(r"^## `([\w.]+)`$")
ROW = re.compile(r"^\| `(\w+)` \|")


def entry(module: str, name: str) -> str:
    """The directive that documents one public name by its docstring."""
    thing = getattr(importlib.import_module(module), name)
    if not is_definition(thing):  # an alias or a constant, whose docstring is in another module
        text = sentence(thing, name, defining_module(name, thing, module)).replace("`", "``")
        return f".. py:data:: {name}\n\n   {text}\n"
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        return f".. {kind}:: {name}\n   :members:\n"
    return f".. autofunction:: {name}\n"


def groups(module: str, names: list[str]) -> dict[str, list[str]]:
    """The names of the front door by the subject they come from; those of a folder are of one."""
    if module != "dynhp":
        return {"": names}
    by_subject: dict[str, list[str]] = {}
    for name in names:
        home = getattr(importlib.import_module(module), name).__module__.split(".")[1]
        about = importlib.import_module(f"dynhp.{home}").__doc__ or ""
        by_subject.setdefault(re.split(r"[:,.]", about)[0], []).append(name)
    return by_subject


def page(module: str, names: list[str]) -> str:
    """The page of one module: what it is for, then each of its public names."""
    about = (importlib.import_module(module).__doc__ or "").strip().replace("``", "`")
    parts = [f"# {module}\n\n{about}\n\n```{{eval-rst}}\n.. module:: {module}\n```\n"]
    for title, members in groups(module, names).items():
        entries = "\n".join(entry(module, name) for name in members)
        heading = f"\n## {title}\n" if title else ""
        parts.append(f"{heading}\n```{{eval-rst}}\n.. currentmodule:: {module}\n\n{entries}```\n")
    return "".join(parts)


def write_pages(app: Sphinx, _: Config) -> None:
    """Write the pages, those that changed, before sphinx looks for pages."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    texts = {f"{module}.md": page(module, names) for module, names in public_names().items()}
    for path in folder.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def with_links(text: str) -> str:
    """The list of public names, each a link to its entry, which must be there."""
    module, lines = "", []
    for line in text.splitlines():
        if section := SECTION.match(line):
            module = section[1]
            line = f"## [{module}]({FOLDER}/{module}.md)"
        elif row := ROW.match(line):
            line = f"| {{py:obj}}`{row[1]} <{module}.{row[1]}>` |{line[row.end() :]}"
        lines.append(line)
    modules = "\n".join(f"{FOLDER}/{name}" for name in public_names())
    return "\n".join(lines) + f"\n\n```{{toctree}}\n:hidden:\n\n{modules}\n```\n"


def read(_: Sphinx, page_name: str, source: list[str]) -> None:
    """Sphinx has read the text of a page."""
    if page_name == "api":
        source[0] = with_links(source[0])


def skip(_: Sphinx, kind: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Whether a member is not shown: methods that a framework writes into our classes."""
    made_here = str(getattr(thing, "__module__", None) or "dynhp").startswith("dynhp")
    return None if made_here or not callable(thing) else True


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the parts of this extension."""
    app.connect("config-inited", write_pages)
    app.connect("source-read", read)
    app.connect("autodoc-skip-member", skip)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
