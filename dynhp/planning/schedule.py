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
from dynhp.trainer import Trainer, trained_unit

__all__ = ["Schedule", "Segment", "follow", "replay", "schedule_of"]

_FORMAT = "dynhp-schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A number of epochs with these values; ``seed`` reseeds the trainer first, if given.

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

    >>> schedule = Schedule((Segment(epochs=10, values=Candidate({"lr": 0.1})),))
    >>> Schedule.from_json(schedule.to_json()) == schedule
    True
    >>> schedule.as_list()
    [(10, {'lr': 0.1})]
    """

    segments: tuple[Segment, ...]

    @property
    def epochs(self) -> int:
        """The epochs of the whole schedule."""
        return sum(segment.epochs for segment in self.segments)

    def as_list(self) -> list[tuple[int, dict[str, Value]]]:
        """The schedule as (epochs, values), to be used without dynhp."""
        return [(segment.epochs, dict(segment.values)) for segment in self.segments]

    def to_json(self) -> str:
        """Write the schedule as JSON."""
        segments = [
            {"epochs": segment.epochs, "values": dict(segment.values), "seed": segment.seed}
            for segment in self.segments
        ]
        document = {"format": _FORMAT, "version": 1, "epochs": self.epochs, "segments": segments}
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
        if document.get("version") != 1:
            raise SettingsError(
                f"this dynhp reads schedules of version 1, got {shown(document.get('version'))}"
            )
        segments = document.get("segments")
        if not isinstance(segments, list):
            raise SettingsError(f"a schedule has a list of segments, got {shown(segments)}")
        return Schedule(tuple(_segment(index, plain) for index, plain in enumerate(segments)))


def _segment(index: int, plain: Any) -> Segment:
    if not isinstance(plain, Mapping) or not {"epochs", "values"} <= plain.keys():
        raise SettingsError(f"segment {index} needs epochs and values, got {shown(plain)}")
    require_count(f"segment {index}: epochs", plain["epochs"])
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
    return Segment(epochs=plain["epochs"], values=Candidate(values), seed=seed)


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
    for round_, epochs in zip(rounds, kept_epochs(rounds), strict=True):
        if round_.scheduled:
            segments += [
                Segment(epochs=1, values=values, seed=round_.seed if place == 0 else None)
                for place, values in enumerate(round_.values_by_epoch[:epochs])
            ]
            continue
        if not round_.tries and segments and segments[-1].values == round_.candidate:
            segments[-1] = replace(segments[-1], epochs=segments[-1].epochs + epochs)
            continue
        seed = round_.seed
        if round_.corrected is not None and not round_.restarted and epochs:
            # The try that was kept had its own value, before it was corrected.
            tried = min(epochs, round_.winner.own.epochs)
            segments.append(Segment(epochs=tried, values=round_.winner.candidate, seed=seed))
            epochs -= tried
            seed = None if tried else seed
        if epochs:  # none is left of a round that was abandoned
            segments.append(Segment(epochs=epochs, values=round_.candidate, seed=seed))
    return Schedule(tuple(segments))


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
