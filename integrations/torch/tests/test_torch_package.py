"""The package as a whole: a helpful import, and an example for every name."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import dynhp
import dynhp_torch


def test_without_torch_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import dynhp_torch"
    paths = [str(Path(module.__file__ or "").parent.parent) for module in (dynhp, dynhp_torch)]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "ImportError: dynhp_torch needs PyTorch: pip install 'dynhp[torch]'" in done.stderr


def test_every_public_name_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    for name in dynhp_torch.__all__:
        thing = getattr(dynhp_torch, name)
        assert any(test.examples for test in finder.find(thing, name)), name
