"""What cannot be had is refused by name, and forgotten things are noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from dynhp import plateau, rescue
from dynhp.errors import DynhpError, LoopError, NotRepeatable, SettingsError
from dynhp_transformers import Adapt
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")


def adapt(**options: Any) -> Adapt:
    settings = {"adapt_every": 2, "try_for": 1, "minimize": "eval_loss", **options}
    return Adapt(settings.pop("space", {"lr": [0.01, 0.03, 0.1]}), **settings)


@pytest.mark.parametrize(
    "options",
    [
        {"try_for": 3},
        {"space": {}},
        {"minimize": None},
        {"steps": 100},
    ],
)
def test_settings_are_refused_when_the_callback_is_made(options: dict[str, Any]) -> None:
    with raises(DynhpError):
        adapt(**options)
    with raises(TypeError):
        adapt(minimise="eval_loss")


@pytest.mark.parametrize(
    ("adapting", "options"),
    [
        ({}, {"eval_strategy": "no"}),
        ({}, {"eval_strategy": "steps", "eval_steps": 7}),
        ({"minimize": "eval_los"}, {}),
        ({"minimize": "train_loss"}, {}),
        ({"minimize": "loss"}, {"logging_strategy": "no"}),
        ({"keep_best": True}, {"save_strategy": "epoch"}),
        ({"space": {"warmth": [1, 2]}}, {}),
        ({}, {"dataloader_num_workers": 1, "dataloader_persistent_workers": True}),
    ],
)
def test_trainings_that_cannot_be_adapted(
    adapting: dict[str, Any], options: dict[str, Any], kit: Any, tmp_path: Path
) -> None:
    with raises(SettingsError):
        kit.train(tmp_path, adapt(**adapting), **options)


def test_a_callback_without_a_trainer_says_so() -> None:
    with raises(SettingsError):
        adapt().on_train_begin(None, None, None)
    with raises(LoopError):
        adapt().history  # noqa: B018


def test_a_thing_that_nobody_puts_back_is_noticed(kit: Any, tmp_path: Path) -> None:
    class HiddenCalls:
        steps = 0

    class LeakyModel(kit.Tiny):  # type: ignore[misc]
        def forward(self, x: Any, labels: Any = None) -> Any:
            HiddenCalls.steps += 1
            return super().forward(x * (1 + HiddenCalls.steps % 11), labels)

    with raises(NotRepeatable):
        kit.train(tmp_path, adapt(), model=LeakyModel)


def test_the_sampler_follows_the_epoch_of_the_main_line(kit: Any, tmp_path: Path) -> None:
    """The trap of an inner epoch: each epoch of the main line has its own order, tries or not."""
    orders: dict[str, list[Any]] = {}
    for name, callbacks in (("plain", []), ("dry", [adapt(dry_run=True, check="off")])):
        seen = orders.setdefault(name, [])

        class SamplerSpy(transformers.TrainerCallback):
            def on_epoch_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
                sampler = given["train_dataloader"].batch_sampler.sampler
                if not any(each.trying for each in callbacks):  # noqa: B023
                    seen.append((state.epoch, sampler.epoch))  # noqa: B023

        kit.train(tmp_path / name, *callbacks, SamplerSpy(), num_train_epochs=4)
    assert orders["dry"] == orders["plain"]
    assert len(orders["plain"]) == 4


def test_presets_with_a_way_back_are_refused_with_the_way_out(kit: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        Adapt(policy=rescue("lr", default=0.01, loss="eval_loss"))
    lower = plateau("lr", default=0.01, loss="eval_loss", patience=1)
    with raises(SettingsError):
        Adapt(policy=lower)
    ours = Adapt(policy=lower, start_from="here")
    trainer = kit.train(tmp_path, ours)
    assert trainer.state.global_step == 30
    assert ours.history.epochs == 6
