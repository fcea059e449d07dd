"""The names that training code sees: those around a loop, and those of a trainer."""

from __future__ import annotations

import inspect
import re
import sys
from types import FrameType, FunctionType
from typing import Any

from dynhp.selfcheck.owners import (
    is_installed,
    is_our_frame,
    is_our_kind,
    owns_the_loop,
    package_of,
)
from dynhp.selfcheck.reach import attributes

__all__ = ["loop_names", "trainer_names"]

# What each module has, and what a notebook keeps of its cells: In, Out, _, __, _i, _12, _i3, _oh.
_NOBODYS = re.compile(r"__.*__|In|Out|_{1,3}|_i*\d*|_[dio]h")


def loop_names() -> dict[str, Any]:
    """The names that the code around dynhp sees now: its variables and those of its module.

    Where no framework owns the loop, whoever runs it is the user, also in an installed package. A
    loop may be wrapped (``for epoch in tqdm(loop)``, or a generator of one's own), so the search
    goes up through wrappers, and leaves out the names of those that come from other packages.
    """
    names: dict[str, Any] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_our_frame(frame) or owns_the_loop(frame)):
        frame = frame.f_back
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back if _is_wrapper(frame) else None
    for each in frames:
        installed = is_installed(each.f_code.co_filename)
        if not installed or package_of(each) == package_of(frames[-1]):
            _add_names(names, each)
    return names


def _is_wrapper(frame: FrameType) -> bool:
    generator = bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
    return generator or frame.f_code.co_name == "__next__"


def _add_names(names: dict[str, Any], frame: FrameType) -> None:
    """The variables of a frame come before those of its module; nearer frames before others."""
    if frame.f_locals is not frame.f_globals:
        for name, thing in frame.f_locals.items():
            names.setdefault(name, thing)
    for name, thing in list(frame.f_globals.items()):
        if not _NOBODYS.fullmatch(name):
            names.setdefault(name, thing)


def trainer_names(trainer: Any) -> dict[str, Any]:
    """A trainer under its name, and the functions of its class, which use names of their module.

    >>> from dynhp.testing import Quadratic
    >>> sorted(trainer_names(Quadratic()))[-2:]
    ['train_k', 'trainer']
    """
    if is_our_kind(type(trainer)):  # made of functions, by ``trainer_from``
        return attributes(trainer)
    functions = {
        name: function
        for kind in type(trainer).__mro__
        for name, function in vars(kind).items()
        if isinstance(function, FunctionType)
    }
    return {**functions, "trainer": trainer}
