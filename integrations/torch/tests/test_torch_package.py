"""The package as a whole: a helpful import, and an example for every name."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
from typing import Any, get_type_hints

import torch
from typing_extensions import Unpack

import dynhp
import dynhp_torch
from dynhp.loops import Loop, LoopOptions
from dynhp.loops.counting import Length
from dynhp.middleware import Display
from dynhp.policy import PolicyFields
from dynhp.testing import difference
from tests.support.messages import raises
from tests.support.packages import check_examples, check_says_what_to_install


def test_adapt_takes_what_adapt_of_the_core_takes() -> None:
    torch_side, core = (inspect.signature(module.adapt) for module in (dynhp_torch, dynhp))
    assert set(torch_side.parameters) == set(core.parameters) - {"read"} | {"lr"}
    for name in set(torch_side.parameters) - {"as_part", "lr", "space"}:
        assert torch_side.parameters[name] == core.parameters[name]


def test_the_options_of_adapt_are_said_once_with_their_types() -> None:
    # Loaded when they are used:
    names = {"Unpack": Unpack, "Display": Display, "Loop": Loop, "Length": Length}
    core = get_type_hints(dynhp.adapt, localns=names)
    options = get_type_hints(LoopOptions)
    own = set(options) - set(PolicyFields.__annotations__)
    assert {name: options[name] for name in own} == {name: core[name] for name in own}
    assert core["fields"] == Unpack[PolicyFields]
    wrong: dict[str, Any] = {"minimise": "loss"}
    with raises(TypeError):
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
    assert "Write import dynhp_torch, which lets it be stored." in message
    assert worked == "True"


def test_without_the_package_the_core_knows_who_knows_torch() -> None:
    code = (
        "import torch, dynhp; from dynhp.testing.laws.experiments import generators_put_back\n"
        "before = torch.get_rng_state()\n"
        "with generators_put_back(): torch.rand(3)\n"
        "print(torch.equal(before, torch.get_rng_state()))\n"
        "try: dynhp.adapt(4, state=[torch.nn.Linear(1, 1)], space={'lr': [1]}, minimize='loss',\n"
        "                 adapt_every=2, try_for=1)\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "True",
        "state: Linear is a torch object, and torch's generators belong to the state too; use "
        "adapt of dynhp_torch (pip install 'dynhp[torch]')",
    ], done.stderr


def test_files_and_generators_of_torch_are_compared_by_what_they_hold() -> None:
    def saved(*tensors: torch.Tensor) -> bytes:
        file = io.BytesIO()
        torch.save(tensors, file)
        return file.getvalue()

    one = torch.ones(2)
    assert saved(one, one) != saved(one, one.clone())
    assert difference(saved(one, one), saved(one, one.clone())) is None
    assert difference(saved(one), saved(one * 2)) is not None
    first, second = torch.Generator(), torch.Generator()
    assert difference(first, second) is None
    second.manual_seed(1)
    assert str(difference(first, second)).startswith("state.state[")
