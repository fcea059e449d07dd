"""A report as one self-contained HTML page: opens without network, needs no scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from dynhp_pyg.paper.document import Cell, Figure, Section, Table

__all__ = ["page", "standalone"]

_COLORS = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #d0d7de; --line: #0969da; --bg: #fff;
  --gap: #bc4c00; --dim: #57606a; --tint: #f6f8fa; --up: #1a7f37; --down: #cf222e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #30363d; --line: #58a6ff;
  --bg: #0d1117; --gap: #f0883e; --dim: #8b949e; --tint: #161b22; --up: #3fb950; --down: #f85149 } }
"""
_PICTURE = """
svg { width: 100%; max-width: 870px; font: 11px system-ui, sans-serif; background: var(--bg) }
svg text { fill: var(--ink) } svg line { stroke: var(--soft) }
svg polyline { fill: none; stroke: var(--line); stroke-width: 2 }
svg circle.published { fill: var(--bg); stroke: var(--dim); stroke-width: 1.5 }
svg circle.search { fill: var(--ink) } svg line.search { stroke: var(--ink) }
svg circle.validation { fill: var(--line) } svg line.validation { stroke: var(--line) }
svg circle.gap { fill: var(--gap) } svg line.gap { stroke: var(--gap) }
svg circle.placebo { fill: var(--dim) } svg line.placebo { stroke: var(--dim) }
"""
_PAGE = """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--bg);
  max-width: 1180px; margin: 2rem auto; padding: 0 1rem } p, li { max-width: 52rem }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--soft) }
nav a { margin-right: 1rem; white-space: nowrap }
a { color: var(--line) } .wide { overflow-x: auto } small, .note { color: var(--dim) }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
td, th { border-bottom: 1px solid var(--soft); padding: .25rem .6rem; text-align: left;
  vertical-align: top } th { background: var(--tint) } td small { display: block; font-size: 11px }
td { white-space: nowrap } td.long { white-space: normal; max-width: 40rem }
.warning { border-left: 4px solid var(--gap); background: var(--tint); padding: .5rem .8rem;
  font-weight: 600 }
.above, .below { font-weight: 600 } .above { color: var(--up) } .below { color: var(--down) }
.note { font-size: 13px; margin-top: .4rem } summary { cursor: pointer; margin: .8rem 0 }
"""


def page(title: str, sections: Sequence[Section]) -> str:
    """Write the page as text.

    >>> "<h1>Report</h1>" in page("Report", [])
    True
    """
    links = (f'<a href="#{_anchor(each.title)}">{escape(each.title)}</a>' for each in sections)
    body = [f"<h1>{escape(title)}</h1>", f"<nav>{' '.join(links)}</nav>"]
    for section in sections:
        body.append(f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>')
        body += (f'<p class="warning">{escape(each)}</p>' for each in section.warnings)
        body += (f"<p>{escape(text)}</p>" for text in section.text)
        if section.points:
            points = "".join(f"<li>{escape(each)}</li>" for each in section.points)
            body.append(f"<ul>{points}</ul>")
        body += (line for part in section.parts for line in _part(part))
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"/>\n'
        f"<title>{escape(title)}</title>\n<style>{_COLORS}{_PICTURE}{_PAGE}</style></head>\n"
        "<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def standalone(svg: str) -> str:
    """Make a picture of the page a file of its own, with its colours in it.

    >>> standalone('<svg viewBox="0 0 1 1"></svg>').startswith("<svg xmlns=")
    True
    """
    head, rest = svg.split(">", 1)
    space = 'xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {space}{head[4:]}>\n<style>{_COLORS}{_PICTURE}</style>{rest}\n"


def _part(part: Table | Figure) -> Iterable[str]:
    title = escape(part.title)
    yield f"<details><summary>{title}</summary>" if part.folded else f"<h3>{title}</h3>"
    yield _table(part) if isinstance(part, Table) else part.svg
    named = f" In {part.name}.csv." if isinstance(part, Table) and part.name else ""
    if part.note or named:
        yield f'<p class="note">{escape(part.note.strip() + named)}</p>'
    if part.folded:
        yield "</details>"


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    heads = f"<tr>{heads}</tr>" if any(table.heads) else ""
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f'<div class="wide"><table>\n{heads}\n{rows}\n</table></div>'


def _cell(cell: Cell) -> str:
    kind = "long" if len(cell.text) > 60 else cell.side
    side = f' class="{kind}"' if kind else ""
    small = f"<small>{escape(cell.small)}</small>" if cell.small else ""
    return f"<td{side}>{escape(cell.text)}{small}</td>"


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower()).strip("-")
