"""Draws the pictures of docs/pictures; those of runs show real runs of a small noisy model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dynhp import adapt
from dynhp.records import History

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
# Colours by role: as an image of its own a picture follows the reader's system; on the site it is
# part of the page, and static/site.css follows the page's theme.
STYLE = """<style>
.dynhp-picture{--ink:#24292f;--soft:#6e7781;--line:#d0d7de;--main:#0b6e7f;--kept:#d97706;--try:#8c959f;
font:13px -apple-system,BlinkMacSystemFont,"Segoe UI",Helvetica,Arial,sans-serif}
@media (prefers-color-scheme:dark){.dynhp-picture{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;
--main:#58c4d6;--kept:#f0a644;--try:#7d8590}}
.dynhp-picture text{fill:var(--ink)}.dynhp-picture .soft{fill:var(--soft)}
.dynhp-picture path,.dynhp-picture line{fill:none;stroke-linecap:round;stroke-linejoin:round}
.dynhp-picture .main{stroke:var(--main);stroke-width:3}
.dynhp-picture .try{stroke:var(--try);stroke-width:1.6}
.dynhp-picture .kept{stroke:var(--kept);stroke-width:3}
.dynhp-picture .axis{stroke:var(--line);stroke-width:1}
.dynhp-picture .band{fill:var(--kept);opacity:.12}.dynhp-picture .dot{fill:var(--kept)}
.dynhp-picture .lost{fill:var(--try)}.dynhp-picture .origin{fill:var(--main)}
.dynhp-picture .dash{stroke-dasharray:5 5}
</style>"""
RATES = [0.02, 0.07, 0.25]
EPOCHS, ROUND, TRY = 40, 10, 4


class NoisyModel:
    """A quadratic in many dimensions, whose gradient is seen with noise."""

    def __init__(self, seed: int = 0) -> None:
        self.weights = np.full(200, 1.0)
        self.rng = np.random.default_rng(seed)

    def get_state(self) -> tuple[np.ndarray, dict]:
        return self.weights.copy(), self.rng.bit_generator.state

    def set_state(self, state: tuple[np.ndarray, dict]) -> None:
        self.weights = state[0].copy()
        self.rng.bit_generator.state = state[1]

    def train(self, rate: float) -> float:
        """One epoch, and the loss after it."""
        noise = 0.7 * self.rng.standard_normal(200)
        self.weights = self.weights - rate * (self.weights + noise)
        return float(np.mean(self.weights**2))


def adapted_run() -> History:
    """The run of the first picture: the loss of each epoch, and of each epoch of each try."""
    model = NoisyModel()
    loop = adapt(EPOCHS, state=[model], space={"lr": RATES}, minimize="loss",
                 adapt_every=ROUND, try_for=TRY, initial={"lr": 0.07})  # fmt: skip
    for epoch in loop:
        epoch.report(loss=model.train(epoch["lr"]))
    return loop.history


Scale = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float, *, log: bool = False) -> Scale:
    """From values to places in the picture."""
    change = math.log if log else float
    low, high = change(low), change(high)
    return lambda value: start + (change(value) - low) / (high - low) * (end - start)


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    places = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="{kind}" d="M{places}"/>'


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{name} text-anchor="{anchor}">{words}</text>'


def dot(x: float, y: float, kind: str, radius: float = 4) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def band(x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="band" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>'


def picture(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    """The whole of a picture, with a title for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dynhp-picture" viewBox="0 0 {width} '
        f'{height}" role="img" aria-label="{title}">\n<title>{title}</title>\n{STYLE}\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def run_picture() -> str:
    """A run: its main line, the tries beside it, and the value in force below."""
    history = adapted_run()
    start = float(np.mean(NoisyModel().weights ** 2))
    losses = {0: start} | {number + 1: float(m["loss"]) for number, m in history.measured}
    tried = [m["loss"] for round_ in history for try_ in round_.tries for m in try_.series]
    x = scale(0, EPOCHS, 64, 745)
    y = scale(min(tried) * 0.85, 1.0, 232, 40, log=True)
    rate = scale(min(RATES), max(RATES), 318, 268, log=True)
    parts = [text(12, 24, "loss (log scale)", "soft"), text(12, 258, "learning rate", "soft")]
    for round_ in history:
        first = round_.start
        parts.append(band(x(first), 34, x(first + TRY) - x(first), 292))
        origin = losses[first]
        for try_ in round_.tries:
            line = [origin, *(float(m["loss"]) for m in try_.series)]
            points = [(x(first + place), y(loss)) for place, loss in enumerate(line)]
            if try_.candidate != round_.candidate:
                parts += [path(points, "try"), dot(*points[-1], "lost", 3)]
                if first == 0:
                    rate_tried = f"{float(try_.candidate['lr']):g}"
                    parts.append(text(points[-1][0] + 8, points[-1][1] + 4, rate_tried, "soft"))
    parts.append(path([(x(epoch), y(losses[epoch])) for epoch in sorted(losses)], "main"))
    steps: list[tuple[float, float]] = []
    for round_ in history:
        first, value = round_.start, float(round_.candidate["lr"])
        after = [(x(first + place), y(losses[first + place])) for place in range(TRY + 1)]
        parts += [path(after, "kept"), dot(*after[0], "origin"), dot(*after[-1], "dot")]
        steps += [(x(first), rate(value)), (x(first + ROUND), rate(value))]
        parts.append(text(x(first + 7), rate(value) - 7, f"{value:g}", "", "middle"))
    parts.append(path(steps, "main"))
    parts += [text(x(epoch), 345, str(epoch), "soft", "middle") for epoch in range(0, 41, 10)]
    parts.append(text(12, 345, "epoch", "soft"))
    parts += [
        path([(x(0), 328), (x(EPOCHS), 328)], "axis"),
        text(x(5), 112, "tries: every value from the same state"),
        text(x(15), 62, "the best copy is kept, the others leave no trace"),
    ]
    return picture(810, 356, "A run in four rounds: in each, three learning rates are tried from "
                   "the same state, and the best copy goes on", parts)  # fmt: skip


def round_picture() -> str:
    """One round, step by step."""
    parts = [band(150, 26, 230, 158), path([(20, 105), (150, 105)], "main")]
    for height, name in ((50, "0.01"), (105, "0.03"), (160, "0.1")):
        kind = "kept" if name == "0.1" else "try"
        parts += [path([(150, 105), (190, height), (380, height)], kind)]
        parts += [dot(380, height, "dot" if kind == "kept" else "lost"),
                  text(285, height - 9, f"lr = {name}", "", "middle")]  # fmt: skip
    parts += [
        path([(380, 160), (440, 105), (740, 105)], "main"),
        dot(150, 105, "origin", 6),
        text(150, 208, "origin", "", "middle"),
        text(265, 208, "try_for epochs", "", "middle"),
        text(265, 226, "one copy for each candidate", "soft", "middle"),
        text(395, 54, "dropped", "soft"),
        text(395, 166, "best score: kept"),
        text(590, 90, "the rest of the round, with lr = 0.1", "", "middle"),
        path([(150, 246), (740, 246)], "axis"),
        text(445, 266, "adapt_every epochs: one round", "", "middle"),
    ]
    return picture(760, 276, "One round: copies of one state are trained with three values; the "
                   "best copy goes on", parts)  # fmt: skip


def mean_losses(rate: float, *, epochs: int, runs: int = 40) -> list[float]:
    """The mean loss of many runs: steep directions are noise, flat ones a long way."""
    curvature = np.repeat([1.0, 0.05], 50)
    rng = np.random.default_rng(0)
    weights = np.tile(np.repeat([0.0, 2.0], 50), (runs, 1))
    losses = []
    for epoch in range(-20, epochs + 1):
        if epoch == 0:
            weights[:, 50:] = 2.2
        if epoch >= 0:
            losses.append(float(np.mean(curvature * weights**2)))
        noise = 0.58 * curvature * rng.standard_normal(weights.shape)
        weights = weights - (0.5 if epoch < 0 else rate) * (curvature * weights + noise)
    return losses


def horizon_picture() -> str:
    """What looks best after a few epochs, and what is best in the end."""
    lines = {rate: mean_losses(rate, epochs=60) for rate in (0.5, 0.05)}
    x, y = scale(0, 60, 60, 640), scale(0.02, 0.19, 210, 40)
    parts = [band(x(0), 30, x(5) - x(0), 180), path([(x(0), 210), (x(60), 210)], "axis")]
    parts += [text(12, 24, "loss", "soft"), text(x(0) + 4, 228, "a try", "", "start")]
    parts += [text(x(60), 228, "the end of the run", "", "end")]
    for (rate, losses), kind in zip(lines.items(), ("main", "kept"), strict=True):
        points = [(x(epoch), y(loss)) for epoch, loss in enumerate(losses)]
        parts += [path(points, kind), text(points[-1][0] + 10, points[-1][1] + 4, f"lr = {rate}")]
        parts.append(dot(*points[5], "dot" if kind == "kept" else "origin"))
    return picture(760, 240, "Two learning rates from the same state: the small one has the lower "
                   "loss after five epochs, the large one after sixty", parts)  # fmt: skip


def luck_picture() -> str:
    """The scores of four rounds: where the values differ, and where they do not."""
    rng = np.random.default_rng(5)
    parts = []
    for left, gap, title in ((40, 26.0, "the values differ"), (410, 0.0, "the choices are luck")):
        parts.append(text(left + 150, 24, title, "", "middle"))
        for round_ in range(4):
            centre = left + 30 + 80 * round_
            scores = 110 + np.array([gap, 0.0, -gap]) * 1.3 + 9 * rng.standard_normal(3)
            parts.append(path([(centre - 26, 190), (centre + 26, 190)], "axis"))
            for place, score in enumerate(scores):
                best = place == int(np.argmin(scores))
                parts.append(dot(centre + 18 * (place - 1), score, "dot" if best else "lost", 6))
            parts.append(text(centre, 208, f"round {round_ + 1}", "soft", "middle"))
    parts.append(text(14, 60, "score", "soft"))
    return picture(760, 220, "Scores of three values in four rounds: on the left the same value is "
                   "always best, on the right another one each time", parts)  # fmt: skip


PICTURES = {
    "run": run_picture,
    "round": round_picture,
    "horizon": horizon_picture,
    "luck": luck_picture,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), "utf-8")
