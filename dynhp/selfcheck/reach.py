"""What training code can reach by name: where forgotten parts of a state are looked for."""

from __future__ import annotations

import dis
import functools
import inspect
import math
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from dynhp.frameworks import registered, runs_loops
from dynhp.selfcheck.contents import attributes, closure_variables

__all__ = [
    "Body",
    "body_of",
    "in_reach",
    "is_array",
    "is_library_kind",
    "is_module",
    "is_our_kind",
    "is_users_name",
    "loop_frames",
    "loop_names",
    "trainer_names",
    "variable_of",
    "variables_of",
]

# Names that every module has, and those of a notebook's cells: In, Out, _, __, _i, _12, _i3, _oh.
_NOT_THE_USERS = re.compile(r"__.*__|In|Out|_{1,3}|_i*\d*|_[dio]h")
_REFERENCES_OF_A_COPY = 3  # of its frame, of the variable, and of the count itself
_DEPTH = 3
_MOST_THINGS = 20_000
_LONGEST = 64  # a longer list holds data, not parts of a loop
_MOST_ARRAYS = 2_000  # a list of arrays may be averaged weights; only a longer one is data
_OF_ARRAYS = ("device", "dtype", "nbytes", "shape")  # tables and variables have no device
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_CLOSED = (BuiltinFunctionType, CodeType, FrameType)
_CODE = (FunctionType, ModuleType, type, property, classmethod, staticmethod)
_WAYS = (FunctionType, MethodType, functools.partial, ModuleType, type)  # they lead to things
_OPEN_LIBRARY = ("argparse", "builtins", "collections", "functools", "types")
# What every module of a model keeps of its own accord; parameters and modes are in its snapshot.
_OF_EVERY_MODULE = {"_parameters", "_buffers", "_non_persistent_buffers_set", "training"}
_FOR_USERS = ("testing", "loops.counter")  # toys and counters are made to be part of a loop

_ACTS = re.compile("LOAD|STORE|DELETE")
_OF_VARIABLES = re.compile("_(FAST|NAME|GLOBAL|DEREF|CLOSURE)")
_JUMPS = {*dis.hasjrel, *dis.hasjabs}

_Part = tuple[str, Any, int]  # a name, what it leads to, and how many steps away that is


def loop_names() -> dict[str, Any]:
    """The names that the code around dynhp sees now: its variables and those of its module."""
    names: dict[str, Any] = {}
    for frame in loop_frames():
        variables = variables_of(frame)
        if variables is not frame.f_globals:
            for name, thing in variables.items():
                names.setdefault(name, thing)
        for name, thing in list(frame.f_globals.items()):
            if is_users_name(name):
                names.setdefault(name, thing)
    return names


def loop_frames() -> list[FrameType]:
    """The frames of the code around dynhp; the names of nearer ones come before those of others.

    If no framework owns the loop, the code that runs it is the user's, also in an installed
    package. A loop may be wrapped (``for epoch in tqdm(loop)``, or a generator of one's own), so
    the search goes up through wrappers, and leaves out those from other packages.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        _is_our_code(frame.f_code, frame.f_globals.get("__name__", ""))
        or runs_loops(_package_of(frame))
    ):
        frame = frame.f_back
    frames = []
    while frame is not None:
        frames.append(frame)
        generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        is_wrapper = generator or frame.f_code.co_name == "__next__"
        frame = frame.f_back if is_wrapper else None
    return [
        each
        for each in frames
        if not _is_installed(each.f_code.co_filename)
        or _package_of(each) == _package_of(frames[-1])
    ]


def is_users_name(name: str) -> bool:
    """Whether a variable is the user's own, and none of Python's or of a notebook's cells.

    >>> is_users_name("steps"), is_users_name("_12"), is_users_name("__name__")
    (True, False, False)
    """
    return _NOT_THE_USERS.fullmatch(name) is None


def variables_of(frame: FrameType) -> Mapping[str, Any]:
    """The variables of running code; of a module, its own dictionary.

    >>> steps = 3; variables_of(sys._getframe())["steps"]
    3
    """
    variables = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return variables
    now = dict(variables)
    # Before Python 3.13 the frame keeps this copy, and with it tensors that the code drops. If the
    # code itself has the copy, as after `config = locals()`, it is not ours to clear.
    if isinstance(variables, dict) and sys.getrefcount(variables) == _REFERENCES_OF_A_COPY:
        variables.clear()
    return now


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


def in_reach(names: Mapping[str, Any]) -> dict[str, Any]:
    """All that these names lead to, each thing once, with the name by which its user knows it.

    Only what is stored is looked at (no property, no method is called), a few steps deep.

    >>> from types import SimpleNamespace
    >>> run = SimpleNamespace(steps=3, scales=[0.5])
    >>> list(in_reach({"run": run}))
    ['run', 'run.steps', 'run.scales', 'run.scales[0]']
    """
    reached: dict[str, Any] = {}
    seen: dict[int, Any] = {}
    ahead = deque((name, thing, _DEPTH) for name, thing in names.items())
    arrays: deque[_Part] = deque()  # they may be many and lead nowhere: they wait
    while (ahead or arrays) and len(reached) < _MOST_THINGS:
        name, thing, depth = (ahead or arrays).popleft()
        if type(thing) in _ATOMS:
            if name not in reached or reached[name] is not thing:  # else a function sees it too
                reached[_free(name, reached)] = thing
        elif id(thing) not in seen:
            seen[id(thing)] = thing
            with suppress(Exception):  # a proxy whose thing is gone, a length that raises
                is_way = isinstance(thing, _WAYS)
                if isinstance(thing, _CLOSED) or (not is_way and is_our_kind(type(thing))):
                    continue
                parts = list(_inside(name, thing))
                if not is_way:
                    reached[_free(name, reached)] = thing
                for inner, part, cost in parts:
                    if depth >= cost:
                        (arrays if is_array(part) else ahead).append((inner, part, depth - cost))
    return reached


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name itself, or with a number if another variable has the same one."""
    number, free = 2, name
    while free in taken:
        number, free = number + 1, f"{name} #{number}"
    return free


