"""The trainers of installed packages: each is loaded by itself, whatever is amiss with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Literal

from dynhp.errors import SettingsError
from dynhp.spaces import SpaceLike
from dynhp.testing.laws import Make

GROUP = "dynhp.trainers"


@dataclass(frozen=True, slots=True)
class Example:
    """What a factory gives: a trainer's maker, its space, and the laws it cannot keep and why."""

    make: Make
    space: SpaceLike
    expected_failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a trainer cannot be checked: a package is missing (skipped), or it is BROKEN itself."""

    status: Literal["skipped", "BROKEN"]
    reason: str

    def __str__(self) -> str:
        return f"{self.status:<9}{self.reason}"


def trainer_points() -> list[metadata.EntryPoint]:
    """The entry points of all installed trainers, by name."""
    return sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name)


def title(point: metadata.EntryPoint) -> str:
    """The name of a trainer, with its package where that is not dynhp itself."""
    if point.dist is None or point.dist.name == "dynhp":
        return point.name
    return f"{point.name} ({point.dist.name} {point.dist.version})"


def load(point: metadata.EntryPoint) -> Example | Unusable:
    """Give the example of a package, or why there is none; never an exception of the package's."""
    try:
        return example_of(point.name, point.load())
    except SettingsError as error:
        return Unusable("BROKEN", str(error))
    except ImportError as error:
        if _is_missing_package(error, point):
            return Unusable("skipped", _with_way_out(error, point))
        return Unusable("BROKEN", f"{point.value}: {type(error).__name__}: {error}")
    except (Exception, SystemExit) as error:  # a package that ends the program ends only itself
        return Unusable("BROKEN", f"{point.value}: {type(error).__name__}: {error}")


def example_of(name: str, factory: Callable[[], object]) -> Example:
    """Call a factory and refuse what is no example; a missing package stays an ImportError."""
    try:
        made = factory()
    except ImportError:
        raise
    except Exception as error:
        raise SettingsError(f"{name}() raised {type(error).__name__}: {error}") from error
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise SettingsError(
            f"{name}() must return (make, space) or (make, space, expected_failures), got {made!r}"
        )
    return Example(*made)


def _is_missing_package(error: ImportError, point: metadata.EntryPoint) -> bool:
    """Whether another package is missing; a missing module of the plug-in's own is its mistake."""
    own = point.module.partition(".")[0]
    return "pip install" in str(error) or any(
        isinstance(each, ModuleNotFoundError) and (each.name or "").partition(".")[0] != own
        for each in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _with_way_out(error: ImportError, point: metadata.EntryPoint) -> str:
    text = str(error)
    if "pip install" in text or point.dist is None:
        return text
    extras = point.dist.metadata.get_all("Provides-Extra") or []
    extra = f"[{point.name}]" if point.name in extras else ""
    return f"{text}: pip install '{point.dist.name}{extra}'"
