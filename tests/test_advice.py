"""Hints: listed, given as warnings once per process, and logged."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dynhp import (
    DynamicGridAdapter,
    errors,
    highest,
    lowest,
    phased,
    smallest_gap,
    smoothed,
    trainer_from,
)
from dynhp.advice import LEAVE_ALONE, canonical_name, hints_for

GAP = smallest_gap("train", "val")


def adapter_for(name: str, criterion: Any) -> DynamicGridAdapter:
    trainer = trainer_from(
        get_state=lambda: 0,
        set_state=lambda state: None,
        train_k=lambda k, values: None,
        metrics=lambda: {"train": 0.5, "val": 0.5},
    )
    space = {name: [0.1, 0.2]}
    settings: dict[str, Any] = {"criterion": criterion, "adapt_every": 1, "try_for": 1}
    return DynamicGridAdapter(trainer, space, check="off", **settings)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("lr", "learning_rate"),
        ("LR", "learning_rate"),
        ("lr_scale", "learning_rate"),
        ("learning-rate scale", "learning_rate"),
        ("drop", "dropout"),
        ("Smoothing", "label_smoothing"),
        ("Edge Message-Ratio", "edge_message_ratio"),
        ("momentum", "momentum"),
    ],
)
def test_canonical_name(name: str, canonical: str) -> None:
    assert canonical_name(name) == canonical


@pytest.mark.parametrize("name", [*LEAVE_ALONE, "drop", "smoothing"])
def test_a_kind_that_misleads_short_tries_is_hinted_at(name: str) -> None:
    (hint,) = adapter_for(name, highest("val")).hints
    assert hint.startswith(f"{name}: {LEAVE_ALONE[canonical_name(name)]}. ")
    assert "shadow" in hint


@pytest.mark.parametrize("name", ["weight_decay", "width"])
def test_other_kinds_are_not(name: str) -> None:
    assert adapter_for(name, highest("val")).hints == ()


@pytest.mark.parametrize("criterion", [GAP, smoothed(GAP), phased(GAP, highest("val"))])
def test_the_gap_is_hinted_at(criterion: Any) -> None:
    assert adapter_for("width", criterion).hints == (
        "smallest_gap rewards not learning; keep it for the paper, or give a floor",
    )


def test_the_gap_with_a_floor_is_not() -> None:
    floored = smallest_gap("train", "val", floor=0.7)
    for criterion in (floored, smoothed(floored), phased(floored, highest("val"))):
        assert adapter_for("width", criterion).hints == ()


def test_the_gap_is_known_by_its_type_not_by_its_name() -> None:
    class Named:
        """Another criterion, whose repr mentions the gap."""

        def __call__(self, series: Any, progress: Any) -> float:
            return 0.0

        def __repr__(self) -> str:
            return "better_than_smallest_gap()"

    assert adapter_for("width", Named()).hints == ()
    floored = smallest_gap("train", "val", floor=0.7)
    assert len(adapter_for("width", phased(floored, GAP)).hints) == 1  # the late one has no floor


def test_a_learning_rate_wants_averaged_weights() -> None:
    (hint,) = adapter_for("lr", highest("val")).hints
    assert hint.startswith("lr: short tries judged by ordinary weights")
    averaged = phased(lowest("ema_val"), lowest("val"))
    for criterion in (averaged, lambda series, progress: 0.0):  # the second may read anything
        assert hints_for(["lr"], criterion) == ()


@pytest.mark.parametrize(
    ("criterion", "hinted"),
    [
        (highest("val_loss"), True),
        (lowest("val-acc"), True),
        (lowest("val_loss"), False),
        (highest("val_acc"), False),
        (lowest("gloss"), False),  # only whole words count
    ],
)
def test_a_criterion_that_prefers_the_wrong_end_is_hinted_at(criterion: Any, hinted: bool) -> None:
    hints = hints_for(["x"], criterion)
    assert len(hints) == hinted
    assert all("counts as better here" in hint for hint in hints)


def test_hints_come_in_the_order_of_the_names() -> None:
    hints = hints_for(["shrinkage", "lr", "dropout"], GAP)
    assert [hint.split()[0] for hint in hints] == [
        "shrinkage:",
        "dropout:",
        "lr:",
        "smallest_gap",
    ]


def test_hints_are_given_as_warnings_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "_given", set())
    with pytest.warns(errors.Hint) as caught:
        hints = [adapter_for("dropout", GAP).hints for _ in range(3)]
    assert tuple(str(warning.message) for warning in caught) == hints[0] == hints[2]


def test_hints_are_logged_at_info_and_nothing_is_printed(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, logger="dynhp"):
        adapter = adapter_for("dropout", GAP)
    assert [record.message for record in caplog.records] == list(adapter.hints)
    assert len(adapter.hints) == 2
    assert {(record.name, record.levelno) for record in caplog.records} == {("dynhp", logging.INFO)}
    assert capfd.readouterr() == ("", "")


def test_hints_change_nothing() -> None:
    warned, quiet = (adapter_for(name, highest("val")).run(3) for name in ("dropout", "width"))
    assert [round_.chosen for round_ in warned] == [round_.chosen for round_ in quiet]


def test_hints_go_by_what_a_value_is_bound_to_or_by_its_name() -> None:
    kinds = {"p": "dropout", "scale": "lr", "dropout": "something", "x": "something"}
    hints = hints_for(["p", "scale", "dropout", "x", "y"], highest("val"), kinds)
    assert [hint.partition(":")[0] for hint in hints] == ["p", "dropout", "scale"]