def _inside(name: str, thing: Any) -> Iterator[_Part]:
    if isinstance(thing, dict):
        yield from _items(name, dict.items(thing), len(thing))
    elif isinstance(thing, list | tuple | deque):
        yield from _items(name, enumerate(thing), len(thing))
    elif isinstance(thing, MethodType):
        yield f"{name}.__self__", thing.__self__, 1
    elif isinstance(thing, functools.partial):
        yield f"{name}.func", thing.func, 1
        yield f"{name}.args", thing.args, 1
        yield f"{name}.keywords", thing.keywords, 1
    elif isinstance(thing, FunctionType):
        yield from _used_by_function(name, thing)
    elif isinstance(thing, ModuleType | type):
        if _is_users_module(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__):
            for key, part in vars(thing).items():
                if not isinstance(part, _CODE) and not key.startswith("_"):
                    yield f"{name}.{key}", part, 1
    else:
        root, _, rest = type(thing).__module__.partition(".")
        is_counter = root == "dynhp" and rest == "loops.counter"
        # Not into locks, files and the like.
        closed = root in sys.stdlib_module_names and root not in _OPEN_LIBRARY
        if not is_counter and not closed:
            yield from _stored_in_object(name, thing)


def _items(name: str, items: Iterable[tuple[Any, Any]], number: int) -> Iterator[_Part]:
    """The items of a list or dictionary that is not too long for what it begins with."""
    for place, (key, part) in enumerate(items):
        if place == 0 and number > (_MOST_ARRAYS if is_array(part) else _LONGEST):
            return
        known = type(key) in _ATOMS  # others need not have a short text, or one at all
        yield f"{name}[{key!r}]" if known else f"{name}.values()[{place}]", part, 1


def _stored_in_object(name: str, thing: Any) -> Iterator[_Part]:
    stored = attributes(thing)
    module = is_module(thing)
    optimizer = "param_groups" in stored
    library = is_library_kind(type(thing))
    for key, part in stored.items():
        if optimizer and not key.endswith("_hooks"):  # its parameters and their memory are many
            continue
        if module and key == "_modules":  # however deep a model is, it counts as one thing
            yield from ((f"{name}.{child}", inner, 0) for child, inner in part.items())
        elif module and (key in _OF_EVERY_MODULE or "_hooks" in key):
            continue
        elif not library:
            yield f"{name}.{key}", part, 1
        elif isinstance(part, dict | list | tuple | deque):
            parts = _inside(f"{name}.{key}", part)
            yield from (each for each in parts if not _is_bookkeeping(each[1]))
        elif not _is_bookkeeping(part):
            yield f"{name}.{key}", part, 1


def _is_bookkeeping(part: Any) -> bool:
    """Numbers, texts and iterators inside an object of a library are its own affair."""
    return isinstance(part, _ATOMS) or any("__next__" in vars(kind) for kind in type(part).__mro__)


def _used_by_function(name: str, function: FunctionType) -> Iterator[_Part]:
    """What a function takes from around it, and what it keeps; of ours, what it was given."""
    code = function.__code__
    if _is_installed(code.co_filename):
        return
    for variable, part in closure_variables(function).items():
        yield variable, part, 0  # it sees them as if they were its own
    if not _is_our_code(code, function.__module__ or ""):
        for variable in code.co_names:
            if variable in function.__globals__:
                yield variable, function.__globals__[variable], 1
        values = function.__defaults__ or ()
        last = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        defaults = {**dict(zip(last, values, strict=True)), **(function.__kwdefaults__ or {})}
        yield from ((f"{name}({given})", part, 1) for given, part in defaults.items())
        yield from ((f"{name}.{key}", part, 1) for key, part in vars(function).items())


