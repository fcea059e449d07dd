"""How often the luck report is wrong: silent on pure noise, or accusing a real effect.

Run as ``python benchmarks/luck.py [runs [part/parts]]``; the exit code is 1 where more than 5 of
100 runs of a cell are wrong. ``2/3`` counts the second of three parts, to use three processes.

Where the only better value was tried in fewer than two rounds, the record does not hold the effect
(``on_record``). Such runs of a walk are left out: the column ``runs`` says how many are counted.
Where it was tried more often, a walk of few rounds still saw little of it: these cells are counted
and shown, and the limit, which they do not keep, is for the others.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _luck_runs import SELECTIONS, LuckCase, Randomness, Truth, on_record, recorded

from dynhp.records import Round
from dynhp.report import luck_of
from dynhp.report.evidence import chance_of
from dynhp.report.luck import LEVEL

SMALL = [(2, 4), (3, 4), (5, 4), (2, 20), (5, 20), (20, 4)]
LARGE = [(300, 4), (9, 40), (2, 500), (300, 20)]
WALKS = [(3, 4), (9, 4), (3, 20), (9, 40), (300, 4), (30, 100)]
LARGEST = (300, 500)
FIRST_SEED = 10_000
"""The report's level was chosen with seeds below this one, so the figures are of others."""

HEADINGS = ("values", "rounds", "proposer", "selection", "randomness", "truth", "wrong", "runs")
WIDTHS = (6, 6, 9, 21, 11, 5, 5, 7, 4, 13)


class CountedRuns(NamedTuple):
    """How many runs of a case the report is wrong in."""

    case: LuckCase
    runs: int
    counted: int
    wrong: int

    @property
    def share(self) -> float:
        """The share of runs in which the report is wrong."""
        return self.wrong / max(1, self.counted)

    @property
    def too_much(self) -> bool:
        """Whether more than 5 of 100 are wrong, where that is promised."""
        promised = (self.case.proposer, self.case.truth) != ("Neighbors", "peak")
        return promised and self.share > 0.05

    def row(self) -> tuple[str, ...]:
        """The cells of the table."""
        case = self.case
        low, high = wilson(self.share, max(1, self.counted))
        where = (case.values, case.rounds, case.proposer, case.selection, case.randomness)
        runs = str(self.runs) if self.counted == self.runs else f"{self.counted}/{self.runs}"
        interval = f"{100 * low:.1f} to {100 * high:.1f}"
        return (
            *map(str, where),
            case.truth,
            str(self.wrong),
            runs,
            f"{100 * self.share:.1f}",
            interval,
        )


def wilson(share: float, runs: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share."""
    middle = (share + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(share * (1 - share) / runs + (z / (2 * runs)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def speaks_of_luck(history: list[Round]) -> bool:
    """What the report says; where the chance is known it decides alone."""
    chance = chance_of(history)
    return "luck" in str(luck_of(history)) if chance is None else chance >= LEVEL


def count(case: LuckCase, runs: int) -> CountedRuns:
    """Carry out the runs of a case."""
    counted = wrong = 0
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        history = recorded(case, seed)
        if on_record(case, seed, history):
            counted += 1
            wrong += speaks_of_luck(history) == (case.truth != "noise")
    return CountedRuns(case, runs, counted, wrong)


def cells(runs: int) -> Iterator[tuple[LuckCase, int]]:
    """What is counted: small cases in all combinations, large ones with randomness in turn."""
    kinds: list[Randomness] = ["independent", "common"]
    turns = [(name, kinds[i % 2]) for i, name in enumerate(SELECTIONS)]
    all_of_them = [(name, kind) for name in SELECTIONS for kind in kinds]
    on_a_grid: list[Truth] = ["noise", "peak"]
    on_a_walk: list[Truth] = ["noise", "peak", "hill"]
    for values, rounds in (*SMALL, *LARGE):
        fewer = runs if values * rounds < 5000 else min(runs, 50)
        for selection, kind in all_of_them if (values, rounds) in SMALL else turns:
            for truth in on_a_grid:
                yield LuckCase(values, rounds, selection, "FullGrid", kind, truth), fewer
    for values, rounds in (*WALKS, LARGEST):
        fewer = min(runs, 40) if (values, rounds) == LARGEST else runs
        # In a walk among hundreds the one better value is hardly ever met.
        truths = [truth for truth in on_a_walk if truth != "peak" or values < 10]
        for selection, kind in turns:
            for truth in truths:
                yield LuckCase(values, rounds, selection, "Neighbors", kind, truth), fewer
    for truth in on_a_grid:
        # All others have these scores, those of a race or not, and only other values in force.
        for selection, kind in (("Best", kinds[0]), ("Racing", kinds[1])):
            yield LuckCase(*LARGEST, selection, "FullGrid", kind, truth), min(runs, 40)


def main() -> int:
    """Count, print, and say whether all cells keep the limit."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    part, parts = map(int, sys.argv[2].split("/")) if len(sys.argv) > 2 else (1, 1)
    began = time.perf_counter()
    show((*HEADINGS, "%", "95 % interval"))
    table = []
    for case, fewer in list(cells(runs))[part - 1 :: parts]:
        table.append(count(case, fewer))
        show(table[-1].row())
    over = [cell for cell in table if cell.too_much]
    for truth in ("noise", "peak", "hill"):
        worst = max((each for each in table if each.case.truth == truth), key=lambda c: c.share)
        print(f"worst of {truth}:")
        show(worst.row())
    print(
        f"seeds from {FIRST_SEED}; {time.perf_counter() - began:.0f} s; {len(over)} cells above 5 %"
    )
    return 1 if over else 0


def show(row: tuple[str, ...]) -> None:
    """Print a row of the table."""
    line = (f"{text:<{width}}" for text, width in zip(row, WIDTHS, strict=True))
    print("  ".join(line).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
