"""How often the luck report is wrong: silent on pure noise, or accusing a real effect.

Run as ``python benchmarks/luck.py [runs [part/parts [file]]]``; the exit code is 1 where a limit is
not kept. ``2/3`` counts the second of three parts, to use three processes. In the file every cell
is kept as soon as it is counted, and a run that is started again with the same file goes on from
there (delete it when the code has changed).

The limit is 5 wrong of 100 in every cell. The report may also say that it cannot tell, because too
few rounds have tried the same values. That is neither silence nor an accusation. The column
``unknown`` counts it, and where every round tries all values, or a walk has 20 rounds or more, it
may not happen in more than 5 of 100 either.

Where the only better value was tried in fewer than two rounds, the record does not hold the effect
(``on_record``). Such runs of a walk are left out: the column ``runs`` says how many are counted.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _luck_runs import SELECTIONS, LuckCase, Randomness, Truth, on_record, recorded

from dynhp.records import Round
from dynhp.report import luck_of
from dynhp.report.evidence import evidence_of
from dynhp.report.luck import Luck

SMALL = [(2, 4), (3, 4), (5, 4), (2, 20), (5, 20), (20, 4)]
LARGE = [(300, 4), (9, 40), (2, 500), (300, 20)]
WALKS = [(3, 4), (9, 4), (3, 20), (9, 40), (300, 4), (30, 100)]
LARGEST = (300, 500)
FIRST_SEED = 10_000
"""The report's level was chosen with seeds below this one, so the figures are of others."""

MANY_ROUNDS = 20
LIMIT = 0.05

HEADINGS = ("values", "rounds", "proposer", "selection", "randomness", "truth", "unknown", "wrong")
WIDTHS = (6, 6, 9, 21, 11, 5, 7, 5, 7, 4, 13)


class CountedRuns(NamedTuple):
    """How many runs of a case the report is wrong in, and in how many it cannot tell."""

    case: LuckCase
    runs: int
    counted: int
    wrong: int
    unknown: int

    @property
    def share(self) -> float:
        """The share of runs in which the report is wrong."""
        return self.wrong / max(1, self.counted)

    @property
    def too_much(self) -> bool:
        """Whether a limit is not kept: of wrong answers, or of none where one is due."""
        due = self.case.proposer == "FullGrid" or self.case.rounds >= MANY_ROUNDS
        return self.share > LIMIT or (due and self.unknown > LIMIT * self.counted)

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
            str(self.unknown),
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


def verdict(history: list[Round]) -> str:
    """What the report says; where the chance is known it decides alone, which saves time."""
    evidence = evidence_of(history)
    if evidence.chance is None:
        return luck_of(history).verdict
    known: dict[str, Any] = {"rounds": len(history), "changes": 0, "clear": 0, "noise": 0.0}
    return Luck(**known, **evidence._asdict()).verdict


def count(case: LuckCase, runs: int) -> CountedRuns:
    """Carry out the runs of a case."""
    verdicts = []
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        history = recorded(case, seed)
        if on_record(case, seed, history):
            verdicts.append(verdict(history))
    wrong = "effect" if case.truth == "noise" else "luck"
    return CountedRuns(case, runs, len(verdicts), verdicts.count(wrong), verdicts.count("unknown"))


def counted_before(file: Path | None) -> dict[tuple[LuckCase, int], CountedRuns]:
    """The cells that another run has left in the file."""
    lines = file.read_text("utf-8").splitlines() if file is not None and file.exists() else []
    cells = (CountedRuns(LuckCase(*case), *rest) for case, *rest in map(json.loads, lines))
    return {(cell.case, cell.runs): cell for cell in cells}


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
    for selection, kind in turns:
        for truth in on_a_grid:
            yield LuckCase(*LARGEST, selection, "FullGrid", kind, truth), min(runs, 40)


def main() -> int:
    """Count, print, and say whether all cells keep the limit."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    part, parts = map(int, sys.argv[2].split("/")) if len(sys.argv) > 2 else (1, 1)
    file = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    began = time.perf_counter()
    show((*HEADINGS, "runs", "%", "95 % interval"))
    table, before = [], counted_before(file)
    for case, fewer in list(cells(runs))[part - 1 :: parts]:
        table.append(before.get((case, fewer)) or count(case, fewer))
        show(table[-1].row())
        if file is not None and (case, fewer) not in before:
            with file.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(table[-1]) + "\n")
    over = [cell for cell in table if cell.too_much]
    for truth in ("noise", "peak", "hill"):
        worst = max((each for each in table if each.case.truth == truth), key=lambda c: c.share)
        print(f"worst of {truth}:")
        show(worst.row())
    print(
        f"seeds from {FIRST_SEED}; {time.perf_counter() - began:.0f} s; {len(over)} cells do not "
        "keep a limit"
    )
    return 1 if over else 0


def show(row: tuple[str, ...]) -> None:
    """Print a row of the table."""
    line = (f"{text:<{width}}" for text, width in zip(row, WIDTHS, strict=True))
    print("  ".join(line).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
