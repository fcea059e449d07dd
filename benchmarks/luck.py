"""How often the luck report is wrong: silent on pure noise, or accusing a real effect.

Run as ``python benchmarks/luck.py [runs]``; the exit code is 1 where more than 5 of 100 are wrong.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dynhp import Best, BestByMargin, DynamicGridAdapter, FullGrid, Neighbors, Racing, highest
from dynhp.records import History
from dynhp.report import luck_of

SELECTIONS = {
    "Best": Best(),
    "BestByMargin(noise=1)": BestByMargin(noise=1.0),
    "BestByMargin(delta=1)": BestByMargin(delta=1.0),
    "Racing": Racing(),
    "Racing(keep=0.3)": Racing(keep=0.3),
}
EFFECT = 5 * math.sqrt(2)
"""Five times the noise of a paired difference, for scores whose own noise is 1."""


class ValuesWithNoise:
    """A trainer whose score is noise, and better by ``effect`` with one of its values.

    Under common random numbers each value still has noise of its own, as a network has whose
    training amplifies the smallest difference.
    """

    def __init__(self, effect: float, best: float, seed: int) -> None:
        self.effect, self.best, self.seed = effect, best, seed
        self.steps, self.level, self.value = 0, 0.0, 0.0

    def get_state(self) -> tuple[int, float, float, int]:
        return self.steps, self.level, self.value, self.seed

    def set_state(self, state: tuple[int, float, float, int]) -> None:
        self.steps, self.level, self.value, self.seed = state

    def reseed(self, seed: int) -> None:
        self.seed = seed

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        self.value = hyperparameters["x"]
        self.steps += k
        self.level += 10.0 * k  # training progress, far larger than noise and effect

    def metrics(self) -> dict[str, float]:
        rng = random.Random(f"{self.seed} {self.steps} {self.value}")
        better = self.effect * (self.value == self.best)
        return {"score": self.level + better + rng.gauss(0.0, 1.0)}


class LuckCell(NamedTuple):
    """One set-up, and how many of its runs the report speaks of luck in."""

    values: int
    rounds: int
    selection: str
    randomness: str
    proposer: str
    effect: float
    runs: int
    accused: int

    @property
    def wrong(self) -> float:
        """The share of runs in which the report is wrong."""
        return (self.accused if self.effect else self.runs - self.accused) / self.runs

    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        low, high = wilson(self.wrong, self.runs)
        kind = "accuses an effect" if self.effect else "silent on noise"
        where = (str(self.values), str(self.rounds), self.selection, self.randomness, self.proposer)
        interval = f"{100 * low:.1f} to {100 * high:.1f}"
        return (*where, kind, str(self.runs), f"{100 * self.wrong:.1f}", interval)


def wilson(share: float, runs: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share."""
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + (z / (2 * runs)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def a_run(cell: LuckCell, seed: int) -> History:
    """One run; the good value is any of them, by the seed."""
    values, rounds, selection, randomness, proposer, effect = cell[:6]
    adapter = DynamicGridAdapter(
        ValuesWithNoise(effect, float(seed % values), seed),
        {"x": [float(value) for value in range(values)]},
        criterion=highest("score"),
        adapt_every=2,
        try_for=2,
        selection=SELECTIONS[selection],
        proposer=Neighbors() if proposer == "Neighbors" else FullGrid(),
        randomness=randomness,  # type: ignore[arg-type]
        seed=seed,
    )
    return adapter.run(2 * rounds)


def count(cell: LuckCell) -> LuckCell:
    """Carry out the runs of a cell."""
    accused = sum("luck" in str(luck_of(a_run(cell, seed))) for seed in range(cell.runs))
    return cell._replace(accused=accused)


def cells(runs: int) -> Iterator[LuckCell]:
    """What is counted: small set-ups in all combinations, large ones where they can differ."""
    for values, rounds in ((2, 4), (3, 4), (5, 4), (2, 20), (5, 20), (20, 4)):
        for selection in SELECTIONS:
            for randomness in ("independent", "common"):
                for effect in (0.0, EFFECT):
                    yield LuckCell(
                        values, rounds, selection, randomness, "FullGrid", effect, runs, 0
                    )
    for effect in (0.0, EFFECT):
        for values, rounds in ((3, 20), (9, 40)):
            yield LuckCell(values, rounds, "Best", "independent", "Neighbors", effect, runs, 0)
        for selection in ("Best", "Racing"):
            for values, rounds in ((300, 4), (2, 500), (300, 20)):
                fewer = min(runs, max(10, runs * 200 // (values * rounds)))
                yield LuckCell(
                    values, rounds, selection, "independent", "FullGrid", effect, fewer, 0
                )


def main() -> int:
    """Count, print, and say whether all cells keep the limit."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    began = time.perf_counter()
    headings = ("values", "rounds", "selection", "randomness", "proposer", "wrong where it")
    widths = (6, 6, 21, 11, 9, 17, 4, 4, 13)
    counted = []
    for row in ((*headings, "runs", "%", "95 % interval"), *cells(runs)):
        if isinstance(row, LuckCell):
            counted.append(count(row))
            row = counted[-1].row()
        line = zip(row, widths, strict=True)
        print("  ".join(f"{text:<{width}}" for text, width in line).rstrip(), flush=True)
    over = [cell for cell in counted if cell.wrong > 0.05]
    print(f"seeds 0 to runs - 1; {time.perf_counter() - began:.0f} s; {len(over)} cells above 5 %")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
