"""Pictures of a run for papers, drawn with matplotlib; each function returns its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynhp.errors import SettingsError, nearest, shown
from dynhp.planning.budget import HasHistory, Plan, history_of
from dynhp.records import Round
from dynhp.records.history import kept_epochs
from dynhp.records.units import unit_of
from dynhp.report.page.data import looks_log
from dynhp.report.text import cost_parts, values_seen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_cost", "plot_ladder", "plot_schedule", "plot_tries"]

_LINE, _TRIED, _ALARM = "#2364aa", "#9aa5ae", "#b3261e"
_PARTS = {"main line": _LINE, "tries": "#c8620a", "self-check": "#86690a", "abandoned": _ALARM}


def plot_schedule(
    history: Sequence[Round] | HasHistory,
    name: str | None = None,
    *,
    ax: Axes | None = None,
    log: bool | None = None,
) -> Axes:
    """Draw the value in force over the main line as steps, and what was tried as dots.

    Args:
        history: the rounds of the run; an adapter or a loop will do.
        name: the hyperparameter; needed if there are several.
        ax: where to draw; new axes by default.
        log: whether on a logarithmic scale; by default if values differ by a factor of 20.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1)
    >>> _ = adapter.run(20)
    >>> ax = plot_schedule(adapter)
    >>> ax.get_ylabel(), ax.get_yscale()
    ('lr', 'log')
    """
    rounds = _rounds(history)
    name = _name(rounds, name)
    ax = _axes(ax)
    place = _places(rounds, name, ax, log=log)
    kept = [(each, on) for each, on in zip(rounds, kept_epochs(rounds), strict=True) if on]
    xs = [each.start for each, _ in kept] + [kept[-1][0].start + kept[-1][1]]
    ys = [place(each.candidate[name]) for each, _ in kept]
    tried = {(each.start, place(t.candidate[name])) for each in rounds for t in each.tries}
    _draw(ax, sorted(tried), ".", color=_TRIED, label="tried")
    ax.step(xs, [*ys, ys[-1]], where="post", color=_LINE, label="in force")
    for each in rounds:
        if each.abandoned:
            ax.axvspan(each.start, each.start + each.abandoned, color=_ALARM, alpha=0.12, lw=0)
    ax.set_xlabel(unit_of(rounds))
    ax.set_ylabel(name)
    return ax


def plot_tries(
    history: Sequence[Round] | HasHistory, *, ax: Axes | None = None, gains: bool = True
) -> Axes:
    """Draw the score of every try in every round, and the kept one as a ring.

    Args:
        history: the rounds of the run; an adapter or a loop will do.
        ax: where to draw; new axes by default.
        gains: whether scores are drawn by how far they are above the value in force (above the
            mean of the round if it was not tried), or as they are.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1)
    >>> _ = adapter.run(20)
    >>> [len(line.get_xdata()) for line in plot_tries(adapter).get_lines()]
    [12, 4]
    """
    rounds = [each for each in _rounds(history) if each.tries]
    ax = _axes(ax)
    points, kept = [], []
    for each in rounds:
        base = _base(each) if gains else 0.0
        heights = [try_.rank_key - base for try_ in each.tries]
        points += [(each.start, y) for y in heights if math.isfinite(y)]
        if math.isfinite(heights[each.chosen]):
            kept.append((each.start, heights[each.chosen]))
    _draw(ax, points, ".", color=_TRIED, label="tried")
    _draw(ax, kept, "o", label="kept", markerfacecolor="none", markeredgecolor=_LINE)
    ax.set_xlabel(unit_of(rounds))
    ax.set_ylabel("score above the value in force" if gains else "score")
    return ax


def plot_cost(
    history: Sequence[Round] | HasHistory, *, plan: Plan | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the epochs trained as one bar: main line, tries, self-check, abandoned; and the plan.

    Args:
        history: the rounds of the run; an adapter or a loop will do.
        plan: what it was planned to cost, drawn as a line.
        ax: where to draw; new axes by default.

    >>> from dynhp import fixed
    >>> from dynhp.testing import Quadratic
    >>> ax = plot_cost(fixed(Quadratic(), {"lr": 0.1}, epochs=20))
    >>> [int(bar.get_width()) for bar in ax.patches]
    [20, 0, 0, 0]
    """
    rounds = _rounds(history)
    ax = _axes(ax)
    left = 0
    for part, width in cost_parts(rounds).items():
        ax.barh(0, width, left=left, color=_PARTS[part], label=part)
        left += width
    if plan is not None:
        ax.axvline(plan.most.total, color="black", linestyle="--", label="plan")
    ax.set_yticks([])
    ax.set_xlabel(unit_of(rounds))
    return ax


