"""The laws that every trainer must obey, and the ways to check them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from dynhp.errors import DynhpError, LawBroken, SettingsError, nearest
from dynhp.selfcheck.contents import shown
from dynhp.spaces import SpaceLike
from dynhp.testing.laws import composition, force, isolation, order, purity, restore
from dynhp.testing.laws.experiments import (
    Make,
    Subject,
    broken,
    error_line,
    generators_put_back,
    require_subject,
)

__all__ = ["Check", "LAWS", "LawReport", "Verdict", "check_trainer", "trainer_checks"]
__all__ += ["verdicts"]

Check: TypeAlias = Callable[[], tuple[str, ...]]
"""Checks one law: raises ``LawBroken``, or gives notes on the parts it could not judge."""

_CHECKS: Final[Mapping[str, Callable[[Subject], tuple[str, ...]]]] = {
    module.LAW: module.check for module in (restore, isolation, composition, purity, force, order)
}

LAWS: Final = tuple(_CHECKS)
"""The names of the laws, in the order in which they are checked."""

NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of checking one law; ``notes`` say which parts could not be judged.

    >>> print(Verdict(law="order", status="ok", notes=("not judged: one candidate",)))
    ok       order (not judged: one candidate)
    """

    law: str
    status: Literal["ok", "expected", "BROKEN"]
    message: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.status:<9}{self.message or self.law}"
        return f"{text} ({'; '.join(self.notes)})" if self.notes else text


@dataclass(frozen=True, slots=True)
class LawReport:
    """The verdicts on all laws.

    >>> print(LawReport((Verdict(law="restore", status="ok"),)))
    ok       restore
    """

    verdicts: tuple[Verdict, ...]

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The verdicts on laws that are broken without being expected to."""
        return tuple(verdict for verdict in self.verdicts if verdict.status == "BROKEN")

    def require_unbroken(self) -> LawReport:
        """Give the report itself, or raise ``LawBroken`` with a line for each broken law."""
        if self.broken:
            raise LawBroken("\n".join(verdict.message for verdict in self.broken))
        return self

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))


def trainer_checks(
    make: Make,
    space: SpaceLike,
    *,
    epochs: int = 2,
    another_process: bool = True,
    expected_failures: Mapping[str, str] = NONE,
) -> tuple[tuple[str, Check], ...]:
    """Give the laws as named checks, each a function without arguments, for any test runner.

    ``@pytest.mark.parametrize("name, check", trainer_checks(make, space))`` makes tests of them.
    The arguments are those of ``check_trainer``.

    >>> from dynhp.testing.toys import Quadratic
    >>> checks = dict(trainer_checks(Quadratic, {"lr": [0.1, 0.5]}))
    >>> list(checks)
    ['restore', 'isolation', 'composition', 'purity', 'force', 'order']
    >>> checks["composition"]()
    ()
    """
    subject = require_subject(make, space, epochs=epochs, another_process=another_process)
    _require_known(expected_failures)
    # A tuple, not a generator: pytest's parametrize wants a collection.
    return tuple(
        (law, functools.partial(_checked, law, subject, expected_failures.get(law))) for law in LAWS
    )


def verdicts(
    make: Make,
    space: SpaceLike,
    *,
    epochs: int = 2,
    another_process: bool = True,
    expected_failures: Mapping[str, str] = NONE,
) -> Iterator[Verdict]:
    """Check one law after the other and give the verdict on each; a broken law does not raise.

    The arguments are those of ``check_trainer``.

    >>> from dynhp.testing.toys import Quadratic
    >>> print(next(verdicts(Quadratic, {"lr": [0.1, 0.5]}, another_process=False)))
    ok       restore (not tried in another process: not asked for)
    """
    subject = require_subject(make, space, epochs=epochs, another_process=another_process)
    _require_known(expected_failures)
    _require_fresh(subject)
    return (_verdict(law, subject, expected_failures.get(law)) for law in LAWS)


def check_trainer(
    make: Make,
    space: SpaceLike,
    *,
    epochs: int = 2,
    another_process: bool = True,
    expected_failures: Mapping[str, str] = NONE,
) -> LawReport:
    """Check all laws on the trainers that ``make()`` builds; raise ``LawBroken`` if one fails.

    For one axis of three values this takes about 200 epochs, and 12 more in another process; with
    ``epochs=1`` about 150. Each further value that is tried costs about 8 epochs; of a long axis
    five are tried. Of categories all are, each in all laws. Trainers start from their epochs 0, 1
    and 3 and go on to epoch 6, or 7 in a try; only if a value seems to have no effect, eight epochs
    are trained.

    Args:
        make: builds a fresh trainer each time it is called; see ``dynhp.trainer.Trainer``.
        space: the hyperparameters and the values that the trainer is checked with.
        epochs: how long each experiment goes on; what shows only after some epochs needs more.
        another_process: whether the law *restore* is checked in another process too; False saves
            the time to start one.
        expected_failures: maps a law that this trainer cannot keep to the reason; it is an error
            when that law holds after all.

    >>> from dynhp.testing.toys import NoisyQuadratic
    >>> print(check_trainer(NoisyQuadratic, {"lr": [0.01, 0.1]}))
    ok       restore
    ok       isolation
    ok       composition
    ok       purity
    ok       force
    ok       order
    """
    given = verdicts(
        make,
        space,
        epochs=epochs,
        another_process=another_process,
        expected_failures=expected_failures,
    )
    return LawReport(tuple(given)).require_unbroken()


def _checked(law: str, subject: Subject, reason: str | None) -> tuple[str, ...]:
    verdict = _verdict(law, subject, reason)
    LawReport((verdict,)).require_unbroken()
    return verdict.notes


def _verdict(law: str, subject: Subject, reason: str | None) -> Verdict:
    failure: LawBroken | None = None
    notes: tuple[str, ...] = ()
    try:
        with generators_put_back():
            notes = _CHECKS[law](subject)
    except SettingsError:
        raise
    except LawBroken as error:
        failure = error
    except Exception as error:
        failure = broken(
            law,
            f"the trainer raised {error_line(error)}",
            "set_state cannot take a state from before any training or from another trainer, or "
            "a method needs another one to be called first",
            "let every trainer that make() builds take every state, at any time",
        )
    if failure is not None and reason is None:
        return Verdict(law=law, status="BROKEN", message=str(failure))
    if failure is not None:
        return Verdict(law=law, status="expected", notes=(str(reason),))
    if reason is not None:
        message = f"{law}: holds, though it is in expected_failures ({reason!r}); take it out"
        return Verdict(law=law, status="BROKEN", message=message, notes=notes)
    return Verdict(law=law, status="ok", notes=notes)


def _require_known(expected_failures: Mapping[str, str]) -> None:
    for law in expected_failures:
        if law not in LAWS:
            raise SettingsError(f"expected_failures: no law {law!r}{nearest(law, LAWS)}")


def _require_fresh(subject: Subject) -> None:
    try:
        first, second = subject.fresh(), subject.fresh()
    except DynhpError:
        raise
    except Exception as error:
        raise SettingsError(
            f"make() must build a trainer, but raised {error_line(error)}"
        ) from error
    if first is second:
        raise SettingsError(
            f"make() must build a fresh trainer each time, got {shown(first)} twice"
        )
