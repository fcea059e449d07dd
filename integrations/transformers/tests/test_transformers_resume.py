"""``train(resume_from_checkpoint=...)`` goes on as if it had never stopped, from any checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dynhp.errors import SettingsError
from dynhp.tails import scheduled
from dynhp_transformers import Adapt
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")

SETTINGS: dict[str, dict[str, Any]] = {
    "after a try of two epochs": {"adapt_every": 3, "try_for": 2, "save_strategy": "epoch"},
    "all of a round is tried": {"adapt_every": 2, "try_for": 2, "save_strategy": "epoch"},
    "in the middle of epochs": {"adapt_every": 3, "try_for": 1, "save_strategy": "steps",
                                "save_steps": 4},
}  # fmt: skip


def adapt(settings: dict[str, Any]) -> Adapt:
    lengths = {name: settings[name] for name in ("adapt_every", "try_for")}
    return Adapt({"lr": [0.01, 0.03, 0.1]}, minimize="eval_loss", **lengths)


def choice(round_: Any) -> Any:
    tries = [(each.candidate, each.score) for each in round_.tries]
    return round_.candidate, round_.epochs, tries


@pytest.mark.parametrize("name", SETTINGS)
def test_from_every_checkpoint_the_run_ends_as_it_would_have(
    name: str, kit: Any, tmp_path: Path
) -> None:
    settings = SETTINGS[name]
    saving = {key: value for key, value in settings.items() if key.startswith("save")}
    options = {"gradient_accumulation_steps": 1, "lr_scheduler_type": "cosine", **saving}
    first = adapt(settings)
    whole = kit.train(tmp_path / "whole", first, **options)
    wanted = kit.traces(whole)
    saved = sorted((tmp_path / "whole" / "out").glob("checkpoint-*"))
    assert len(saved) >= 6
    for path in saved:
        # One saved at the last step of an epoch, before its evaluation, goes on without that
        # evaluation and its random numbers: also in transformers without us.
        if path.name == "checkpoint-30" or (
            path.name == "checkpoint-20" and "save_steps" in saving
        ):
            continue
        again, folder = adapt(settings), tmp_path / path.name
        resumed = kit.train(folder, again, resume=path, **options)
        got = kit.traces(resumed)
        for part in ("weights", "optimizer", "scheduler", "counters", "generator"):
            assert got[part] == wanted[part], (path.name, part)
        assert [choice(each) for each in again.history] == [choice(each) for each in first.history]
        shutil.rmtree(folder)


def test_a_checkpoint_without_adapt_is_gone_on_with_from_the_end_of_an_epoch(
    kit: Any, tmp_path: Path
) -> None:
    kit.train(tmp_path / "plain", save_strategy="steps", save_steps=5, num_train_epochs=6)
    saved = tmp_path / "plain" / "out"
    callback = adapt({"adapt_every": 2, "try_for": 1})
    trainer = kit.train(tmp_path / "a", callback, resume=saved / "checkpoint-10")
    assert [round_.epochs for round_ in callback.history] == [2, 2]
    assert trainer.state.global_step == 30
    kit.train(tmp_path / "steps", save_strategy="steps", save_steps=4, num_train_epochs=6)
    middle = tmp_path / "steps" / "out" / "checkpoint-4"
    with raises(SettingsError):
        kit.train(tmp_path / "b", adapt({"adapt_every": 2, "try_for": 1}), resume=middle)


def test_where_a_schedule_moved_the_rest_of_a_kept_try_it_is_refused(
    kit: Any, tmp_path: Path
) -> None:
    options = {"gradient_accumulation_steps": 1, "lr_scheduler_type": "constant",
               "save_strategy": "epoch"}  # fmt: skip

    def made() -> Any:
        return Adapt({"lr": [0.01, 0.03, 0.1]}, minimize="eval_loss", adapt_every=3, try_for=2,
                     course=scheduled("lr", "linear"))  # fmt: skip

    wanted = kit.traces(kit.train(tmp_path / "whole", made(), **options))["weights"]
    saved = (tmp_path / "whole" / "out").glob("checkpoint-*")
    numbers = sorted(int(path.name.partition("-")[2]) for path in saved)
    refused = []
    for number in numbers:
        path = tmp_path / "whole" / "out" / f"checkpoint-{number}"
        try:
            resumed = kit.train(tmp_path / path.name, made(), resume=path, **options)
        except SettingsError as error:
            refused.append((number, "inside a try that was kept" in str(error)))
        else:
            assert kit.traces(resumed)["weights"] == wanted, path.name
    assert refused == [(numbers[0], True), (numbers[3], True)]