def plot_ladder(
    round_: Round, name: str | None = None, *, ax: Axes | None = None, log: bool | None = None
) -> Axes:
    """Draw one round: its values against their scores, the kept one as a ring.

    A value that ``then=`` made of the kept one is drawn as a dashed line: it may not be tried.

    Args:
        round_: a round with tries.
        name: the hyperparameter; needed if there are several.
        ax: where to draw; new axes by default.
        log: whether values are on a logarithmic scale; by default if they differ by a factor
            of 20.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.01, 0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1)
    >>> line, kept = plot_ladder(adapter.run(5)[0]).get_lines()
    >>> line.get_xdata().tolist(), kept.get_xdata().tolist()
    ([0.01, 0.1, 0.5], [0.5])
    """
    if not isinstance(round_, Round) or not round_.tries:
        raise SettingsError(
            f"plot_ladder needs a round with tries, got {shown(round_)}; history[0] is the first"
        )
    name = _name([round_], name)
    ax = _axes(ax)
    place = _places([round_], name, ax, log=log, across=True)
    points = sorted(
        (place(try_.candidate[name]), try_.score)
        for try_ in round_.tries
        if math.isfinite(try_.rank_key)
    )
    kept = (place(round_.winner.candidate[name]), round_.winner.score)
    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": _LINE, "markersize": 9}
    _draw(ax, points, ".-", color=_TRIED, label="tried")
    _draw(ax, [kept], "o", label="kept", **ring)
    if round_.corrected is not None:
        ax.axvline(place(round_.corrected[name]), color=_LINE, linestyle="--", label="taken")
    ax.set_xlabel(name)
    ax.set_ylabel("score")
    return ax


def _draw(ax: Axes, points: Sequence[tuple[Any, float]], marks: str, **look: Any) -> None:
    ax.plot([x for x, _ in points], [y for _, y in points], marks, **look)


def _axes(ax: Axes | None) -> Axes:
    """The axes given, or new ones; without matplotlib the error says what to install."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as missing:
        raise ImportError("pictures need matplotlib: pip install 'dynhp[plots]'") from missing
    axes: Axes = pyplot.subplots()[1]
    return axes


def _rounds(history: Sequence[Round] | HasHistory) -> list[Round]:
    rounds = list(history_of(history))
    if not rounds:
        raise SettingsError("there is no round to draw yet; run the adapter first")
    return rounds


def _name(rounds: Sequence[Round], name: str | None) -> str:
    names = list(rounds[0].candidate)
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        raise SettingsError(
            f"name must be one of the hyperparameters, got {shown(name)}{nearest(str(name), names)}"
        )
    return name


def _places(
    rounds: Sequence[Round], name: str, ax: Axes, *, log: bool | None, across: bool = False
) -> Any:
    """Where a value is drawn on its axis, which is made ready: as a number, or by its word."""
    seen = values_seen(rounds, name)
    numbers = [float(v) for v in seen if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(seen):
        words = sorted(map(str, seen))
        (ax.set_xticks if across else ax.set_yticks)(range(len(words)), words)
        return lambda value: words.index(str(value))
    if looks_log(numbers) if log is None else log:
        (ax.set_xscale if across else ax.set_yscale)("log")
    return lambda value: value


def _base(round_: Round) -> float:
    """The score of the value in force, or the mean of the round; 0 if nothing was scored."""
    held = next((t.rank_key for t in round_.tries if t.candidate == round_.previous), math.nan)
    if math.isfinite(held):
        return held
    scores = [try_.rank_key for try_ in round_.tries if math.isfinite(try_.rank_key)]
    return sum(scores) / len(scores) if scores else 0.0
