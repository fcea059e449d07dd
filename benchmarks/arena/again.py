"""Whether results still hold: some runs are carried out again, and must come to the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain, islice, zip_longest

from benchmarks.arena.runs.arms import arena_run
from dynhp.campaign.results import Finished

__all__ = ["carried_out_again", "spread_out"]


def spread_out(runs: Sequence[Finished], count: int) -> list[Finished]:
    """So many of the runs that have a result, drawn so that every arm has its turn.

    Not at equal distances: those fall on the same few arms of each task, in whose order runs are.
    """
    able = [run for run in runs if run.error is None]
    by_arm: dict[str, list[Finished]] = {}
    for run in random.Random(0).sample(able, len(able)):
        by_arm.setdefault(run.settings["arm"], []).append(run)
    turns = chain.from_iterable(zip_longest(*by_arm.values()))
    return list(islice((run for run in turns if run is not None), count))


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
