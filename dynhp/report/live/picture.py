"""The picture of a run while it goes on: a few lines, made of bars and sparklines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Literal, NamedTuple, Protocol, TypeAlias

from dynhp.records import Candidate, Value
from dynhp.records.text import duration, harmless, label
from dynhp.records.units import one_of
from dynhp.report.live.course import Course, ShownTry

__all__ = ["ASCII", "UNICODE", "Line", "Marks", "Picture", "RunPicture", "Style"]
__all__ += ["bar", "headline", "marks_of", "sparkline"]

MOST_NAMES = 3
"""How many hyperparameters have a line of their own."""
MOST_TRIES = 6
"""How many tries are shown at a time; if there are more, the best of them."""
_LABEL = 9  # columns


Style: TypeAlias = Literal["", "title", "dim", "good", "bad"]
"""How a piece of text looks; a surface decides what that is."""

Line: TypeAlias = list[tuple[str, Style]]
"""A line in pieces, each with its style."""


class Marks(NamedTuple):
    """The characters of a picture."""

    done: str  # of the bar of the main line
    left: str
    bar: str  # of a try, and its last piece by eighths
    pieces: str
    spark: str  # from low to high
    leads: str
    kept: str
    runs: str
    wait: str
    more: str


UNICODE = Marks(
    done="━",
    left="─",
    bar="█",
    pieces="▏▎▍▌▋▊▉█",
    spark="▁▂▃▄▅▆▇█",
    leads="★",
    kept="✓",
    runs="▸",
    wait="·",
    more="…",
)
ASCII = Marks(
    done="=",
    left="-",
    bar="#",
    pieces="########",
    spark="_.-~=^*#",
    leads="*",
    kept="+",
    runs=">",
    wait=".",
    more="~",
)


class Picture(Protocol):
    """What a surface shows: a few lines that move, or a line of text now and then."""

    def lines(self, width: int, height: int, marks: Marks) -> list[Line]:
        """All that there is to see, in at most ``width`` columns and ``height`` lines."""
        ...

    def text(self) -> str:
        """The same in a line."""
        ...

    def step(self) -> int | None:
        """A number that grows when there is another line of text to show; None: there is none."""
        ...


def marks_of(encoding: str | None) -> Marks:
    """The marks that can be written in an encoding.

    >>> marks_of("utf-8").leads, marks_of("latin-1").leads, marks_of(None).leads
    ('★', '*', '*')
    """
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def bar(share: float, width: int, marks: Marks) -> str:
    """A bar as long as the share of the width, to an eighth of a column.

    >>> bar(0.5, 5, UNICODE), bar(1.0, 5, ASCII), bar(0.0, 5, UNICODE)
    ('██▌', '#####', '▏')
    """
    whole, piece = divmod(max(1, round(8 * share * width)), 8)
    return marks.bar * whole + (marks.pieces[piece - 1] if piece else "")


def sparkline(values: Sequence[Value], marks: Marks) -> str:
    """The course of a value: by the rank of each among those seen, whatever their scale.

    >>> sparkline([0.001, 0.01, 0.01, 1.0], UNICODE), sparkline(["relu", "tanh"], UNICODE)
    ('▁▄▄█', '▁█')
    """
    seen = list(dict.fromkeys(values))
    if all(isinstance(value, int | float) for value in seen):
        seen.sort(key=float)  # type: ignore[arg-type]
    top = len(marks.spark) - 1
    height = {
        value: top // 2 if len(seen) == 1 else rank * top // (len(seen) - 1)
        for rank, value in enumerate(seen)
    }
    return "".join(marks.spark[height[value]] for value in values)


def headline(title: str, done: str, share: float, time: str, *, width: int, marks: Marks) -> Line:
    """The first line: what it is, how far it is as words and as a bar, and the time.

    >>> line = headline("fit", "epoch 5/10", 0.5, "3 s", width=40, marks=ASCII)
    >>> "".join(text for text, style in line)
    'fit  epoch 5/10  ======------  50 %  3 s'
    """
    percent = f"  {math.floor(100 * share):d} %"
    start = f"{title}  {done}"
    room = min(40, width - len(start) - len(percent) - len(time) - 4)
    line: Line = [(title, "title"), (f"  {done}", "")]
    if room >= 4:
        filled = math.floor(share * room)
        line += [("  " + marks.done * filled, "good"), (marks.left * (room - filled), "dim")]
    return [*line, (f"{percent}  {time}", "dim")]


class RunPicture:
    """What there is to see of a run.

    Args:
        title: what stands first.
        course: the run.
    """

    def __init__(self, title: str, course: Course) -> None:
        self._title = harmless(title)
        self._course = course
        self._rows = 0  # of tries at most so far: a picture that shrinks and grows is restless
        self.ended = ""  # how the run ended, once it has

    def step(self) -> int | None:
        """The tenth of the work that is done; the last line comes when the run has ended."""
        course = self._course
        inside = course.doing != "over" and not course.is_long(course.round_epochs)
        if inside or course.epoch == course.planned:  # a short round is worth no line of its own
            return None
        return 10 * course.trained // course.totals()[0]

    def text(self) -> str:
        """How far it is, the values in force, what was measured, the best, and the time."""
        course = self._course
        parts = [
            self._done(),
            *(f"{_short(name)}={_short(label(v))}" for name, v in course.values.items()),
        ]
        parts += [f"{_short(name)}={label(value)}" for name, value in course.metrics.items()]
        if course.best is not None:
            parts.append(f"best {label(course.best.value)} at {course.best.epoch}")
        return f"{self._title}: {', '.join([*parts, f'cost {self._cost()}', self._time()])}"

    def lines(self, width: int, height: int, marks: Marks) -> list[Line]:
        """How far it is, values, metrics, cost, and the tries of the round."""
        course = self._course
        share = course.epoch / course.planned
        lines = [
            headline(self._title, self._done(), share, self._time(), width=width, marks=marks),
            *self._values(marks),
            self._metrics(),
            [_labelled("cost"), (self._cost(), "")],
        ]
        if self.ended:
            return lines[:height]

        room = min(MOST_TRIES, height - len(lines) - 1)
        lines.append(self._round())
        tries = self._tries(width, room, marks) if room > 0 else []
        self._rows = min(max(self._rows, len(tries)), max(room, 0))
        lines += tries + [[] for _ in range(self._rows - len(tries))]
        return lines[:height]

    def _done(self) -> str:
        course = self._course
        return f"{one_of(course.unit)} {course.epoch}/{course.planned}"

    def _time(self) -> str:
        course = self._course
        if self.ended:
            return f"{self.ended} {duration(course.seconds())}"
        left = course.seconds_left()
        if left is None:
            return "time left not known yet"
        least, most = left
        if most > 1.5 * least + 1:  # a plan that wide says little about the end
            return f"at least {duration(least)} left"
        texts = duration(least), duration(most)
        return f"about {texts[0] if texts[0] == texts[1] else ' to '.join(texts)} left"

    def _values(self, marks: Marks) -> list[Line]:
        course = self._course
        values = [(name, _short(name), _short(label(v))) for name, v in course.values.items()]
        shown = len(values) if len(values) <= MOST_NAMES else MOST_NAMES - 1
        width = max(len(text) for _, text, _ in values[:shown])
        widest = max(len(value) for _, _, value in values[:shown])
        lines: list[Line] = []
        for name, text, value in values[:shown]:
            past = [each[name] for each in course.past if name in each]
            lines.append(
                [
                    _labelled("" if lines else "value"),
                    (f"{text:{width}}  ", ""),
                    (f"{value:{widest}}  ", "title"),
                    (sparkline(past, marks), "dim"),
                ]
            )
        if shown < len(values):
            rest = ", ".join(f"{text}={value}" for _, text, value in values[shown:])
            lines.append([_labelled(""), (rest, "dim")])
        return lines

    def _metrics(self) -> Line:
        course = self._course
        line: Line = [_labelled("metrics")]
        others = dict(course.metrics)
        if not others:
            return [*line, ("none yet", "dim")]
        if course.metric is not None and course.metric in others:
            line.append((f"{_short(course.metric)} {label(others.pop(course.metric))}", ""))
        if course.best is not None:
            line.append((f"  best {label(course.best.value)} at {course.best.epoch}", "good"))
        rest = islice(others.items(), 3)
        line.append(("".join(f"  {_short(name)} {label(value)}" for name, value in rest), "dim"))
        return line

    def _cost(self) -> str:
        course = self._course
        first = course.first_plan
        least, most = (first.least.total, first.most.total) if self.ended else course.totals()
        planned = f"{most}" if least == most else f"{least} to {most}"
        if most > 10 * max(least, course.trained):
            planned = f"at least {least}"
        parts = [f"{course.trained} of {planned} {course.unit}"]
        if course.epoch:
            runs = course.trained / course.planned  # also if it was stopped: one measure for all
            parts.append(f"{runs:.2f} runs" + ("" if self.ended else " so far"))
        if course.abandoned:
            parts.append(f"{course.abandoned} abandoned")
        if course.rescues:
            parts.append(f"{course.rescues} rescue{'s' if course.rescues > 1 else ''}")
        return ", ".join(parts)

    def _round(self) -> Line:
        course = self._course
        waiting = sum(each.waits for each in course.tries.values())
        says = {
            "starts": "begins",
            "tries": f"{len(course.tries)} tries, {waiting} to go",
            "checks": "repeats a try, to compare",
            "trains": "trains on",
            "over": "is over",
        }[course.doing]
        if course.doing == "trains" and course.stretch is not None:
            end = course.stretch.start + course.stretch.epochs
            says = f"trains on to {one_of(course.unit)} {end}"
        return [_labelled("round"), (f"{course.round}  {says}", "")]

    def _tries(self, width: int, room: int, marks: Marks) -> list[Line]:
        course = self._course
        places = list(course.tries)
        if len(places) > room:
            places = _worth_showing(course, room - 1)

        scores = [
            each.record.score
            for each in course.tries.values()
            if each.record and not each.record.error and math.isfinite(each.record.score)
        ]
        score_range = (min(scores), max(scores)) if scores else (0.0, 0.0)
        texts = {place: _values_text(course.tries[place].candidate) for place in places}
        column = min(max(map(len, texts.values()), default=0), max(12, width // 3))
        room_for_bar = max(0, min(24, width - _LABEL - column - 14))

        lines: list[Line] = []
        leader = course.leader()
        next_one = next((each for each in course.tries.values() if each.waits), None)
        for place in places:
            shown = course.tries[place]
            if place == leader:
                mark = marks.leads if course.stretch is None else marks.kept
            elif shown is next_one:
                mark = marks.runs
            else:
                mark = marks.wait if shown.waits else ""
            style: Style = "good" if place == leader else "dim" if shown.out else ""
            text = f"{mark:>{_LABEL - 1}} {texts[place][:column]:{column}}  "
            outcome, outcome_style = self._outcome(shown, score_range, room_for_bar, marks)
            lines.append([(text, style), (outcome, outcome_style or style)])

        if len(places) < len(course.tries):
            more = len(course.tries) - len(places)
            lines.append([(" " * _LABEL + f"{marks.more} {more} more", "dim")])
        return lines

    def _outcome(
        self, shown: ShownTry, score_range: tuple[float, float], width: int, marks: Marks
    ) -> tuple[str, Style]:
        record = shown.record
        under_way = f"{shown.done} of {shown.epochs} {self._course.unit}" if shown.begun else ""
        if record is None:
            return under_way, "dim"
        if record.error is not None:
            return f"failed: {harmless(' '.join(record.error.split()))}", "bad"
        score = f"{label(self._course.shown_score(record.score)):9} {under_way}".rstrip()
        if width < 4 or not math.isfinite(record.score):
            return score, ""
        low, high = score_range
        share = 1.0 if high == low else 0.1 + 0.9 * (record.score - low) / (high - low)
        return f"{bar(share, width, marks):{width}}  {score}", ""


def _worth_showing(course: Course, most: int) -> list[int]:
    """The tries that are under way and the best of the others, in their order."""

    def worth(place: int) -> tuple[bool, bool, float, int]:
        shown = course.tries[place]
        leads = place == course.leader()
        score = -math.inf if shown.record is None else shown.record.rank_key
        return leads, shown.begun, score, -place

    return sorted(sorted(course.tries, key=worth, reverse=True)[: max(most, 0)])


def _labelled(name: str) -> tuple[str, Style]:
    return f"{name:{_LABEL}}", "dim"


def _short(text: str) -> str:
    """A text of the user's that does no harm to a terminal, and does not fill its line."""
    text = harmless(str(text))
    return text if len(text) <= 24 else f"{text[:21]}..."


def _values_text(candidate: Candidate) -> str:
    """The values of a try; a single one without its name, which stands above."""
    if len(candidate) == 1:
        return _short(label(*candidate.values()))
    return " ".join(f"{_short(name)}={_short(label(v))}" for name, v in candidate.items())
