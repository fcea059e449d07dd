"""An ending without a schedule: values stay, and the weights of the last steps are averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from dynhp._checks import require_number
from dynhp.records import Candidate

__all__ = ["Averaged", "averaged", "newest_weight", "require_share"]

SHARE = 0.1
"""Over about which last share of all steps so far weights are averaged."""


@dataclass(frozen=True, slots=True, repr=False)
class Averaged:
    """What ``averaged`` gives; integrations that know weights look for it in ``policy.course``."""

    share: float
    needs_end: ClassVar[bool] = False  # of a run, beforehand: the window grows with it

    def __repr__(self) -> str:
        return f"averaged({'' if self.share == SHARE else repr(self.share)})"

    def at(self, candidate: Candidate, progress: float) -> Candidate:
        """The candidate as it is: nothing changes along the run."""
        return candidate


def averaged(share: float = SHARE) -> Averaged:
    """Let a run end by averaged weights: values stay, and the average is what the run delivers.

    The core knows no weights: something in the state of the loop, or the trainer itself, averages
    them over about the last share of all steps so far, and has a ``deliver()`` that gives the model
    the average. Integrations have one, such as ``AveragedWeights(model, share=0.1)``; the callbacks
    of frameworks make their own, and deliver it at the end. Without one the policy is refused.

    Args:
        share: over about which last share of all steps so far the average is.

    >>> averaged(0.2).at(Candidate({"lr": 0.1}), 0.9)
    Candidate(lr=0.1)
    """
    return Averaged(require_share("averaged", share))


def require_share(caller: str, share: Any) -> float:
    """The last share of all steps that an average is of, refused unless it is one."""
    rule = "be a share above 0 and at most 1, such as 0.1 for the last tenth of the run so far"
    return require_number(f"{caller}: share", share, rule, lambda number: 0 < number <= 1)


def newest_weight(share: float, taken: Any, larger: Callable[[Any, Any], Any] = max) -> Any:
    """How much the newest weights count in an average over about the last share of all so far.

    The first ones are the average. Later ones move it by less and less, as if its window grew with
    the run. For ``share=0.1`` two thirds of the average are of the last tenth.

    Args:
        share: over about which last share the average is.
        taken: how many weights were taken into it before.
        larger: the larger one of two numbers, where ``taken`` is no number of Python.

    >>> [newest_weight(0.5, taken) for taken in range(4)]
    [1.0, 1.0, 0.6666666666666666, 0.5]
    """
    return 1 / larger(1.0, share * (taken + 1))
