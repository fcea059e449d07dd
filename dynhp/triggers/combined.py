"""Several triggers as one: a round is due when it is by any of them."""

from __future__ import annotations

from dataclasses import dataclass

from dynhp.errors import SettingsError
from dynhp.triggers.contract import (
    Due,
    LineSoFar,
    Trigger,
    ask,
    looks_at,
    next_look,
    require_trigger,
)


@dataclass(frozen=True, slots=True)
class _AnyOf:
    triggers: tuple[Trigger, ...]

    def __repr__(self) -> str:
        return f"any_of({', '.join(map(repr, self.triggers))})"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that any of them reads."""
        return tuple(dict.fromkeys(name for each in self.triggers for name in looks_at(each)))

    def __call__(self, line: LineSoFar) -> Due | None:
        """One answer for all: what each says, the earliest healthy state, an alarm if one is."""
        answers = (ask(each, line) for each in self.triggers)
        due = [answer for answer in answers if answer is not None]
        if not due:
            return None
        healthy = [answer.healthy for answer in due if answer.healthy is not None]
        return Due(
            because="; ".join(dict.fromkeys(answer.because for answer in due if answer.because)),
            healthy=min(healthy, default=None),
            alarm=any(answer.alarm for answer in due),
        )

    def next_look(self, line: LineSoFar) -> int | None:
        """When the first of them must be asked."""
        if not all(hasattr(each, "next_look") for each in self.triggers):
            return line.epoch + 1
        looks = (next_look(each, line) for each in self.triggers)
        return min((look for look in looks if look is not None), default=None)


def any_of(*triggers: Trigger) -> Trigger:
    """A round when it is due by any of these; several at once are one round.

    >>> from dynhp.triggers import Every, OnSpike
    >>> any_of(Every(10), OnSpike("loss", factor=3.0))  # doctest: +ELLIPSIS
    any_of(Every(n=10), OnSpike(metric='loss', ...factor=3.0, ...))
    """
    if not triggers:
        raise SettingsError("any_of: at least one trigger is needed, got none")
    for place, trigger in enumerate(triggers):
        require_trigger(f"any_of: trigger {place}", trigger)
    return _AnyOf(triggers)
