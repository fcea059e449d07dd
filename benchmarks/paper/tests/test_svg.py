"""Pictures: what every chart is drawn with, and pictures that are files of their own."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks.paper.svg import PICTURE, Canvas, circle, standalone, text


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
    drawn = Canvas().picture([], label="loss")
    file = standalone(drawn, style="svg circle.gap { fill: red }\n")
    root = ElementTree.fromstring(file)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox") == "0 0 720 200"
    assert root[0].text == f"\n{PICTURE}svg circle.gap {{ fill: red }}\n"
    assert file.endswith("</svg>\n")
