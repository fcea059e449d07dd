"""Figures that the source alone gives: arguments, whole objects, cycles, names and code lines."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

__all__ = [
    "SourceFile",
    "Taker",
    "arguments",
    "code_lines",
    "cycles",
    "declared_names",
    "imports",
    "listed_names",
    "modules",
    "private_functions",
    "statements",
    "takers",
]

_WHOLE_TYPE = re.compile(r"(?:^|[a-z])(Adapter|Policy|Loop)(?:View)?$")
_WHOLE_NAME = re.compile(r"^_?(adapter|policy|loop)$")
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of source: its dotted name, its text and what Python reads in it."""

    name: str
    text: str
    is_package: bool = False

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return _parsed(self.text)


@functools.cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def modules(*packages: Path) -> list[SourceFile]:
    """All modules below these folders, each of which is a package."""
    files = []
    for package in packages:
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package.parent).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            files.append(SourceFile(name, path.read_text("utf-8"), is_package))
    return files


# Size


def code_lines(text: str) -> int:
    """The lines that hold code: no blank ones, no comments, no docstrings.

    Any string that stands by itself as a statement counts as a docstring.

    >>> code_lines('"Says."\\n\\nx = (1,  # why\\n     2)\\n# no\\n')
    2
    """
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(_parsed(text)):
        if _is_docstring(node):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


def statements(text: str) -> int:
    """The statements without docstrings: they do not become fewer when lines are packed.

    >>> statements("'Says.'\\nx = 1; y = 2\\nif x: pass")
    4
    """
    nodes = ast.walk(_parsed(text))
    return sum(isinstance(node, ast.stmt) and not _is_docstring(node) for node in nodes)


def _is_docstring(node: ast.AST) -> TypeGuard[ast.Expr]:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


# Arguments


def arguments(files: Iterable[SourceFile], function: str) -> tuple[int, int]:
    """How many parameters a function (``adapt`` or ``Class.method``) has, and how many it accepts.

    ``self`` is none. ``**options: Unpack[Fields]`` is one parameter, but accepts all that the
    ``TypedDict`` named there has; one without ``Unpack`` accepts one more, whatever it is called.
    """
    files = list(files)
    given = _definition(files, function).args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if "." in function:
        named = named[1:]
    count = len(named) + (given.vararg is not None)
    if given.kwarg is None:
        return count, count
    annotation = given.kwarg.annotation
    unpacked = re.fullmatch(
        r"(?:\w+\.)*Unpack\[(?:\w+\.)*(\w+)\]", ast.unparse(annotation) if annotation else ""
    )
    fields = len(_fields(files, unpacked[1])) if unpacked else 1
    return count + 1, count + fields


def _definition(files: Iterable[SourceFile], function: str) -> Function:
    """The definition of a function or method; the last one, because overloads come before it."""
    owner, _, name = function.rpartition(".")
    matching: list[Function] = []
    for module in files:
        bodies: list[list[ast.stmt]] = [module.tree.body]
        if owner:
            bodies = [
                node.body
                for node in module.tree.body
                if isinstance(node, ast.ClassDef) and node.name == owner
            ]
        matching += [
            node
            for body in bodies
            for node in body
            if isinstance(node, Function) and node.name == name
        ]
    if not matching:
        raise LookupError(f"no function {function!r} in these modules")
    return matching[-1]


def _fields(files: Iterable[SourceFile], name: str) -> set[str]:
    """The fields of a class and of the classes it is made from, as far as they are ours."""
    for module in files:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                own = {
                    each.target.id
                    for each in node.body
                    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
                }
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                return own.union(*(_fields(files, base) for base in bases))
    return set()


# Whole objects


@dataclass(frozen=True, slots=True)
class Taker:
    """A function that takes a whole object, and what it does with it."""

    where: str
    parameter: str
    kind: str
    read: tuple[str, ...]
    is_handed_on: bool

    def __str__(self) -> str:
        read = ", ".join(self.read) or "nothing"
        more = ", and uses it whole" if self.is_handed_on else ""
        return f"{self.where}({self.parameter}) reads {read}{more}"


def takers(files: Iterable[SourceFile]) -> list[Taker]:
    """The functions that take a whole adapter, policy or loop.

    A parameter is one by its annotation (as ``DynamicGridAdapter``, ``AdapterView`` or ``Policy``)
    or by its name (``adapter``, ``policy``, ``loop``). Methods' own ``self`` is none, and functions
    without a body (of Protocols, overloads) do not count.
    """
    return [
        taker
        for module in files
        for qualified, function in _functions(module.tree.body)
        if not _is_empty(function)
        for taker in _taken(f"{module.name}.{qualified}", function)
    ]


