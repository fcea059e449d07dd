"""The README and the pages of docs: examples print what the page shows, and links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("integrations/*/README.md")]
# A block of the README, and what it prints where that is shown below it.
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\nIt prints\n\n```\n(.*?)```\n)?", re.DOTALL)
EXAMPLES = EXAMPLE.findall((ROOT / "README.md").read_text("utf-8"))


def test_the_readme_has_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("code, shown", EXAMPLES, ids=range(len(EXAMPLES)))
def test_each_example_of_the_readme_runs_by_itself_and_prints_what_it_shows(
    code: str, shown: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stdout == (shown or done.stdout)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
