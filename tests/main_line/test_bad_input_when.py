"""Bad input of when and from where: each call, and the words of its error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynhp import DynamicGridAdapter, highest, lowest, phased, plateau, rescue
from dynhp.errors import CheckpointError, MetricError, SettingsError
from dynhp.main_line import Snapshots
from dynhp.proposers import Ladder
from dynhp.storage import on_disk
from dynhp.storage.on_disk import StatesOnDisk
from dynhp.triggers import Every, OnPlateau, OnSpike, any_of
from tests.support.reference import Toy, bits

PLATEAU = OnPlateau("loss", patience=3)
ADAPTERS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"when": None}, SettingsError, "must be said once.* got adapt_every=None and when=None"),
    ({"adapt_every": 4}, SettingsError, "must be said once.* got adapt_every=4 and when=OnPl"),
    ({"when": "plateau"}, SettingsError, "when must be a trigger such as Every"),
    ({"when": OnPlateau}, SettingsError, "when must be a trigger such as Every"),
    ({"when": lambda: True}, SettingsError, "a function of a LineSoFar, got"),
    ({"when": Every(3), "try_for": 4}, SettingsError, "at most adapt_every, got try_for=4"),
    (
        {"when": any_of(PLATEAU, any_of(Every(4))), "try_for": 6},
        SettingsError,
        r"try_for must be at most the epochs from one round to the next, got try_for=6 and "
        r"Every\(n=4\) in any_of\(.*; make the tries shorter, or n larger",
    ),
    ({"when": OnPlateau("los", patience=1)}, MetricError, "no metric 'los'; did you mean 'loss'"),
    ({"try_for": 0}, SettingsError, "try_for must be a whole number above 0, or .* got 0"),
    ({"start_from": "there"}, SettingsError, "start_from must be 'here' or 'best' or 'before'"),
    ({"start_from": "best"}, SettingsError, "start_from='best' can go back again and again; say"),
    ({"start_from": "before"}, SettingsError, "start_from='before' can go back again and again"),
    ({"max_rounds": -1}, SettingsError, "max_rounds must be a whole number of 0 or more, got -1"),
    ({"max_rounds": 1.5}, SettingsError, "max_rounds must be a whole number of 0 or more"),
    ({"max_rescues": -1}, SettingsError, "max_rescues must be a whole number of 0 or more"),
    ({"max_rescues": None}, SettingsError, "max_rescues must be a whole number of 0 or more"),
    ({"max_rescues": 2}, SettingsError, "max_rescues=2 needs a healthy state to go back to; give"),
    ({"record_every": 0}, SettingsError, "record_every must be a whole number above 0, got 0"),
    ({"snapshots": 3}, SettingsError, r"snapshots must be Snapshots\(k=2, every=1\), got 3"),
    (
        {
            "start_from": "best",
            "max_rounds": 1,
            "criterion": phased(lowest("loss"), lowest("norm")),
        },
        SettingsError,
        "start_from='best' compares all epochs by one rule, but phased.* use start_from='before'",
    ),
    (
        {"criterion": highest("loss")},
        SettingsError,
        r"and the criterion highest\('loss'\) must agree which is better; .* better='higher'",
    ),
    (
        {"when": any_of(Every(2), OnSpike("loss", factor=2.0, better="higher"))},
        SettingsError,
        "must agree which is better; give the trigger better='lower'",
    ),
    (
        {"when": any_of(Every(2), any_of(OnPlateau("loss", patience=2, better="higher")))},
        SettingsError,
        "must agree which is better; give the trigger better='lower'",
    ),
]


def make(trainer: Any, **changes: Any) -> DynamicGridAdapter:
    given: dict[str, Any] = {
        "space": {"lr": [0.01, 0.1]},
        "criterion": lowest("loss"),
        "when": PLATEAU,
        "try_for": 2,
    }
    return DynamicGridAdapter(trainer, **(given | changes))


@pytest.mark.parametrize(("changes", "kind", "message"), ADAPTERS)
def test_what_cannot_work_is_refused_before_anything_is_trained(
    changes: dict[str, Any], kind: type[Exception], message: str
) -> None:
    trainer = Toy()
    before = bits(trainer.get_state())
    with pytest.raises(kind, match=message):
        make(trainer, **changes)
    assert bits(trainer.get_state()) == before
    assert trainer.trained == 0


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "k": (lambda: Snapshots(k=0), "Snapshots: k must be a whole number above 0, got 0"),
    "every": (lambda: Snapshots(every=0.5), "Snapshots: every must be a whole number above 0"),  # type: ignore[arg-type]
    "store": (lambda: Snapshots(store="disk"), "Snapshots: store must be what makes a store"),  # type: ignore[arg-type]
    "folder": (lambda: on_disk(3), "on_disk: the folder must be"),  # type: ignore[arg-type]
    "down": (lambda: Ladder(0), "Ladder: down must be a whole number above 0, got 0"),
    "words": (
        lambda: make(Toy(), space={"lr": [0.1], "kind": ["a", "b"]}, proposer=Ladder()),
        r"Ladder\(down=3\) goes down, so kind needs numbers, got 'a'; use Neighbors",
    ),
    "plateau name": (lambda: plateau("", default=0.1), "plateau: name must be a non-empty string"),
    "plateau default": (lambda: plateau("lr", default=0.0), "default must be a positive number"),
    "plateau factor": (lambda: plateau("lr", default=1.0, factor=1), "factor must be .* above 1"),
    "plateau steps": (lambda: plateau("lr", default=1.0, steps=0), "plateau: steps must be"),
    "plateau depth": (lambda: plateau("lr", default=1.0, steps=999), "use fewer steps"),
    "rescue depth": (lambda: rescue("lr", default=1.0, factor=1e99), "the lowest value must be"),
    "patience": (lambda: plateau("lr", default=1.0, patience=0), "plateau: patience must be"),
    "plateau loss": (lambda: plateau("lr", default=1.0, loss=""), "a metric's name must be"),
    "plateau rounds": (lambda: plateau("lr", default=1, max_rounds=0), "plateau: max_rounds must"),
    "rescue name": (lambda: rescue(3, default=0.1), "rescue: name must be a non-empty"),  # type: ignore[arg-type]
    "rescue default": (lambda: rescue("lr", default=-1.0), "rescue: default must be a positive"),
    "rescue factor": (lambda: rescue("lr", default=1.0, factor=0.3), "rescue: factor must be"),
    "rescue steps": (lambda: rescue("lr", default=1.0, steps=-1), "rescue: steps must be"),
    "rescue spike": (lambda: rescue("lr", default=1.0, spike=1.0), "OnSpike: factor must be"),
    "rescue window": (lambda: rescue("lr", default=1.0, window=0), "OnSpike: window must be"),
    "rescue down": (lambda: rescue("lr", default=1.0, down=0), "Ladder: down must be"),
    "rescue tries": (lambda: rescue("lr", default=1.0, try_for=0), "rescue: try_for must be"),
    "rescues": (lambda: rescue("lr", default=1.0, max_rescues=0), "rescue: max_rescues must be"),
    "rescue lag": (lambda: rescue("lr", default=1.0, lag=-1), "OnSpike: lag must be a whole"),
    "rescue every": (lambda: rescue("lr", default=1.0, every=0), "Snapshots: every must be"),
}


@pytest.mark.parametrize("case", CALLS)
def test_bad_calls(case: str) -> None:
    call, words = CALLS[case]
    with pytest.raises(SettingsError, match=words):
        call()


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        CheckpointError, match=r"snapshots cannot be kept in .* choose another fold"
    ):
        on_disk(tmp_path / "file")()
    store = StatesOnDisk(tmp_path / "ring")
    key = store.put({"epoch": 3})
    (tmp_path / "ring" / key).write_bytes(b"broken")
    with pytest.raises(CheckpointError, match=r"cannot be read.*give each run a folder of its own"):
        store.get(key)
    with pytest.raises(CheckpointError, match="cannot be read"):
        store.get("state-000009.zip")
    (tmp_path / "ring" / key).unlink()
    (tmp_path / "ring").rmdir()
    with pytest.raises(CheckpointError, match=r"a snapshot could not be written.*make room"):
        store.put({"epoch": 4})


def test_stale_files_are_removed_and_others_are_not(tmp_path: Path) -> None:
    for name in ("state-000001.zip", "state-000002.zip.part", "notes.txt"):
        (tmp_path / name).write_text("")
    store = StatesOnDisk(tmp_path)
    first, second = store.put(1), store.put(2)
    store.keep_only([second])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", second]
    assert first != second


def saved() -> Any:
    adapter = make(Toy(), start_from="best", max_rounds=1)
    adapter.run(6)
    state = adapter.state_dict()
    assert state["main_line"]["held"]
    return state


@pytest.mark.parametrize(
    "damage",
    [
        {"held": [{"epoch": -1, "score": None, "state": 0}]},
        {"held": [{"epoch": 3, "score": None}]},
        {"held": [{"score": None, "state": 0}]},
        {"held": 3},
        {"back": {"epoch": "2", "because": "", "alarm": False}},
        {"back": {"epoch": 2}},
        3,
    ],
)
def test_a_damaged_main_line(damage: Any) -> None:
    adapter = make(Toy(), start_from="best", max_rounds=1)
    with pytest.raises(SettingsError, match="the saved state is damaged"):
        adapter.load_state_dict({**saved(), "main_line": damage})
    assert adapter.epoch == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start_from": "before"}, "start_from: saved 'best', here 'before'"),
        ({"max_rounds": 2}, "max_rounds: saved 1, here 2"),
        ({"max_rescues": 1}, "max_rescues: saved 0, here 1"),
        ({"record_every": 3}, "record_every: saved None, here 3"),
        ({"when": OnPlateau("loss", patience=2)}, "when: saved OnPlateau.*patience=3"),
    ],
)
def test_other_settings_are_refused(changes: dict[str, Any], words: str) -> None:
    adapter = make(Toy(), **({"start_from": "best", "max_rounds": 1} | changes))
    with pytest.raises(SettingsError, match=words):
        adapter.load_state_dict(saved())


def test_what_is_the_default_is_not_written() -> None:
    adapter = DynamicGridAdapter(
        Toy(), {"lr": [0.01, 0.1]}, criterion=lowest("loss"), when=Every(4), try_for=2
    )
    adapter.run(8)
    plain = adapter.state_dict()
    assert "main_line" not in plain
    assert not {"when", "start_from", "max_rounds"} & plain["settings"].keys()
    assert plain["settings"]["adapt_every"] == "4"
    json.dumps(plain, allow_nan=False)
    new = {"because", "rescue", "abandoned", "failure", "stretch"}
    assert not any(new & round_.keys() for round_ in plain["history"])
