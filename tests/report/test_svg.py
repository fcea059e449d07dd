"""Pictures: what every chart is drawn with, and pictures that are files of their own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from dynhp.report.style import PICTURE
from dynhp.report.svg import Canvas, circle, line_chart, standalone, text


def grid(chart: str) -> list[tuple[str, str]]:
    """The height and the name of every line across."""
    return re.findall(r'<line .*?y1="([\d.]+)".*?>([^<]*)</text>', chart)


def test_pictures_with_the_same_axis_have_the_same_lines_whatever_their_values() -> None:
    axis = (0.1, 0.5, 0.9)
    first = line_chart([(0, 0.5), (10, 0.5)], label="first", axis=axis)
    second = line_chart([(0, 0.1), (10, 0.9)], label="second", axis=axis)
    assert grid(first) == grid(second) == [("174.0", "0.1"), ("93.0", "0.5"), ("12.0", "0.9")]
    assert 'points="70.0,93.0 708.0,93.0"' in first


def test_shares_of_a_canvas_begin_and_end_at_its_margins() -> None:
    canvas = Canvas(width=100, height=60, left=10, right=20, top=5, bottom=15)
    assert (canvas.across(0.0), canvas.across(1.0)) == (10.0, 80.0)
    assert (canvas.down(0.0), canvas.down(1.0)) == (5.0, 45.0)
    assert 'viewBox="0 0 100 60"' in canvas.picture([], label="nothing")


@pytest.mark.parametrize(
    "part",
    [
        text(1, 2, "<&>"),
        circle(1, 2, kind="try", radius=3, title="<&>"),
        Canvas().grid_line(3.0, "<&>"),
        Canvas().picture([], label='"<&>"'),
    ],
)
def test_what_is_written_is_escaped(part: str) -> None:
    assert "&lt;&amp;&gt;" in part
    ElementTree.fromstring(f"<svg>{part}</svg>")


def test_a_picture_of_its_own_has_its_colours_and_what_a_report_adds() -> None:
    drawn = line_chart([(0, 1.0), (10, 2.0)], label="loss")
    file = standalone(drawn, style="svg circle.gap { fill: red }\n")
    root = ElementTree.fromstring(file)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox") == "0 0 720 200"
    assert root[0].text == f"\n{PICTURE}svg circle.gap {{ fill: red }}\n"
    assert file.endswith("</svg>\n")
