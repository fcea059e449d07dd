"""A run as the numbers that a page draws: columns of JSON, short enough for long runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dynhp.records import Candidate, Round, Value
from dynhp.records.history import kept_epochs, measured_on
from dynhp.records.noise import paired_noise
from dynhp.records.text import round_cells
from dynhp.report.page.rebuilt import log_scales
from dynhp.report.page.reported import ReportedRun
from dynhp.report.text import nothing_chosen
from dynhp.storage.journal import comparison

__all__ = ["extremes", "looks_log", "places_kept", "run_data"]

MOST_SCORES = 120_000
"""The most tries whose scores a page holds, of all runs together."""
MOST_ON_LINE = 4_000
"""The most epochs of the main line that a page holds of one metric of a run."""
MOST_BEHIND = 24_000
"""The most measurements of tries that a page holds, of all metrics of a run together."""
_MOST_WORDS = 160


def run_data(run: ReportedRun, *, share: int = 1) -> dict[str, Any]:
    """All that a page draws of a run; it shares the page with ``share`` runs, itself included.

    >>> sorted(run_data(ReportedRun(name="empty", history=())))[:4]
    ['axes', 'behind', 'candidates', 'epochs']
    """
    tried = max(1, sum(bool(round_.tries) for round_ in run.history))
    most = max(5, MOST_SCORES // share // tried)
    notes: list[str] = []
    columns = _Columns()
    followed = nothing_chosen(run.history)
    for round_, kept in zip(run.history, kept_epochs(run.history), strict=True):
        columns.add(round_, kept, [] if followed else places_kept(round_, most))
    widest = max((len(round_.tries) for round_ in run.history), default=0)
    if widest > most:
        notes.append(f"of up to {widest} tries of a round about {most} are drawn, evenly by rank")
    line = dict(_line(run, notes))
    names = list(run.history[0].candidate) if run.history else []
    return {
        "name": run.name,
        "epochs": run.epochs,
        "unit": run.unit,
        "axes": [_axis(run, name) for name in names],
        "candidates": [list(candidate.values()) for candidate in columns.numbers],
        "rounds": columns.rounds,
        "tries": columns.tries,
        "errors": columns.errors,
        "line": line,
        "behind": {} if followed else dict(_behind(run.history, list(line), notes)),
        "noise": _number(paired_noise([each for each in run.history if each.tries])),
        "notes": notes,
    }


class _Columns:
    """The rounds and their tries, a list for each field; a candidate is a number."""

    def __init__(self) -> None:
        self.numbers: dict[Candidate, int] = {}
        self.errors: dict[str, str] = {}  # by the number of a try
        self.rounds: dict[str, list[Any]] = {}
        self.tries: dict[str, list[Any]] = {"candidate": [], "score": [], "epochs": []}
        self._spent = 0

    def add(self, round_: Round, kept: int, places: Sequence[int]) -> None:
        """Take the next round, of whose tries those at these places are shown.

        If values were only followed there are none: the main line is their one record.
        """
        failed = sum(try_.error is not None for try_ in round_.tries)
        row = {
            "start": round_.start,
            "epochs": round_.epochs,
            "kept": kept,
            "previous": self._number_of(round_.previous),
            "candidate": self._number_of(round_.candidate),
            "chosen": places.index(round_.chosen) if places else -1,
            "shown": len(places),
            "tried": len(round_.tries) if places else 0,
            "failed": failed,
            "overhead": round_.overhead,
            "before": self._spent,
            "abandoned": round_.abandoned,
            "rescue": int(round_.rescue),
            "reason": round_cells(round_)["reason"][:_MOST_WORDS],
            **{name: _number(value) for name, value in comparison(round_).items()},
        }
        for name, value in row.items():
            self.rounds.setdefault(name, []).append(value)
        for place in places:
            try_ = round_.tries[place]
            if try_.error is not None:
                self.errors[str(len(self.tries["score"]))] = try_.error[:_MOST_WORDS]
            self.tries["candidate"].append(self._number_of(try_.candidate))
            self.tries["score"].append(_number(try_.score))
            self.tries["epochs"].append(try_.epochs)
        self._spent += round_.epochs + round_.overhead + (round_.failure is not None)

    def _number_of(self, candidate: Candidate) -> int:
        return self.numbers.setdefault(candidate, len(self.numbers))


def _axis(run: ReportedRun, name: str) -> dict[str, Any]:
    """How a hyperparameter is drawn: its name, whether on a log scale, and its words, if any."""
    seen: dict[Value, None] = {}
    for round_ in run.history:
        seen |= dict.fromkeys([round_.previous[name], *(t.candidate[name] for t in round_.tries)])
    numbers = [
        float(value) for value in seen if isinstance(value, int | float) and value is not True
    ]
    words = None
    if len(numbers) < len(seen) or any(isinstance(value, bool) for value in seen):
        words = sorted({str(value) for value in seen})
    log = log_scales(run.settings).get(name, words is None and looks_log(numbers))
    return {"name": name, "log": bool(log and min(numbers, default=0.0) > 0), "words": words}


def looks_log(numbers: Sequence[float]) -> bool:
    """Whether values whose axis does not say it are better drawn on a log scale."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= 20


