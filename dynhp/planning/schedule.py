"""The schedule of a run: exported as JSON, replayed at the cost of one run."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dynhp._checks import is_whole, require_count, require_trainer
from dynhp.errors import SettingsError, shown
from dynhp.executors.attempt import advance, reseed
from dynhp.planning.budget import HasHistory, history_of
from dynhp.records import Candidate, History, Round, Try, Value
from dynhp.records.history import kept_epochs
from dynhp.records.units import Unit
from dynhp.trainer import Trainer, trained_unit

__all__ = ["Schedule", "Segment", "follow", "replay", "schedule_of"]

_FORMAT = "dynhp-schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A number of epochs with these values; ``seed`` reseeds the trainer first, if given.

    In a schedule that has ``steps_per_epoch``, it is a number of steps.

    >>> from dynhp.testing import Quadratic
    >>> high, low = (Segment(epochs=2, values=Candidate({"lr": lr})) for lr in (0.5, 0.1))
    >>> replay(Schedule((high, low)), Quadratic())[-1].candidate
    Candidate(lr=0.1)
    """

    epochs: int
    values: Candidate
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The values of the main line, segment by segment.

    Attributes:
        segments: what was trained with which values, in order.
        steps_per_epoch: above 1 if values moved within epochs: then segments count steps, of which
            an epoch has so many; of a very long epoch not every step is recorded.

    >>> schedule = Schedule((Segment(epochs=10, values=Candidate({"lr": 0.1})),))
    >>> Schedule.from_json(schedule.to_json()) == schedule
    True
    >>> schedule.as_list()
    [(10, {'lr': 0.1})]
    """

    segments: tuple[Segment, ...]
    steps_per_epoch: int = 1

    @property
    def epochs(self) -> int:
        """The epochs of the whole schedule."""
        return sum(segment.epochs for segment in self.segments) // self.steps_per_epoch

    def as_list(self) -> list[tuple[int, dict[str, Value]]]:
        """The schedule as (epochs, values), or (steps, values), to be used without dynhp."""
        return [(segment.epochs, dict(segment.values)) for segment in self.segments]

    def to_json(self) -> str:
        """Write the schedule as JSON."""
        steps = self.steps_per_epoch
        unit = "epochs" if steps == 1 else "steps"
        segments = [
            {unit: segment.epochs, "values": dict(segment.values), "seed": segment.seed}
            for segment in self.segments
        ]
        document: dict[str, Any] = {"format": _FORMAT, "version": 1, "epochs": self.epochs}
        if steps > 1:
            document |= {"version": 2, "steps_per_epoch": steps}
        document["segments"] = segments
        return json.dumps(document, indent=1, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Schedule:
        """Read what ``to_json`` wrote, or say what is wrong with it."""
        try:
            document = json.loads(text)
        except (TypeError, ValueError) as error:
            raise SettingsError(
                f"a schedule must be JSON: {error}, got {shown(text)}; give the text that to_json "
                "wrote, as in Path(file).read_text()"
            ) from None
        except RecursionError:
            raise SettingsError(
                "a schedule is a list of segments with values, got JSON that is nested far deeper; "
                f"give what to_json wrote: {shown(str(text)[:80])}"
            ) from None
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise SettingsError(f"not a schedule of dynhp: {shown(str(text)[:80])}")
        if document.get("version") not in (1, 2):
            raise SettingsError(
                "this dynhp reads schedules of versions 1 and 2, got "
                f"{shown(document.get('version'))}"
            )
        segments = document.get("segments")
        if not isinstance(segments, list):
            raise SettingsError(f"a schedule has a list of segments, got {shown(segments)}")
        steps = 1
        if document["version"] == 2:
            steps = require_count("a schedule's steps_per_epoch", document.get("steps_per_epoch"))
        unit: Unit = "epochs" if document["version"] == 1 else "steps"
        read = (_segment(index, plain, unit) for index, plain in enumerate(segments))
        return Schedule(tuple(read), steps)


def _segment(index: int, plain: Any, unit: Unit) -> Segment:
    if not isinstance(plain, Mapping) or not {unit, "values"} <= plain.keys():
        raise SettingsError(f"segment {index} needs {unit} and values, got {shown(plain)}")
    require_count(f"segment {index}: {unit}", plain[unit])
    values = plain["values"]
    if not isinstance(values, Mapping) or not values or not all(map(_is_value, values.values())):
        raise SettingsError(
            f"segment {index}: values must map names to numbers, strings, booleans or null, "
            f"got {shown(values)}"
        )
    seed = plain.get("seed")
    if seed is not None and not is_whole(seed, least=0):
        raise SettingsError(
            f"segment {index}: seed must be a whole number of 0 or more, or null, got {shown(seed)}"
        )
    return Segment(epochs=plain[unit], values=Candidate(values), seed=seed)


def _is_value(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)  # JSON as Python reads it may hold NaN
    return value is None or isinstance(value, bool | int | str)


def schedule_of(history: Sequence[Round] | HasHistory) -> Schedule:
    """The schedule of a run's main line, with what is needed to repeat its randomness.

    An adapter or a loop can be given in place of its history.

    >>> from dynhp import fixed
    >>> from dynhp.testing import Quadratic
    >>> schedule_of(fixed(Quadratic(), {"lr": 0.5}, epochs=4, measure_every=3)).as_list()
    [(3, {'lr': 0.5}), (1, {'lr': 0.5})]
    """
    rounds = history_of(history)
    segments: list[Segment] = []
    steps = math.lcm(*(round_.steps_per_epoch for round_ in rounds))
    for round_, epochs in zip(rounds, kept_epochs(rounds), strict=True):
        if round_.scheduled:
            own = round_.steps_per_epoch
            segments += [
                Segment(epochs=steps // own, values=values, seed=None if place else round_.seed)
                for place, values in enumerate(round_.values_by_step[: epochs * own])
            ]
            continue
        epochs *= steps
        if not round_.tries and segments and segments[-1].values == round_.candidate:
            segments[-1] = replace(segments[-1], epochs=segments[-1].epochs + epochs)
            continue
        seed = round_.seed
        if round_.corrected is not None and not round_.restarted and epochs:
            # The try that was kept had its own value, before it was corrected.
            tried = min(epochs, round_.winner.own.epochs * steps)
            segments.append(Segment(epochs=tried, values=round_.winner.candidate, seed=seed))
            epochs -= tried
            seed = None if tried else seed
        if epochs:  # none is left of a round that was abandoned
            segments.append(Segment(epochs=epochs, values=round_.candidate, seed=seed))
    return Schedule(tuple(segments), steps)


def replay(schedule: Schedule, trainer: Trainer) -> History:
    """Train along a schedule, from the state the adapted run started in: the same weights again.

    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> replay(Schedule((Segment(epochs=3, values=Candidate({"lr": 0.5})),)), trainer).epochs
    3
    >>> trainer.metrics()
    {'loss': 0.0078125}
    """
    if not isinstance(schedule, Schedule):
        raise SettingsError(
            f"a Schedule is needed, got {shown(schedule)}; make one with schedule_of(history), or "
            "read one with Schedule.from_json(text)"
        )
    require_trainer(trainer)
    steps = schedule.steps_per_epoch
    has = getattr(trainer, "steps_per_epoch", None) if trained_unit(trainer) == "steps" else None
    if steps > 1 and has != steps:
        raise SettingsError(
            f"this schedule has {steps} values in each epoch, and nothing says that "
            f"{shown(trainer)} trains an epoch in {steps} steps (of a longer epoch not every step "
            "is recorded); give a trainer that counts steps, with unit = 'steps' and "
            f"steps_per_epoch = {steps}, or set the values of as_list() in your own loop"
        )
    return follow(schedule.segments, trainer)


def follow(segments: Iterable[Segment], trainer: Trainer) -> History:
    """Train segment by segment: a run without tries, in the same records as any other."""
    require_trainer(trainer)
    rounds: list[Round] = []
    start = 0
    previous: Candidate | None = None
    unit = trained_unit(trainer)

    for index, segment in enumerate(segments):
        began = time.perf_counter()
        if segment.seed is not None:
            reseed(trainer, segment.seed)
        metrics = advance(trainer, segment.values, segment.epochs)

        only = Try(
            candidate=segment.values,
            series=(metrics,),
            epochs=segment.epochs,
            score=math.nan,
            seed=segment.seed,
            reported=(segment.epochs,) if segment.epochs > 1 else (),
            unit=unit,
        )
        rounds.append(
            Round(
                index=index,
                start=start,
                epochs=segment.epochs,
                previous=segment.values if previous is None else previous,
                tries=(only,),
                chosen=0,
                reason="the only candidate",
                metrics=metrics,
                seed=segment.seed,
                seconds=time.perf_counter() - began,
                unit=unit,
            )
        )
        start += segment.epochs
        previous = segment.values

    return History(tuple(rounds))
