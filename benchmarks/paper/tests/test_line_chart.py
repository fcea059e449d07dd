"""The chart of a ratio: pictures that are compared have the same axis."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from benchmarks.paper.figures import line_chart


def grid(chart: str) -> list[tuple[str, str]]:
    """The height and the name of every line across."""
    return re.findall(r'<line .*?y1="([\d.]+)".*?>([^<]*)</text>', chart)


def test_pictures_with_the_same_axis_have_the_same_lines_whatever_their_values() -> None:
    axis = (0.1, 0.5, 0.9)
    first = line_chart([(0, 0.5), (10, 0.5)], label="first", axis=axis)
    second = line_chart([(5, 0.1), (10, 0.9)], label="<second>", axis=axis)
    assert grid(first) == grid(second) == [("174.0", "0.1"), ("93.0", "0.5"), ("12.0", "0.9")]
    assert 'points="70.0,93.0 708.0,93.0"' in first
    assert 'points="70.0,174.0 708.0,12.0"' in second
    words = [each.text for each in ElementTree.fromstring(second).iter("text")]
    assert words[-2:] == ["5", "10 epochs"]