def _line(run: ReportedRun, notes: list[str]) -> Iterator[tuple[str, list[list[Any]]]]:
    """The main line by metric: epochs, values, and which of them were left behind later."""
    on_line = {number: metrics for number, metrics in measured_on(run.history)}
    for name in dict.fromkeys(name for metrics in on_line.values() for name in metrics):
        known = [
            (number + 1, metrics[name]) for number, metrics in on_line.items() if name in metrics
        ]
        places = extremes([value for _, value in known], MOST_ON_LINE)
        if len(places) < len(known):
            notes.append(
                f"of {len(known)} {run.unit} of {name} the {len(places)} extremes are drawn"
            )
        yield (
            name,
            [[known[place][0] for place in places], [_number(known[place][1]) for place in places]],
        )


def _behind(
    history: Sequence[Round], names: Sequence[str], notes: list[str]
) -> Iterator[tuple[str, list[list[Any]]]]:
    """What tries measured, by metric: the epoch each began at, and its values up to its end.

    What the main line measured and left behind is among it.
    """
    size = sum(len(try_.series) for round_ in history for try_ in round_.tries) * len(names)
    step = max(1, math.ceil(size / MOST_BEHIND))
    if step > 1:
        notes.append(f"behind the metrics the tries of every {step}th round are drawn")
    kept = kept_epochs(history)
    for name in names:
        starts: list[Any] = []
        values: list[Any] = []
        for place, round_ in enumerate(history):
            if place % step == 0:
                for try_ in round_.tries:
                    points = [(round_.start + n + 1, m.get(name)) for n, m in try_.measured]
                    _add_path(starts, values, points, round_.start)
            if kept[place] < round_.epochs:  # left behind
                points = [(n + 1, metrics.get(name)) for n, metrics in round_.measured]
                _add_path(starts, values, points, None)
        yield name, [starts, values]


def _add_path(starts: list[Any], values: list[Any], points: Any, origin: int | None) -> None:
    """Add one path: where it began (None: on the main line), its epochs and its values."""
    known = [(epoch, value) for epoch, value in points if value is not None]
    if known:
        starts.append(origin)
        values.append([[epoch for epoch, _ in known], [_number(value) for _, value in known]])


def _number(value: float | None) -> float | None:
    """A number with the digits that can be seen; None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def extremes(values: Sequence[float], most: int) -> list[int]:
    """The places to keep of a series: all, or the lowest and the highest of each of equal parts.

    >>> extremes([3.0, 1.0, 2.0, 9.0], 4), extremes([0.0, 5.0, 1.0, 2.0, 2.0, -3.0, 0.0, 0.0], 4)
    ([0, 1, 2, 3], [0, 1, 5, 7])
    """
    if len(values) <= most:
        return list(range(len(values)))
    parts = max(1, most // 2 - 1)
    kept = {0, len(values) - 1}
    for part in range(parts):
        places = range(part * len(values) // parts, (part + 1) * len(values) // parts)
        finite = [(values[place], place) for place in places if math.isfinite(values[place])]
        kept |= {min(finite)[1], max(finite)[1]} if finite else {places[0]}
    return sorted(kept)


def places_kept(round_: Round, most: int) -> list[int]:
    """Which tries of a round to show: all, or those that are marked, and evenly by rank.

    Marked are the kept one, the value in force before, and the one that a correction led to.

    >>> from dynhp import complete_search, lowest
    >>> from dynhp.testing import Quadratic
    >>> [round_] = complete_search(Quadratic(), {"lr": [3, 2, 1, 4, 5]}, criterion=lowest("loss"),
    ...                            epochs=1)
    >>> places_kept(round_, 9), places_kept(round_, 3)
    ([0, 1, 2, 3, 4], [0, 2, 4])
    """
    tries = round_.tries
    if len(tries) <= most:
        return list(range(len(tries)))
    order = sorted(range(len(tries)), key=lambda place: -tries[place].rank_key)
    kept = {round_.chosen, order[0], order[-1]}
    marked = (round_.previous, round_.corrected)
    kept |= {place for place in order if tries[place].candidate in marked}
    rest = [place for place in order if place not in kept]
    left = max(0, min(len(rest), most - len(kept)))
    return sorted(kept | {rest[i * len(rest) // left] for i in range(left)})
