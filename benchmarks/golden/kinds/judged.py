"""How a try is judged and what of it is kept; tries that fail; checks of the run by itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from names import public
from running import Run, trained
from trainers import (
    Descent,
    Drifting,
    FailingDescent,
    ForgetfulDescent,
    Noisy,
    ReadableDescent,
    Reverting,
    Tolerant,
    Unused,
)

from dynhp import Float
from kinds.tries import PROPOSERS, SELECTIONS

At, Around, annealed, scale = public("At"), public("Around"), public("annealed"), public("scale")

FLOATS = {"lr": Float(0.01, 0.3, log=True, points=4)}


def halved(candidate: Any, searched: Any = None) -> Any:
    """A correction of one's own, which stays in the range."""
    return candidate.but({"lr": max(0.01, candidate["lr"] / 2)})


def tails() -> Iterator[tuple[str, Run]]:
    """Tails with what is kept, what the value becomes, and how long a try is before them."""
    for keep, then, proposer, try_for, selection in product(
        ("winner", "value"),
        (False, True),
        ("interpolation", "neighbours", "climb"),
        (0, 2),
        ("best", "margin"),
    ):
        inside = proposer == "interpolation"
        correction = halved if inside else scale(0.3)
        settings = {
            "tail": annealed("lr", epochs=2 if try_for else 0.2),
            "keep": keep,
            "then": correction if then else None,
            "proposer": PROPOSERS[proposer](),
            "selection": SELECTIONS[selection],
            "try_for": try_for,
            "epochs": 20,
            "space": FLOATS if inside else {"lr": Around(0.1)},
        }
        name = f"keep {keep}, then {then}, {proposer}, try for {try_for}, {selection}"
        yield name, trained(ReadableDescent, settings, 20)
    for moments, keep, randomness in product(
        ([0], [0, 6], [0.5]), ("winner", "value"), ("common", "independent")
    ):
        settings = {
            "when": At(moments),
            "try_for": 1,
            "tail": annealed("lr", epochs=3, warm_up=0.5),
            "keep": keep,
            "then": scale(0.5, "lr"),
            "space": {"lr": Around(0.03)},
            "proposer": PROPOSERS["neighbours"](),
            "randomness": randomness,
            "check": "every",
        }
        yield f"at {moments}, keep {keep}, {randomness}", trained(Noisy, settings, 14)
    for keep, dry in product(("winner", "value"), (False, True)):
        yield f"keep {keep}, no tail, dry {dry}", trained(Noisy, {"keep": keep, "dry_run": dry})


FAILING: dict[str, dict[float, str]] = {
    "one raises": {0.3: "raise"},
    "the start raises": {0.1: "raise", 0.03: "raise"},
    "one is nan": {0.3: "nan"},
    "one is inf": {0.01: "inf"},
    "one raises later": {0.1: "later"},
    "all but one": {0.01: "raise", 0.1: "nan", 0.3: "later"},
    "all raise": dict.fromkeys((0.01, 0.03, 0.1, 0.3), "raise"),
    "all are nan": dict.fromkeys((0.01, 0.03, 0.1, 0.3), "nan"),
}


def failures() -> Iterator[tuple[str, Run]]:
    """Tries that fail in every way."""
    for failing, proposer, selection in product(
        FAILING, ("full grid", "neighbours", "ladder", "climb"), ("best", "racing every 2")
    ):
        settings = {
            "proposer": PROPOSERS[proposer](),
            "selection": SELECTIONS[selection],
            "try_for": 3,
        }
        make = partial(FailingDescent, FAILING[failing])
        yield f"{failing}, {proposer}, {selection}", trained(make, settings)
    for failing, keep, randomness in product(
        FAILING, ("winner", "value"), ("common", "independent")
    ):
        settings = {"keep": keep, "randomness": randomness, "check": "every", "try_for": 4}
        make = partial(FailingDescent, FAILING[failing])
        yield f"{failing}, keep {keep}, {randomness}, every check", trained(make, settings)


CHECKED: dict[str, Any] = {
    "descent": Descent,
    "noisy": Noisy,
    "read back": ReadableDescent,
    "forgetful": ForgetfulDescent,
    "unused": Unused,
    "reverting": Reverting,
    "drifting": Drifting,
    "tolerant": Tolerant,
}


def checks() -> Iterator[tuple[str, Run]]:
    """Sound and broken trainers with every kind of check, dry and not."""
    for trainer, check, dry in product(CHECKED, ("first", "every", "off"), (False, True)):
        settings = {"check": check, "dry_run": dry}
        yield f"{trainer}, {check}, dry {dry}", trained(CHECKED[trainer], settings)
    for trainer, tolerance in product(("drifting", "tolerant", "forgetful"), (0.0, 1e-5, 10.0)):
        settings = {"check": "every", "tolerance": tolerance}
        yield f"{trainer}, tolerance {tolerance}", trained(CHECKED[trainer], settings)
    for proposer, selection, randomness in product(
        ("full grid", "interpolation", "climb"), ("racing", "margin"), ("common", "independent")
    ):
        settings = {
            "proposer": PROPOSERS[proposer](),
            "selection": SELECTIONS[selection],
            "randomness": randomness,
            "check": "every",
        }
        name = f"{proposer}, {selection}, {randomness}, every"
        yield name, trained(Noisy, settings)
        yield f"{name}, dry", trained(Noisy, {**settings, "dry_run": True})


KINDS = {"tails": tails, "failures": failures, "checks": checks}
