"""The state of a module: every tensor and every mode, copied out and written back in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dynhp.errors import ContractError, SettingsError
from dynhp.loops import Part
from dynhp_torch.parts.shards import LocalShard, require_supported, reshard
from dynhp_torch.parts.tensors import cloned, fits, made, set_grad, write_into

__all__ = ["ModuleState", "module_part", "modes_part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleState:
    """All that a module's future depends on, except plain attributes that it adds itself."""

    parameters: dict[str, Tensor | LocalShard]
    gradients: dict[str, Tensor | LocalShard | None]
    trainable: dict[str, bool]
    buffers: dict[str, Tensor | LocalShard]
    modes: dict[str, bool]
    extra: dict[str, Any]


def module_part(module: nn.Module) -> Part:
    """A module's parameters, gradients, buffers (all of them) and train/eval modes.

    Writing back goes into the tensors that are there, so that optimisers keep their references. Of
    a model that ``fully_shard`` has spread over ranks each rank takes and writes its own shards.

    >>> layer = nn.Linear(2, 1)
    >>> part = module_part(layer)
    >>> state = part.get()
    >>> _ = nn.init.zeros_(layer.weight); _ = layer.eval()
    >>> part.set(state); bool(layer.weight.any()), layer.training
    (True, True)
    """
    require_supported(module)
    for name, parameter in module.named_parameters():
        if nn.parameter.is_lazy(parameter):
            raise SettingsError(
                f"state: the parameter {name!r} has no shape yet; run the model once on a batch "
                "before its state is taken"
            )
    own = dict(module.named_buffers())  # safe to write into; what replaces them may be shared
    return Part(get=lambda: _get(module), set=lambda state: _set(module, state, own))


def modes_part(module: nn.Module) -> Part:
    """The train/eval modes alone.

    >>> dropout = nn.Dropout()
    >>> part = modes_part(dropout); modes = part.get()
    >>> _ = dropout.eval(); part.set(modes); dropout.training
    True
    """
    return Part(get=lambda: _modes(module), set=lambda state: _set_modes(module, state))


def _get(module: nn.Module) -> ModuleState:
    reshard(module)
    parameters = dict(module.named_parameters())
    return ModuleState(
        parameters={name: cloned(parameter) for name, parameter in parameters.items()},
        gradients={name: cloned(parameter.grad) for name, parameter in parameters.items()},
        trainable={name: parameter.requires_grad for name, parameter in parameters.items()},
        buffers={name: cloned(buffer) for name, buffer in module.named_buffers()},
        modes=_modes(module),
        extra={name: cloned(part.get_extra_state()) for name, part in _with_extra(module)},
    )


@torch.no_grad()
def _set(module: nn.Module, state: ModuleState, own: dict[str, Tensor]) -> None:
    reshard(module)
    added = _take_out(module, state.modes)
    parameters = dict(module.named_parameters())
    _require_same(parameters, state.parameters)
    for name, parameter in parameters.items():
        write_into(parameter, state.parameters[name])
        parameter.requires_grad_(state.trainable[name])
        set_grad(parameter, state.gradients[name])
    _set_buffers(module, state.buffers, own)
    _set_modes(module, state.modes)
    for name, part in _with_extra(module):
        part.set_extra_state(made(state.extra[name]))
    gone = [repr(name) for name in state.modes.keys() - dict(module.named_modules()).keys()]
    if added or gone:
        raise ContractError(
            "a module must keep its parts while a run goes on, also those without parameters; "
            f"changed in a pass that is undone now: {', '.join([*added, *sorted(gone)])}. Build "
            "the whole module before the loop, and switch a part on by a number, such as the p of "
            "a Dropout"
        )


def _take_out(module: nn.Module, modes: dict[str, bool]) -> list[str]:
    """Take out of a module what was not in it: then all else can be put back."""
    parts = dict(module.named_modules())
    added = [name for name in parts if name not in modes and name.rpartition(".")[0] in modes]
    for name in added:
        owner, _, last = name.rpartition(".")
        delattr(module.get_submodule(owner), last)
    return [f"{name!r} ({type(parts[name]).__name__})" for name in added]


def _set_buffers(
    module: nn.Module, saved: dict[str, Tensor | LocalShard], own: dict[str, Tensor]
) -> None:
    current = dict(module.named_buffers())
    for name in current.keys() - saved.keys():
        _assign(module, name, None)
    for name, value in saved.items():
        buffer = own.get(name)
        if buffer is not None and fits(buffer, value):
            write_into(buffer, value)
        else:
            buffer = own[name] = made(value, buffer)
        if current.get(name) is not buffer:
            _assign(module, name, buffer)


def _assign(module: nn.Module, name: str, buffer: Tensor | None) -> None:
    owner, _, last = name.rpartition(".")
    setattr(module.get_submodule(owner), last, buffer)


def _modes(module: nn.Module) -> dict[str, bool]:
    return {name: part.training for name, part in module.named_modules()}


def _set_modes(module: nn.Module, modes: dict[str, bool]) -> None:
    for name, part in module.named_modules():
        part.training = modes.get(name, part.training)  # what is not in it any more has no mode


def _with_extra(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, part in module.named_modules():
        if type(part).get_extra_state is not nn.Module.get_extra_state:
            yield name, part


def _require_same(here: dict[str, nn.Parameter], saved: dict[str, Tensor | LocalShard]) -> None:
    shapes, saved_shapes = (
        {name: tuple(parameter.shape) for name, parameter in parameters.items()}
        for parameters in (here, saved)
    )
    if shapes != saved_shapes:
        changed = dict(shapes.items() ^ saved_shapes.items())
        raise ContractError(
            "a module must keep its parameters and their shapes while a run goes on; changed: "
            f"{', '.join(sorted(changed))}. Freeze layers with requires_grad instead"
        )
