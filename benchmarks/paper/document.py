"""What a report is made of: tables, figures and sections, made once and shown in several forms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from benchmarks.paper.differences import Side
from benchmarks.paper.svg import PICTURE, standalone
from dynhp.records.text import text_table
from dynhp_pyg.runs.csv_table import csv_table

__all__ = ["Cell", "CellValue", "Figure", "Section", "Table", "document_files", "grouped"]
__all__ += ["paragraphs"]

CellValue = str | float | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What people read, with a smaller second line, and what programs read, by name.

    ``side`` says where an interval lies that does not hold zero.
    """

    text: str
    values: Mapping[str, CellValue]
    second_line: str = ""
    side: Side = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under headings, and the name of its CSV file, "" for none.

    >>> row = (Cell(text="Fixed", values={"": "fixed"}), Cell(text="97.50", values={"": 97.5}))
    >>> Table(name="demo", title="Demo", headings=("method", "AUC"), rows=(row,)).csv_text()
    'method,AUC\\nfixed,97.5\\n'
    """

    name: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False

    @property
    def csv(self) -> str:
        """The file that holds it, "" for none."""
        return self.name and f"{self.name}.csv"

    def csv_text(self) -> str:
        """Write it with a column for every value of its cells, empty where there is none."""
        names = [
            (place, heading, name)
            for place, heading in enumerate(self.headings)
            for name in dict.fromkeys(name for row in self.rows for name in row[place].values)
        ]
        headings = [f"{heading} {name}".strip() for _, heading, name in names]
        rows = ([row[place].values.get(name) for place, _, name in names] for row in self.rows)
        return csv_table([headings, *rows])

    def plain_text(self) -> str:
        """Write it for a terminal, its columns as lines, so that it is narrower.

        >>> row = (Cell(text="Fixed", values={}), Cell(text="97.50", values={}, second_line="gap"))
        >>> table = Table(name="", title="Demo", headings=("method", "AUC"), rows=(row,))
        >>> print(table.plain_text())
        Demo
        method  Fixed
        AUC     97.50
                gap
        """
        lines: list[list[str]] = []
        for heading, cells in zip(self.headings, zip(*self.rows, strict=True), strict=True):
            lines.append([heading, *(cell.text for cell in cells)])
            if any(cell.second_line for cell in cells):
                lines.append(["", *(cell.second_line for cell in cells)])
        return f"{self.title}\n{text_table(lines)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture as SVG text, and the name of its file."""

    name: str
    title: str
    svg: str
    note: str = ""
    folded: bool = False
    csv: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, what is said under it, and the tables and figures that it holds.

    ``warnings`` come first and stand out; ``points`` are a list after the text; parts that are
    ``folded`` are hidden at first.
    """

    title: str
    warnings: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    parts: tuple[Table | Figure, ...] = ()


def document_files(title: str, sections: Sequence[Section]) -> dict[str, str]:
    """Give the files of a report by name: a page that needs no other, Markdown, CSVs, SVGs.

    >>> section = Section(title="Preface", text=("Nothing was run.",))
    >>> print(document_files("Report", [section])["report.md"])
    # Report
    <BLANKLINE>
    ## Preface
    <BLANKLINE>
    Nothing was run.
    <BLANKLINE>
    """
    marks = _rendered("marks.css")
    style = f"{PICTURE}{marks}\n{_rendered('page.css')}"
    files = {
        "report.html": _rendered("report.html.j2", title=title, sections=sections, style=style),
        "report.md": _rendered("report.md.j2", title=title, sections=sections),
    }
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, Figure):
            files[f"{part.name}.svg"] = standalone(part.svg, style=marks)
        elif part.csv:
            files[part.csv] = part.csv_text()
    return files


def paragraphs(template: str, **values: object) -> tuple[str, ...]:
    """Fill in a template of plain text, in which empty lines stand between paragraphs.

    >>> len(paragraphs("glossary.txt"))
    5
    """
    blocks = _rendered(template, **values).split("\n\n")
    return tuple(" ".join(block.split()) for block in blocks if block.strip())


def grouped(value: int) -> str:
    """A whole number in groups of three digits.

    >>> grouped(1234567)
    '1 234 567'
    """
    return f"{value:,}".replace(",", " ")


def _rendered(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("benchmarks.paper"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"anchor": _anchor, "grouped": grouped, "md": _markdown}
    return environment


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def _markdown(text: str) -> str:
    """Text on one line, with every character escaped that Markdown would read as markup."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", " ".join(text.split()))
