"""When a round begins, from which state, and what happens where the main line breaks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from names import public, settings_of
from running import Run, Settings, trained
from trainers import Breaking, FailingDescent, Noisy, Restless

from dynhp import Best, Neighbors, Racing

At, Every, OnPlateau = public("At"), public("Every"), public("OnPlateau")
OnSpike, any_of = public("OnSpike"), public("any_of")
Ladder, Snapshots = public("Ladder"), public("Snapshots")


def third_epochs(line: Any) -> bool:
    """A trigger of one's own."""
    return line.epoch % 3 == 0 and line.epoch not in line.fired


def worse(line: Any) -> bool:
    """Another, which reads what was measured and does not say so."""
    values = [metrics["loss"] for _, metrics in line.measured[-2:]]
    return line.now is not None and len(values) == 2 and values[1] > values[0]


TRIGGERS: dict[str, Any] = {
    "every 4": Every(4),
    "at moments": At([0, 3, 0.5]),
    "plateau 2": OnPlateau("loss", patience=2),
    "plateau with cooldown": OnPlateau("loss", patience=3, min_delta=0.05, cooldown=2),
    "spike by factor": OnSpike("loss", factor=1.5, window=4),
    "spike by sigmas": OnSpike("loss", sigmas=1.0, window=3),
    "spike with lag": OnSpike("loss", factor=1.5, window=3, lag=1),
    "clock or spike": any_of(Every(5), OnSpike("loss", factor=2.0)),
    "plateau or spike": any_of(OnPlateau("norm", patience=3), OnSpike("loss", factor=2.0)),
    "own": third_epochs,
    "own or moment": any_of(worse, At([2])),
    "never": OnPlateau("loss", patience=99),
}
WAYS = ("here", "best", "before")
LIMITS: dict[str, dict[str, Any]] = {
    "no limit": {},
    "two rounds": {"max_rounds": 2, "record_every": 3},
    "race, record every 2": {"selection": Racing(every=2), "try_for": 4, "record_every": 2},
}


def triggers() -> Iterator[tuple[str, Run]]:
    """Each trigger with each way back and each limit; pairs that are refused are recorded too."""
    for trigger, way, limit in product(TRIGGERS, WAYS, LIMITS):
        settings = {
            "when": TRIGGERS[trigger],
            "start_from": way,
            "proposer": Neighbors(),
            "max_rounds": 6,
            **LIMITS[limit],
        }
        yield f"{trigger}, {way}, {limit}", trained(Restless, settings, 23)


def snapshots() -> Iterator[tuple[str, Run]]:
    """How many states are kept, how far apart, in memory and on disk."""
    for k, every, place, trigger in product(
        (1, 3), (1, 2, 4), ("memory", "disk"), ("own or moment", "plateau 2", "spike by factor")
    ):
        yield (
            f"{k} every {every}, {place}, {trigger}",
            trained(Restless, partial(_with_snapshots, k, every, place, trigger), 23),
        )


def _with_snapshots(k: int, every: int, place: str, trigger: str, folder: Path) -> dict[str, Any]:
    store = {"store": public("on_disk")(folder / "snapshots")} if place == "disk" else {}
    return {
        "when": TRIGGERS[trigger],
        "start_from": "before",
        "snapshots": Snapshots(k=k, every=every, **store),
        "proposer": Neighbors(),
        "max_rounds": 5,
    }


SAVED_BY: dict[str, dict[str, Any]] = {
    "ladder, before": {"proposer": Ladder(2), "start_from": "before"},
    "neighbours, best": {"proposer": Neighbors(), "start_from": "best"},
    "race, before": {
        "proposer": Ladder(2),
        "start_from": "before",
        "selection": Racing(),
        "try_for": 3,
        "randomness": "independent",
    },
    "value, before": {"proposer": Ladder(2), "start_from": "before", "keep": "value"},
}
WHENS: dict[str, Any] = {
    "spike": OnSpike("loss", factor=2.0, window=4),
    "middle": At([0.5]),
    "either": any_of(At([0.5]), OnSpike("loss", factor=2.0, window=4)),
}


