"""Ctrl-C at a random line of the library: the run that goes on must end as the undisturbed one.

Each run is interrupted once, at any line of ``dynhp`` that it executes, and told to go on. History,
end state, random generator and the number of states held must then be those of a run without an
interrupt. ``python benchmarks/interrupts.py --count 5000``; exits with 1 if a run ends otherwise.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dynhp import DynamicGridAdapter
from dynhp.errors import Hint
from tests.engine.test_interrupted import EPOCHS, KINDS, made
from tests.support.reference import bits, without_times

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = str(ROOT / "dynhp")
LONGER = EPOCHS + 3
"""One round more: states that an interrupt at the very end of a round leaves go with the next."""


class AtLine:
    """A trace function that raises KeyboardInterrupt at the n-th line of the library, once."""

    def __init__(self, line: int | None) -> None:
        self.line = line  # None: count only
        self.lines = 0
        self.where = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.line:
                path = Path(frame.f_code.co_filename).relative_to(ROOT)
                self.where = f"{path}:{frame.f_lineno} in {frame.f_code.co_name}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def traced(adapter: DynamicGridAdapter, trace: AtLine) -> None:
    """Run to the end, or to the interrupt."""
    sys.settrace(trace)
    try:
        adapter.run(EPOCHS)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)


def result(adapter: DynamicGridAdapter) -> tuple[Any, ...]:
    """All that must be equal."""
    return (
        without_times(adapter.history),
        bits(adapter.trainer.get_state()),
        adapter.memory.generator,
        len(adapter.table),
    )


def main() -> int:
    """Interrupt many runs and print how many ended otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--count", type=int, default=5000, help="how many interrupts, over all kinds"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", Hint)
    moments = random.Random(options.seed)
    wrong: Counter[str] = Counter()
    done = 0
    for kind in KINDS:
        undisturbed = made(kind)
        count = AtLine(None)
        traced(undisturbed, count)
        undisturbed.run(LONGER)
        expected = result(undisturbed)
        for _ in range(-(-options.count // len(KINDS))):
            adapter = made(kind)
            trace = AtLine(moments.randrange(1, count.lines + 1))
            traced(adapter, trace)
            try:
                adapter.run(EPOCHS)
                adapter.run(LONGER)
                same = result(adapter) == expected
            except Exception as failure:
                same = False
                trace.where += f" ({type(failure).__name__}: {str(failure)[:100]})"
            done += 1
            if not same:
                wrong[f"{kind}: {trace.where}"] += 1
        print(
            f"{kind}: {count.lines:,} lines a run; {wrong.total()} of {done:,} wrong so far",
            flush=True,
        )
    for where, times in wrong.most_common():
        print(f"{times} x {where}")
    print(f"{wrong.total()} of {done:,} interrupted runs ended otherwise")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