def is_module(thing: Any) -> bool:
    """Whether this is a module that holds parameters and other modules, seen by how it is made."""
    stored = attributes(thing)
    return isinstance(stored.get("_modules"), dict) and "_parameters" in stored


def is_array(thing: Any) -> bool:
    """Whether this is an array of numpy, or a tensor or array of a library like it.

    >>> is_array(np.zeros(1)), is_array([0.0])
    (True, False)
    """
    if isinstance(thing, np.ndarray | np.generic):
        return isinstance(thing, np.ndarray)
    kind = type(thing)
    return hasattr(kind, "__array__") and all(hasattr(kind, name) for name in _OF_ARRAYS)


def is_library_kind(kind: type) -> bool:
    """Whether a class comes from an installed library."""
    return _is_installed(getattr(sys.modules.get(kind.__module__), "__file__", None))


def is_our_kind(kind: type) -> bool:
    """Whether a class is dynhp's or an integration's, and not made to be part of a user's loop."""
    root, _, rest = kind.__module__.partition(".")
    integration = registered(root)
    for_users = _FOR_USERS if integration is None else integration.for_users
    module = sys.modules.get(kind.__module__)
    return (
        _is_ours(kind.__module__)
        and not rest.startswith(for_users)
        and getattr(module, kind.__name__, 0) is kind
    )


def _is_installed(filename: str | None) -> bool:
    return any(folder in (filename or "") for folder in ("site-packages", "dist-packages"))


def _is_users_module(name: str) -> bool:
    """Whether a module is a file of the user's own."""
    file = getattr(sys.modules.get(name), "__file__", None)
    library = name.partition(".")[0] in sys.stdlib_module_names or _is_installed(file)
    return (name == "__main__" or (file is not None and not library)) and not _is_ours(name)


def _is_our_code(code: CodeType, module: str) -> bool:
    """Whether code is dynhp's; its examples, which are typed in, have the name of their module."""
    return _is_ours(module) and not code.co_filename.startswith("<")


def _is_ours(module: str) -> bool:
    root, _, _ = module.partition(".")
    return root == "dynhp" or registered(root) is not None


def _package_of(frame: FrameType) -> str:
    """The name of the package, or of the single module, whose code is running here."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


class Body(NamedTuple):
    """What the body of a loop does with its variables."""

    anew: set[str] = frozenset()  # type: ignore[assignment]  # set before they are read
    carried: set[str] = frozenset()  # type: ignore[assignment]  # read first, and then set


def body_of(frames: Sequence[FrameType]) -> Body:
    """Which variables the code of a loop, from where it is now, sets before it reads them.

    What is set where a condition holds counts as far as that reaches. Nothing is said of code that
    is not in a ``for`` over what gives these frames, such as that around a framework's own loop.

    >>> def steps():
    ...     yield body_of([sys._getframe(1)])
    >>> def loop():
    ...     kept = total = 0
    ...     for body in steps():
    ...         made = total + 1
    ...         if made: kept = made
    ...         total = made + kept
    ...     return body
    >>> sorted(loop().anew), sorted(loop().carried)
    (['body', 'made'], ['kept', 'total'])
    """
    anew: set[str] = set()
    read: set[str] = set()
    for frame in frames:
        ends: list[int] = []  # of what a condition leaves out
        set_until: dict[str, float] = {}
        instructions = list(dis.get_instructions(frame.f_code))
        now = [each for each in instructions if each.offset <= frame.f_lasti]
        if not now or now[-1].opname != "FOR_ITER":
            continue
        for each in instructions[len(now) :]:
            if each.opcode in _JUMPS and each.opname != "FOR_ITER":
                ends.append(each.argval)
            if not _OF_VARIABLES.search(each.opname):
                continue
            names = each.argval if isinstance(each.argval, tuple) else (each.argval,)
            for act, name in zip(_ACTS.findall(each.opname), names, strict=False):
                if act == "STORE":
                    until = min((end for end in ends if end > each.offset), default=math.inf)
                    set_until[name] = max(until, set_until.get(name, 0))
                    anew.add(name)
                elif set_until.get(name, 0) <= each.offset:
                    read.add(name)
    return Body(anew - read, anew & read)


def variable_of(name: str) -> str:
    """The variable that the way to a thing begins with."""
    return re.split(r"[.\[ ]", name, maxsplit=1)[0]
