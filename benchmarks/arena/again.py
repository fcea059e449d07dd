"""Whether results still hold: some runs are carried out again, and must come to the same."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.arena.runs.arms import arena_run
from dynhp.campaign import Finished

__all__ = ["carried_out_again", "spread_out"]


def spread_out(runs: Sequence[Finished], count: int) -> list[Finished]:
    """So many of the runs that have a result, at equal distances."""
    able = [run for run in runs if run.error is None]
    count = min(count, len(able))
    return [able[place * len(able) // count] for place in range(count)]


def carried_out_again(runs: Sequence[Finished]) -> list[str]:
    """What differs, in a line each: another processor, another torch, or an arm that was changed.

    A ledger knows runs by their settings, and these do not say what else a result depends on.
    """
    differences = []
    for run in runs:
        result = arena_run(**run.settings)
        if result != run.result:
            differences.append(f"{dict(run.settings)}: {run.result} and then {result}")
    return differences
