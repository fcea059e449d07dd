"""The package as a whole: a helpful import, and an example for every name."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any, get_type_hints

import pytest

import dynhp
import dynhp_torch
from dynhp.loops import LoopOptions
from tests.support.packages import check_examples, check_says_what_to_install


def test_adapt_takes_what_adapt_of_the_core_takes() -> None:
    torch_side, core = (inspect.signature(module.adapt) for module in (dynhp_torch, dynhp))
    assert set(torch_side.parameters) == set(core.parameters) - {"read"} | {"lr"}
    for name in set(torch_side.parameters) - {"as_part", "lr", "space"}:
        assert torch_side.parameters[name] == core.parameters[name]


def test_the_options_of_adapt_are_said_once_with_their_types() -> None:
    core = get_type_hints(dynhp.adapt)
    options = get_type_hints(LoopOptions)
    assert options == {name: core[name] for name in options}
    wrong: dict[str, Any] = {"minimise": "loss"}
    with pytest.raises(TypeError, match="minimise"):
        dynhp_torch.adapt(3, state=[], space={"lr": [1]}, adapt_every=1, try_for=1, **wrong)


def test_without_torch_the_import_says_what_to_install() -> None:
    line = "dynhp_torch needs PyTorch: pip install 'dynhp[torch]'"
    check_says_what_to_install("dynhp_torch", "torch", line)


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_torch)


def test_without_the_package_a_tensor_in_a_state_says_what_to_import() -> None:
    code = (
        "import torch; from dynhp.storage.codecs import encode\n"
        "try: encode({'w': torch.ones(1)})\n"
        "except TypeError as error: print(error)\n"
        "import dynhp_torch; print(len(encode({'w': torch.ones(1)})) > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    message, worked = done.stdout.splitlines()
    assert message.startswith("state['w'] holds a torch.Tensor, which cannot be stored: tensor([1")
    assert "Write import dynhp_torch, which lets torch's things be stored." in message
    assert worked == "True"