def _functions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function]]:
    """All functions of a body with their qualified names, also those inside of others."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            if isinstance(node, Function):
                yield prefix + node.name, node
            yield from _functions(node.body, f"{prefix}{node.name}.")
        else:
            inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
            yield from _functions(inner, prefix)


def _is_empty(function: Function) -> bool:
    """Whether only a docstring, ``...`` or ``pass`` stands in it."""
    return all(
        isinstance(node, ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def _taken(where: str, function: Function) -> Iterator[Taker]:
    given = function.args
    for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        kind = _whole_kind(parameter)
        if kind is None:
            continue
        read: set[str] = set()
        parts: set[int] = set()
        uses: list[ast.Name] = []
        for node in (each for statement in function.body for each in ast.walk(statement)):
            if isinstance(node, ast.Attribute) and _is_name(node.value, parameter.arg):
                read.add(node.attr)
                parts.add(id(node.value))
            elif isinstance(node, ast.Name) and _is_name(node, parameter.arg):
                uses.append(node)
        handed_on = any(id(node) not in parts for node in uses)
        yield Taker(where, parameter.arg, kind, tuple(sorted(read)), handed_on)


def _whole_kind(parameter: ast.arg) -> str | None:
    """``adapter``, ``policy``, ``loop`` or nothing."""
    if parameter.annotation is not None:
        for name in re.findall(r"\w+", ast.unparse(parameter.annotation)):
            if match := _WHOLE_TYPE.search(name):
                return match[1].lower()
    match = _WHOLE_NAME.match(parameter.arg)
    return match[1] if match else None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


# Private functions


def private_functions(files: Iterable[SourceFile]) -> dict[str, int]:
    """How often each private function or method is used in its module or imported from it.

    Uses are matched by name, and those inside of the function itself do not count. Where several
    of a module share a name, each gets its part of the uses, rounded up.
    """
    files = list(files)
    imported = Counter(
        (node.module, alias.name)
        for module in files
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )
    uses: dict[str, int] = {}
    for module in files:
        tree = module.tree
        own: dict[str, list[tuple[str, Function]]] = {}
        for qualified, function in _functions(tree.body):
            if re.match(r"_(?!_)", function.name):
                own.setdefault(function.name, []).append((qualified, function))
        everywhere = _names_used(tree)
        for name, group in own.items():
            inside = sum(_names_used(function)[name] for _, function in group)
            count = everywhere[name] - inside + imported[(module.name, name)]
            for qualified, _ in group:
                uses[f"{module.name}.{qualified}"] = -(-count // len(group))
    return uses


def _names_used(tree: ast.AST) -> Counter[str]:
    return Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )


# Imports


def imports(
    files: Iterable[SourceFile], part_of: Callable[[str], str], *, for_types: bool
) -> dict[str, set[str]]:
    """Which part of a package imports which others when it is imported itself.

    ``part_of`` says which part a module belongs to. Imports inside of functions do not count, those
    under ``TYPE_CHECKING`` only with ``for_types``.
    """
    files = list(files)
    known = {module.name for module in files}
    graph: dict[str, set[str]] = {part_of(module.name): set() for module in files}
    for module in files:
        here = part_of(module.name)
        for name in _imported(module.tree.body, known, for_types=for_types):
            if (there := part_of(name)) != here:
                graph[here].add(there)
    return graph


def _imported(body: Iterable[ast.AST], known: set[str], *, for_types: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imported(node.body if for_types else (), known, for_types=for_types)
            yield from _imported(node.orelse, known, for_types=for_types)
        elif not isinstance(node, Function | ast.Lambda):
            yield from _imported(ast.iter_child_nodes(node), known, for_types=for_types)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of parts each of which reaches all others of its group, the largest first.

    >>> cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})
    [['b', 'c']]
    """
    reached = {name: _reached(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached.get(other, ())))
        for name in graph
        if name in reached[name]
    }
    return sorted(map(list, groups), key=lambda group: (-len(group), group))


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(graph.get(name, ()))
    return reached


# Names


def declared_names(module: SourceFile) -> list[str]:
    """What a module's ``__all__`` lists, in one assignment or several."""
    names: list[str] = []
    for node in module.tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        if any(_is_name(target, "__all__") for target in targets):
            names += [
                each.value
                for each in ast.walk(node)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
    return names


def listed_names(page: str) -> dict[str, int]:
    """How many names each module has on the page of the API."""
    counts: dict[str, int] = {}
    module = ""
    for line in page.splitlines():
        if heading := re.match(r"## `(.+)`", line):
            module = heading[1]
        elif re.match(r"\| `", line):
            counts[module] = counts.get(module, 0) + 1
    return counts
