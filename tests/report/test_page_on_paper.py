"""The page as it is printed by a real browser: nothing is blank, nothing is distorted.

``make test-report`` runs it; without DYNHP_BROWSER, the name of a Chromium, it is skipped.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.test_page_in_browser import PROGRAM, is_clean, one_run
from tests.support.browser import Browser, browser

pytestmark = pytest.mark.skipif(not PROGRAM, reason="needs a browser: make test-report")


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(PROGRAM, tmp_path_factory.mktemp("profile")) as made:
        yield made


def printed(window: Browser, folder: Path, *, without: str = "") -> Any:
    """The pages as they come out of a printer that prints no backgrounds, as grey dots."""
    rule = f"{without} {{ visibility: hidden !important }}" if without else ""
    style = f"Object.assign(document.createElement('style'), {{textContent: {json.dumps(rule)}}})"
    window.js(f"void document.head.appendChild({style})")
    pdf, picture = folder / "page.pdf", folder / "page"
    pdf.write_bytes(base64.b64decode(window.call("Page.printToPDF", paperHeight=40)["data"]))
    command = ["pdftoppm", "-gray", "-r", "50", "-singlefile", str(pdf), str(picture)]
    subprocess.run(command, check=True)
    kind, width, height, _, dots = picture.with_suffix(".pgm").read_bytes().split(None, 4)
    assert kind == b"P5"
    return np.frombuffer(dots, dtype=np.uint8).reshape(int(height), int(width)).astype(int)


@pytest.mark.skipif(not shutil.which("pdftoppm"), reason="needs pdftoppm, of poppler-utils")
@pytest.mark.parametrize("look", [{}, {"dark": True}, {"width": 390, "height": 800}])
def test_it_can_be_printed(look: dict[str, Any], window: Browser, tmp_path: Path) -> None:
    path = one_run(tmp_path / "page.html")
    window.open(path, **look)
    whole = printed(window, tmp_path)
    assert whole.mean() > 240  # dark ink on a light page
    again = printed(window, tmp_path)
    parts = {f"#{part} canvas": 500 for part in ("schedule", "tries", "metrics")}
    parts |= {"#cost .stack": 500, "#cost .legend i": 20, "#round .meter": 100}
    for part, least in {**parts, "#tries .key i": 20}.items():
        window.open(path, **look)
        ink = abs(whole - printed(window, tmp_path, without=part)) > 8
        assert ink.sum() > least, part
        rows, columns = np.nonzero(ink)
        if least == 500:
            assert np.ptp(columns) > 0.8 * whole.shape[1], part  # as wide as the page
        place = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        assert (255 - again[place]).sum() > 0.5 * (255 - whole[place]).sum(), part
    assert is_clean(window)


def test_charts_are_drawn_for_the_width_of_a_printed_page_and_then_as_before(
    window: Browser, tmp_path: Path
) -> None:
    for width in (1200, 390):
        window.open(one_run(tmp_path / "page.html"), width=width)
        sizes = "[...document.querySelectorAll('canvas:not(.over)')].map(c => c.width)"
        window.js(f"addEventListener('beforeprint', () => {{ window.sizes = {sizes} }})")
        window.call("Page.printToPDF")
        assert set(window.js("window.sizes")) == {1400}  # two dots for each of 700
        window.box("#schedule .area")
        wide = window.js("document.querySelector('#schedule .area').clientWidth")
        assert window.js("document.querySelector('#schedule canvas').width") == wide
    assert is_clean(window)
