"""The settings of when a round begins and from which state, checked when an adapter is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dynhp._checks import (
    require_count,
    require_instance,
    require_lengths,
    require_whole,
    require_word,
)
from dynhp.criteria.combined import changes_with_progress
from dynhp.criteria.contract import metrics_of
from dynhp.criteria.metric import direction_of
from dynhp.errors import SettingsError, shown
from dynhp.main_line.snapshots import Snapshots
from dynhp.rounds.jobs import SendsJobs
from dynhp.tails.lengths import require_try_for, restarts
from dynhp.triggers import Every, Trigger, any_of
from dynhp.triggers.contract import looks_at, require_trigger
from dynhp.triggers.spike import NotFinite

if TYPE_CHECKING:
    from dynhp.rounds.settings import AdapterView

__all__ = ["adapter_text", "chosen_trigger", "longest_round", "require_when", "watched_trigger"]

_SHARE = 20  # of a run is one round without tries at most, so that callbacks and files see it move


def chosen_trigger(adapt_every: Any, when: Any) -> Trigger:
    """The one trigger that was asked for: as it is, or by the epochs of a round.

    >>> chosen_trigger(10, None)
    Every(n=10)
    """
    if (adapt_every is None) == (when is None):
        raise SettingsError(
            "when a round begins must be said once, as adapt_every=10 or as when=..., got "
            f"adapt_every={shown(adapt_every)} and when={shown(when)}"
        )
    if when is None:
        return Every(require_count("adapt_every", adapt_every))
    require_trigger("when", when)
    return when  # type: ignore[no-any-return]


def require_when(adapter: AdapterView) -> None:
    """Refuse what cannot work of when a round begins and from which state."""
    adapter.try_for = require_try_for(adapter.try_for, adapter.tail)
    if adapter.adapt_every is not None and isinstance(adapter.try_for, int):
        require_lengths(adapter.adapt_every, max(1, adapter.try_for))
    if adapter.record_every is not None:
        adapter.record_every = require_count("record_every", adapter.record_every)
    if adapter.max_rounds is not None:
        adapter.max_rounds = require_whole("max_rounds", adapter.max_rounds, least=0)
    adapter.max_rescues = require_whole("max_rescues", adapter.max_rescues, least=0)
    require_word("start_from", adapter.start_from, ("here", "best", "before"))
    require_instance("snapshots", adapter.snapshots, Snapshots, "Snapshots(k=2, every=1)")
    _require_whole_tries(adapter)
    _require_bounded(adapter)
    _require_one_direction(adapter)
    _require_sendable(adapter)


def _require_whole_tries(adapter: AdapterView) -> None:
    """Refuse tries that are longer than the time between two rounds, also of one of several."""
    for trigger in _each_of(adapter.when):
        if isinstance(trigger, Every) and adapter.try_for > trigger.n:
            raise SettingsError(
                "try_for must be at most the epochs from one round to the next, got "
                f"try_for={adapter.try_for} and {trigger!r} in {shown(adapter.when)}; make the "
                "tries shorter, or n larger"
            )


def _require_bounded(adapter: AdapterView) -> None:
    if adapter.start_from == "here":
        if adapter.max_rescues:
            raise SettingsError(
                f"max_rescues={adapter.max_rescues} needs a healthy state to go back to; give "
                "start_from='before' or start_from='best'"
            )
        return
    if adapter.max_rounds is None:
        raise SettingsError(
            f"start_from={adapter.start_from!r} can go back again and again; say how often with "
            "max_rounds=10 (0 leaves rescues alone)"
        )
    if adapter.start_from == "best" and changes_with_progress(adapter.criterion):
        raise SettingsError(
            "start_from='best' compares all epochs by one rule, but "
            f"{shown(adapter.criterion)} changes it on the way; use start_from='before'"
        )


def _require_one_direction(adapter: AdapterView) -> None:
    """Refuse a trigger that takes for worse what the criterion takes for better."""
    direction = direction_of(adapter.criterion)
    for trigger in _each_of(adapter.when):
        sign = {"lower": -1, "higher": 1}.get(getattr(trigger, "better", ""), 0)
        same = set(looks_at(trigger)) & set(metrics_of(adapter.criterion))
        if same and sign * direction < 0:
            better = "higher" if direction > 0 else "lower"
            raise SettingsError(
                f"{trigger!r} and the criterion {shown(adapter.criterion)} must agree which is "
                f"better; give the trigger better={better!r}"
            )


def _require_sendable(adapter: AdapterView) -> None:
    """Refuse a criterion that workers cannot have, where they judge the epochs inside of a try."""
    inside = adapter.start_from == "best" and adapter.try_for != 1 and not restarts(adapter)
    if inside and isinstance(adapter.executor, SendsJobs):
        adapter.executor.require_sendable(
            "with start_from='best' and tries of several epochs the criterion", adapter.criterion
        )


def _each_of(trigger: object) -> Iterator[Any]:
    """A trigger, and those that it is made of, however deep."""
    yield trigger
    for each in getattr(trigger, "triggers", ()):
        yield from _each_of(each)


def watched_trigger(adapter: AdapterView) -> Trigger:
    """The trigger, and beside it what calls for a rescue, where there may be any."""
    if not adapter.max_rescues:
        return adapter.when
    names = (*metrics_of(adapter.criterion), *looks_at(adapter.when))
    return any_of(adapter.when, NotFinite(tuple(dict.fromkeys(names))))


def longest_round(adapter: AdapterView, *, planned: int | None = None) -> int:
    """The most epochs that one round has: those of ``Every``, or what is recorded at a time."""
    planned = adapter.epochs if planned is None else planned
    if adapter.record_every is not None:
        return adapter.record_every
    if isinstance(adapter.when, Every):
        return adapter.when.n
    return 10 if planned is None else math.ceil(planned / _SHARE)


def adapter_text(adapter: AdapterView) -> str:
    """An adapter in a line."""
    every = adapter.adapt_every
    return (
        f"DynamicGridAdapter({adapter.space!r}, {adapter.criterion!r}, "
        + (f"when={adapter.when!r}, " if every is None else f"adapt_every={every}, ")
        + f"try_for={adapter.try_for}, epoch={adapter.epoch})"
    )