def rescues() -> Iterator[tuple[str, Run]]:
    """Main lines that raise, spike and are not finite, with fewer and more rescues than breaks."""
    for how, most, way, when in product(("raise", "spike", "nan"), (0, 1, 20), SAVED_BY, WHENS):
        settings = {
            "when": WHENS[when],
            "max_rescues": most,
            "max_rounds": 2,
            "initial": {"lr": 0.3},
            **SAVED_BY[way],
        }
        make = partial(Breaking, how, at=(5, 6, 11))
        yield f"{how}, {most} rescues, {way}, {when}", trained(make, settings, 15)
    for how, fails in product(("raise", "nan"), ({0.1: "raise"}, {0.1: "nan", 0.03: "later"})):
        settings = {
            "when": OnSpike("loss", factor=2.0, window=4),
            "start_from": "before",
            "max_rescues": 4,
            "max_rounds": 0,
            "initial": {"lr": 0.3},
            "proposer": Ladder(2),
        }
        failing = {0.3: "later" if how == "raise" else how, **fails}
        name = f"the lower rates fail too, {how}, {len(fails)}"
        yield name, trained(partial(FailingDescent, failing), settings, 9)


def _of_the_paper(paper: Any, criterion: str) -> Any:
    """The settings of the paper, which are for any space: one version takes it, one does not."""
    space = [{"lr": [0.1, 0.3]}] if "space" in inspect.signature(paper).parameters else []
    return paper(*space, 8, 2, criterion=criterion, train="train_auc", validation="auc")


def presets() -> Iterator[tuple[str, Run]]:
    """What the library recommends, on trainers that need it and on those that do not."""
    plateau, rescue = public("plateau"), public("rescue")
    recommended, ema_race, paper = public("recommended"), public("ema_race"), public("paper")
    made: dict[str, Callable[[], Any]] = {
        "plateau": partial(plateau, "lr", default=0.3, loss="loss", patience=2),
        "plateau, one step": partial(plateau, "lr", default=0.3, loss="loss", patience=3, steps=1),
        "rescue": partial(rescue, "lr", default=0.3, loss="loss"),
        "rescue, 2": partial(rescue, "lr", default=0.3, loss="loss", max_rescues=2, lag=1, every=2),
        "learning rate": partial(recommended, "learning_rate", name="lr", default=0.1),
        "learning rate, 40": partial(
            recommended, "learning_rate", name="lr", default=0.01, epochs=40
        ),
        "learning rate, in force": partial(recommended, "lr"),
        "race of averages": partial(ema_race, "lr", epochs=40, default=0.1),
        "forced": partial(
            recommended, "dropout", name="momentum", epochs=40, default=0.5, force=True
        ),
        "leave alone": partial(recommended, "dropout"),
        "paper": partial(_of_the_paper, paper, "validation"),
        "paper, gap": partial(_of_the_paper, paper, "gap"),
    }
    trainers: dict[str, Callable[[], Any]] = {
        "noisy": Noisy,
        "raises": partial(Breaking, "raise", at=(7, 20)),
        "spikes": partial(Breaking, "spike", at=(9,)),
    }
    for preset, trainer in product(made, trainers):
        # The paper's settings are for any space.
        own = {"space": {"lr": [0.1, 0.3]}} if preset.startswith("paper") else {}
        yield f"{preset}, {trainer}", trained(trainers[trainer], _settings(made[preset], own), 40)
    for preset in ("plateau", "learning rate", "race of averages"):
        changed = {"seed": 3, "check": "every", "selection": Best()}
        yield f"{preset}, changed", trained(Noisy, _settings(made[preset], changed), 40)


def _settings(preset: Callable[[], Any], changed: Mapping[str, Any]) -> Settings:
    return lambda folder: settings_of(preset(), **changed)


KINDS = {
    "triggers": triggers,
    "snapshots": snapshots,
    "rescues": rescues,
    "presets": presets,
}
