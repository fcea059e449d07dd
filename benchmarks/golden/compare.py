"""What two versions made of the same golden run, and whether a difference was expected."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIRST = ("error", "history", "state")
"""Sections that are looked at first, because the others follow from them."""

BESIDE = ("calls", "message")
"""Sections that are no part of the answer: calls may become fewer, and messages may be reworded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a run of one version compares with that of the other.

    Attributes:
        name: the name of the run.
        sections: the sections that differ, those beside the answer left out.
        first: where the first difference is, and what became of what; empty where all is equal.
        rose: the calls of the trainer that became more, and how many.
        fell: whether some became fewer.
        reworded: whether the message of its error is another one.
    """

    name: str
    sections: tuple[str, ...] = ()
    first: str = ""
    rose: str = ""
    fell: bool = False
    reworded: bool = False

    @property
    def kind(self) -> str:
        """The kind of run."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A difference that is meant: in which runs, in which of their sections, and why."""

    runs: str
    reason: str
    sections: tuple[str, ...] = ()
    calls: bool = False

    def covers(self, comparison: Comparison) -> bool:
        """Whether it is about this run; ``*`` in its name stands for anything."""
        pattern = re.escape(self.runs).replace(r"\*", ".*")
        return re.fullmatch(pattern, comparison.name) is not None

    def explains(self, comparison: Comparison) -> bool:
        """Whether all that differs in this run is expected."""
        if not self.covers(comparison):
            return False
        unexplained = set(comparison.sections).difference(self.sections or comparison.sections)
        return not unexplained and (self.calls or not comparison.rose)


def compared(
    name: str, before: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> Comparison:
    """Compare the records of one run.

    >>> compared("a/b", {"state": "0.1", "message": "old"}, {"state": "0.1", "message": "new"})
    Comparison(name='a/b', sections=(), first='', rose='', fell=False, reworded=True)
    """
    if before is None or now is None:
        missing = "the commit before" if before is None else "this version"
        return Comparison(name=name, sections=("run",), first=f"{missing} has no such run")
    broken = {"broken": None, **before}["broken"] or {"broken": None, **now}["broken"]
    if broken:
        return Comparison(name=name, sections=("broken",), first=str(broken).strip()[-300:])
    before, now = _checks_apart(_said_alike(before, now)), _checks_apart(now)
    sections = [
        section
        for section in dict.fromkeys([*FIRST, *before, *now])
        if section not in BESIDE and before.get(section) != now.get(section)
    ]
    differing = [(section, before.get(section), now.get(section)) for section in sections]
    calls = {
        call: (before.get("calls", {}).get(call, 0), count)
        for call, count in now.get("calls", {}).items()
    }
    return Comparison(
        name=name,
        sections=tuple(sections),
        first=first_difference(*differing[0]) if differing else "",
        rose=", ".join(f"{call} {old} -> {new}" for call, (old, new) in calls.items() if new > old),
        fell=any(new < old for old, new in calls.values()),
        reworded=before.get("message") != now.get("message"),
    )


DRY_RUN = repr("a dry run: the value in force is kept, whatever the tries scored")  # as recorded


def _said_alike(before: Any, now: Any) -> Any:
    """What was before, but a dry run gives its reason in the words of today.

    >>> _said_alike([{"chosen": 0, "reason": "won"}], [{"chosen": 1, "reason": DRY_RUN}])
    [{'chosen': 0, 'reason': "'a dry run: the value in force is kept, whatever the tries scored'"}]
    """
    if isinstance(before, dict) and isinstance(now, dict):
        return {
            key: DRY_RUN
            if key == "reason" and now.get(key) == DRY_RUN
            else _said_alike(each, now.get(key))
            for key, each in before.items()
        }
    if isinstance(before, list) and isinstance(now, list):
        both = zip_longest(before, now[: len(before)])
        return [_said_alike(old, new) for old, new in both]
    return before


def _checks_apart(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose epochs of self-checks are a section of their own: a resumed run has more."""
    checks: list[Any] = []
    others = {section: _without_checks(content, checks) for section, content in record.items()}
    return {**others, "checked": checks} if checks else others


def _without_checks(thing: Any, checks: list[Any]) -> Any:
    if isinstance(thing, dict):
        if "checked" in thing:
            checks.append(thing["checked"])
        return {
            key: _without_checks(each, checks) for key, each in thing.items() if key != "checked"
        }
    return [_without_checks(each, checks) for each in thing] if isinstance(thing, list) else thing


def first_difference(path: str, before: Any, now: Any) -> str:
    """The place where two plain things differ first, and what became of what.

    >>> first_difference("history", [{"seed": 1}], [{"seed": 2}])
    'history[0].seed: 1 -> 2'
    """
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            if before.get(key) != now.get(key):
                return first_difference(f"{path}.{key}", before.get(key), now.get(key))
    if isinstance(before, list) and isinstance(now, list):
        for place, (old, new) in enumerate(zip(before, now, strict=False)):
            if old != new:
                return first_difference(f"{path}[{place}]", old, new)
        if len(before) != len(now):
            return f"{path}: {len(before)} entries -> {len(now)}"
    return f"{path}: {_short(before)} -> {_short(now)}"


def _short(thing: Any, most: int = 100) -> str:
    text = str(thing)
    return text if len(text) <= most else f"{text[:most]}..."


def read_expected(path: Path) -> list[Expected]:
    """The differences that are meant."""
    listed = tomllib.loads(path.read_text("utf-8"))["expected"]
    return [Expected(**{**each, "sections": tuple(each.get("sections", ()))}) for each in listed]


def unexpected(comparisons: Iterable[Comparison], expected: Iterable[Expected]) -> list[Comparison]:
    """The runs that differ, or whose calls became more, where that is not listed."""
    wrong = [comparison for comparison in comparisons if comparison.sections or comparison.rose]
    entries = list(expected)
    return [each for each in wrong if not any(entry.explains(each) for entry in entries)]


def without_difference(
    comparisons: Iterable[Comparison], expected: Iterable[Expected]
) -> list[Expected]:
    """What is listed about the kinds that were run, though none of its runs differs."""
    known = list(comparisons)
    kinds = {comparison.kind for comparison in known}
    return [
        entry
        for entry in expected
        if entry.runs.partition("/")[0] in kinds
        and not any(entry.covers(each) and (each.sections or each.rose) for each in known)
    ]


def table(comparisons: Iterable[Comparison], wrong: Iterable[Comparison]) -> str:
    """A line for each kind, and one for all."""
    rows: dict[str, list[int]] = {}
    unlisted = {comparison.name for comparison in wrong}
    for comparison in comparisons:
        differs = bool(comparison.sections or comparison.rose)
        counts = (
            1,
            not differs,
            differs and comparison.name not in unlisted,
            comparison.name in unlisted,
            comparison.fell,
            comparison.reworded,
        )
        for kind in (comparison.kind, "all"):
            row = rows.setdefault(kind, [0] * len(counts))
            rows[kind] = [known + int(more) for known, more in zip(row, counts, strict=True)]
    rows["all"] = rows.pop("all", [0] * 6)
    heads = ("runs", "equal", "expected", "UNEXPECTED", "fewer calls", "reworded")
    lines = [f"{'kind':14}" + "".join(f"{head:>12}" for head in heads)]
    lines += [f"{kind:14}" + "".join(f"{n:12}" for n in row) for kind, row in rows.items()]
    return "\n".join(lines)
