"""Pictures as SVG text: what the charts of reports are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

__all__ = ["PICTURE", "Canvas", "circle", "standalone", "text"]

PICTURE = """\
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #d0d7de; --line: #0969da; --bg: #fff;
  --gap: #bc4c00; --dim: #57606a; --tint: #f6f8fa; --up: #1a7f37; --down: #cf222e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #30363d; --line: #58a6ff;
  --bg: #0d1117; --gap: #f0883e; --dim: #8b949e; --tint: #161b22; --up: #3fb950; --down: #f85149 } }

svg { width: 100%; max-width: 870px; font: 11px system-ui, sans-serif; background: var(--bg) }
svg text { fill: var(--ink) } svg line { stroke: var(--soft) }
svg polyline { fill: none; stroke: var(--line); stroke-width: 2 }
"""
"""The style sheet of pictures: the colours, light and dark, of lines and letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """The size of a picture and the margins around what is plotted in it.

    >>> Canvas().across(0.5), Canvas().down(1.0)
    (389.0, 174.0)
    """

    width: int = 720
    height: int = 200
    left: int = 70
    right: int = 12
    top: int = 12
    bottom: int = 26

    def across(self, share: float) -> float:
        """The place of this share of the way from left to right."""
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def down(self, share: float) -> float:
        """The place of this share of the way from top to bottom."""
        return round(self.top + share * (self.height - self.top - self.bottom), 1)

    def grid_line(self, y: float, name: str) -> str:
        """A line from left to right, with its name before it."""
        line = f'<line x1="{self.left}" x2="{self.width - self.right}" y1="{y}" y2="{y}"/>'
        return line + text(self.left - 6, y + 4, name, anchor="end")

    def picture(self, parts: Iterable[str], *, label: str) -> str:
        """All parts as one picture; screen readers read its label."""
        start = f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label='
        return "\n".join([f'{start}"{escape(label)}">', *parts, "</svg>"])


def text(x: float, y: float, content: str, *, anchor: str = "") -> str:
    """Text that begins at a place, or ends or has its middle there.

    >>> text(6, 7, "a < b", anchor="end")
    '<text x="6" y="7" text-anchor="end">a &lt; b</text>'
    """
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}"{anchored}>{escape(content)}</text>'


def circle(x: float, y: float, *, kind: str, radius: int, title: str = "") -> str:
    """A mark, which the style sheet colours by its kind; the title shows when it is pointed at.

    >>> circle(6, 7, kind="try", radius=2)
    '<circle class="try" cx="6" cy="7" r="2"/>'
    """
    mark = f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius}"'
    return f"{mark}><title>{escape(title)}</title></circle>" if title else f"{mark}/>"


def standalone(svg: str, *, style: str = "") -> str:
    """Make a picture of a page a file of its own, with its colours in it.

    >>> standalone('<svg viewBox="0 0 1 1"></svg>').startswith("<svg xmlns=")
    True
    """
    start, rest = svg.split(">", 1)
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {namespace}{start[4:]}>\n<style>\n{PICTURE}{style}</style>{rest}\n"
