"""The largest norm of gradients as a place for a value: in force in every step of an optimiser."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from dynhp.errors import SettingsError, ValueNotInForce, shown
from dynhp.records import Value

__all__ = ["GradientClip", "gradient_clip"]


class GradientClip:
    """Clips the gradients before each ``optimizer.step()``; ``gradient_clip`` makes it.

    >>> import torch
    >>> GradientClip(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1), 1.0, 2.0)
    GradientClip(1.0)
    """

    kind: ClassVar[str] = "gradient_clip"

    def __init__(self, optimizer: Optimizer, max_norm: float, norm_type: float) -> None:
        self.optimizer = optimizer
        self._max_norm: Any = _require_norm(max_norm)
        self._norm_type = norm_type
        self._hook = optimizer.register_step_pre_hook(self._clip)

    def __repr__(self) -> str:
        return f"GradientClip({self._max_norm!r})"

    def set(self, value: Value) -> None:
        """Clip to this norm from the next step on."""
        self._max_norm = _require_norm(value)

    def get(self) -> Value:
        """The norm, or an error where the optimiser no longer clips."""
        hooks = self._hook.hooks_dict_ref()
        if hooks is None or self._hook.id not in hooks:
            raise ValueNotInForce(
                f"gradients should be clipped to {self._max_norm!r} but the hook is no longer in "
                "the optimiser; call gradient_clip(optimizer, ...) again, after the optimiser was "
                "made or loaded for the last time"
            )
        return self._max_norm  # type: ignore[no-any-return]

    def remove(self) -> None:
        """Clip no longer."""
        self._hook.remove()

    def _clip(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if getattr(optimizer, "grad_scale", None) is not None:
            raise SettingsError(
                f"gradient_clip: a GradScaler hands {type(optimizer).__name__} (fused) gradients "
                "that are still scaled, so they would be clipped too much; call "
                "scaler.unscale_(optimizer) before scaler.step(optimizer)"
            )
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        clip_grad_norm_(parameters, self._max_norm, norm_type=self._norm_type)


def gradient_clip(optimizer: Optimizer, max_norm: float, *, norm_type: float = 2.0) -> GradientClip:
    """Bind to the largest norm of the gradients: the optimiser clips them itself, in each step.

    Args:
        optimizer: the optimiser whose gradients are clipped, all of its groups together.
        max_norm: the norm to begin with; a large number such as 1e9 clips nothing.
        norm_type: the kind of norm, as in ``torch.nn.utils.clip_grad_norm_``.

    Take a ``clip_grad_norm_`` of your own out of the loop: of two, the smaller is in force. With a
    ``GradScaler`` the gradients are unscaled first, as ``scaler.step`` does it.

    >>> import torch
    >>> weight = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([weight], lr=1.0)
    >>> clip = gradient_clip(optimizer, 1.0); clip.set(0.25)
    >>> weight.grad = torch.tensor([3.0]); optimizer.step()
    >>> round(weight.item(), 3), clip.get()
    (0.75, 0.25)
    """
    if not isinstance(optimizer, Optimizer):
        raise SettingsError(f"gradient_clip needs an optimiser of torch, got {shown(optimizer)}")
    return GradientClip(optimizer, max_norm, norm_type)


def _require_norm(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SettingsError(
            f"gradient_clip: a largest norm must be a number above 0, got {shown(value)}; "
            "1e9 clips nothing"
        )
    return value
