"""A report as Markdown; its figures are files beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynhp_pyg.paper.document import Cell, Figure, Section, Table

__all__ = ["markdown"]


def markdown(title: str, sections: Sequence[Section]) -> str:
    """Write the sections one after the other.

    >>> print(markdown("Report", [Section(title="Head", text=("Nothing was run.",))]))
    # Report
    <BLANKLINE>
    ## Head
    <BLANKLINE>
    Nothing was run.
    <BLANKLINE>
    """
    blocks = [f"# {title}"]
    for section in sections:
        blocks.append(f"## {section.title}")
        blocks += (f"> **{_safe(each)}**" for each in section.warnings)
        blocks += map(_safe, section.text)
        blocks += ["\n".join(f"- {_safe(each)}" for each in section.points)]
        for part in section.parts:
            blocks += _part(part)
    return "\n\n".join(block for block in blocks if block) + "\n"


def _part(part: Table | Figure) -> Iterable[str]:
    if part.folded:
        yield f"<details><summary>{_safe(part.title)}</summary>"
    else:
        yield f"### {_safe(part.title)}"
    if isinstance(part, Table):
        yield _rows(part)
        if part.name:
            yield f"[{part.name}.csv]({part.name}.csv)"
    else:
        yield f"![{part.title}]({part.name}.svg)"
    if part.note:
        yield _safe(part.note.strip())
    if part.folded:
        yield "</details>"


def _rows(table: Table) -> str:
    lines = [
        [_safe(head) for head in table.heads],
        ["---"] * len(table.heads),
        *([_cell(cell) for cell in row] for row in table.rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: Cell) -> str:
    text = f"**{_safe(cell.text)}**" if cell.side else _safe(cell.text)
    return f"{text}<br>{_safe(cell.small)}" if cell.small else text


def _safe(text: str) -> str:
    """Text in which nothing is taken for a sign of Markdown's."""
    one_line = " ".join(text.split())
    for sign in "\\|<>*_`[]":
        one_line = one_line.replace(sign, f"\\{sign}")
    return one_line
