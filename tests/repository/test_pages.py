"""The README and the pages of docs: examples print what is shown, and links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT, *ROOT.glob("integrations/*")]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("integrations/*/README.md")]
# A block, and what it prints where that is shown below it.
EXAMPLE = re.compile(
    r"```python\n(.*?)```\n(?:\n(?:It prints[^\n]*\n\n)?```\n(.*?)```\n)?", re.DOTALL
)
README = EXAMPLE.findall((ROOT / "README.md").read_text("utf-8"))
SHOWING = ["is-my-loop-right", "how-long", "callbacks", "the-rate-nobody-put-back", "security"]
SHOWING += ["plateau", "rescue", "index", "concepts"]
MARK = "=====\n"


def printed(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, SOURCES))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_has_examples() -> None:
    assert len(README) >= 1


@pytest.mark.parametrize(("code", "shown"), README, ids=range(len(README)))
def test_each_example_of_the_readme_runs_by_itself_and_prints_what_it_shows(
    code: str, shown: str, tmp_path: Path
) -> None:
    if "import torch" in code:
        pytest.importorskip("torch")
    output = printed(code, tmp_path)
    assert output
    assert output == (shown or output)


@pytest.mark.parametrize("page", SHOWING)
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    if "import torch" in text:
        pytest.importorskip("torch")
    examples = EXAMPLE.findall(text)
    code = f"print({MARK!r}, end='')\n".join(code for code, _ in examples)
    outputs = printed(code, tmp_path).split(MARK)
    shown = [(output, shown) for output, (_, shown) in zip(outputs, examples, strict=True) if shown]
    assert shown
    for output, expected in shown:
        assert output.split() == expected.split()  # long lines are broken on the page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_heading_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*\.md)?#([^)\s]+)\)", page.read_text("utf-8"))
    for file, anchor in links:
        target = page.parent / file if file else page
        assert anchor in anchors(target), f"{page.relative_to(ROOT)} links to {file}#{anchor}"
