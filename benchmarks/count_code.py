"""How simple the code is, before and after: figures, not limits.

Run as ``python benchmarks/count_code.py --base REVISION``; ``--list`` names what is counted. Each
figure is explained where it is counted: ``_crossed_by_a_round.py`` and ``_source_counts.py``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import _source_counts as source
from _facts import ROOT
from _versions import checked_out, environment

BEFORE = "ed94b69"
"""The commit that is compared with, if no other is given: the last one before the engine."""

FEW = 3
"""A function that reads so many attributes of a whole object, or fewer, could take these alone."""


@dataclass(frozen=True, slots=True)
class Count:
    """One line of the table, and what was counted."""

    what: str
    value: str
    counted: tuple[str, ...] = ()


def main(given: Sequence[str] | None = None) -> int:
    """Count both versions and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default=BEFORE, help="the revision to compare with")
    parser.add_argument("--list", action="store_true", help="name what is counted")
    options = parser.parse_args(given)
    with ExitStack() as stack:
        trees = {options.base: stack.enter_context(checked_out(options.base)), "now": ROOT}
        # Both at once: most of the time goes by with importing frameworks, and none is measured.
        running = {name: _start_rounds(tree) for name, tree in trees.items()}
        figures = {name: [*source_figures(tree)] for name, tree in trees.items()}
        crossed = {name: _round_figures(process) for name, process in running.items()}
        columns = {name: [*crossed[name], *figures[name]] for name in trees}
    print(table(columns))
    if options.list:
        for figure in columns["now"]:
            for each in figure.counted:
                print(f"{figure.what}: {each}")
    return 0


def table(columns: dict[str, list[Count]]) -> str:
    """The figures of each version beside each other; a dash where a version has none."""
    whats = list(dict.fromkeys(figure.what for column in columns.values() for figure in column))
    values = [{figure.what: figure.value for figure in column} for column in columns.values()]
    cells = [["", *columns], *([what, *(each.get(what, "-") for each in values)] for what in whats)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for what, *others in cells:
        numbers = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([what.ljust(widths[0]), *numbers]))
    return "\n".join(lines)


def _start_rounds(tree: Path) -> subprocess.Popen[str]:
    program = Path(__file__).with_name("_crossed_by_a_round.py")
    return subprocess.Popen(
        [sys.executable, str(program)],
        cwd=tree,
        env=environment(tree),
        stdout=subprocess.PIPE,
        text=True,
    )


def _round_figures(process: subprocess.Popen[str]) -> list[Count]:
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit("the rounds could not be carried out; see the error above")
    figures = []
    for kind, crossed in json.loads(output).items():
        if crossed is not None:
            files = {file for file, _ in crossed}
            value = f"{len(files)} / {len(crossed)}"
            counted = tuple(f"{file} {name}" for file, name in crossed)
            figures.append(Count(f"files / functions that a round crosses: {kind}", value, counted))
    return figures


def source_figures(tree: Path) -> list[Count]:
    """All that the source of a version gives."""
    core = source.modules(tree / "dynhp")
    integrations = source.modules(*sorted(tree.glob("integrations/*/dynhp_*")))
    return [
        *_argument_figures(core),
        *_taker_figures(core),
        _private_figure(core),
        *_cycle_figures(core),
        *_name_figures(core, tree / "docs" / "api.md"),
        *_size_figures("the core", core),
        *_size_figures("the integrations", integrations),
    ]


def _argument_figures(core: list[source.SourceFile]) -> list[Count]:
    figures = []
    for function in ("DynamicGridAdapter.__init__", "adapt"):
        count, accepted = source.arguments(core, function)
        what = f"arguments of {function} (accepted by keyword or place)"
        figures.append(Count(what, f"{count} ({accepted})"))
    return figures


def _taker_figures(core: list[source.SourceFile]) -> list[Count]:
    takers = source.takers(core)
    few = [taker for taker in takers if len(taker.read) <= FEW]
    handing_on = [taker for taker in few if taker.is_handed_on]

    return [
        *(
            _listed(
                f"functions that take a whole {kind}",
                (taker for taker in takers if taker.kind == kind),
            )
            for kind in ("adapter", "policy", "loop")
        ),
        _listed(f"functions that take one and read at most {FEW} attributes of it", few),
        _listed("- of these, those that hand it on, keep or return it", handing_on),
    ]


def _private_figure(core: list[source.SourceFile]) -> Count:
    uses = source.private_functions(core)
    once = tuple(name for name, count in uses.items() if count == 1)
    return Count("private functions used once / all", f"{len(once)} / {len(uses)}", once)


def _cycle_figures(core: list[source.SourceFile]) -> list[Count]:
    figures = []
    for what, for_types in (("", False), (", imports for types included", True)):
        graph = source.imports(core, part_of, for_types=for_types)
        groups = [" <-> ".join(group) for group in source.cycles(graph)]
        figures.append(_listed(f"cycles between packages{what}", groups))
    return figures


def part_of(module: str) -> str:
    """The package or module right below ``dynhp`` that a module belongs to, or ``dynhp`` itself."""
    return ".".join(module.split(".")[:2])


def _name_figures(core: list[source.SourceFile], page: Path) -> list[Count]:
    listed = source.listed_names(page.read_text("utf-8"))
    ours = sum(count for module, count in listed.items() if part_of(module).startswith("dynhp."))
    public = [module for module in core if "._" not in module.name]
    front = next(source.declared_names(module) for module in core if module.name == "dynhp")
    packages = {
        name for module in public if module.is_package for name in source.declared_names(module)
    }
    everywhere = {name for module in public for name in source.declared_names(module)}
    return [
        Count("public names: on the page of the API", str(sum(listed.values()))),
        Count("public names: on that page, of the core", str(ours + listed.get("dynhp", 0))),
        _listed("public names: at the front door", front),
        _listed("public names: in __all__ of the core's packages", sorted(packages)),
        _listed("public names: in __all__ of any module of the core", sorted(everywhere)),
    ]


def _size_figures(what: str, modules: list[source.SourceFile]) -> list[Count]:
    lines = sum(source.code_lines(module.text) for module in modules)
    statements = sum(source.statements(module.text) for module in modules)
    return [
        Count(f"code lines of {what}", f"{lines:,}"),
        Count(f"statements of {what}", f"{statements:,}"),
        Count(f"files of {what}", str(len(modules))),
    ]


def _listed(what: str, things: Iterable[object]) -> Count:
    counted = tuple(map(str, things))
    return Count(what, str(len(counted)), counted)


if __name__ == "__main__":
    sys.exit(main())
