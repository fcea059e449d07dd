"""The package as a whole: the same words as the core, a helpful import, examples."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import dynhp
import dynhp_torch


def test_adapt_has_the_signature_of_the_core() -> None:
    torch_side, core = (inspect.signature(module.adapt) for module in (dynhp_torch, dynhp))
    assert list(torch_side.parameters) == list(core.parameters)
    for name, parameter in torch_side.parameters.items():
        assert parameter.kind is core.parameters[name].kind
        if name != "as_part":
            assert parameter.default == core.parameters[name].default
            assert parameter.annotation == core.parameters[name].annotation


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
