"""What cannot be had is refused by name, and forgotten things are noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import transformers

from dynhp import plateau, rescue
from dynhp.errors import DynhpError, LoopError, NotRepeatable, SettingsError
from dynhp_transformers import Adapt

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")


def adapt(**options: Any) -> Adapt:
    settings = {"adapt_every": 2, "try_for": 1, "minimize": "eval_loss", **options}
    return Adapt(settings.pop("space", {"lr": [0.01, 0.03, 0.1]}), **settings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"try_for": 3}, "try_for"),
        ({"space": {}}, "space"),
        ({"minimize": None}, "criterion"),
        ({"steps": 100}, "Adapt counts in epochs, got steps=100"),
    ],
)
def test_settings_are_refused_when_the_callback_is_made(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(DynhpError, match=words):
        adapt(**options)
    with pytest.raises(TypeError, match="minimise"):
        adapt(minimise="eval_loss")


@pytest.mark.parametrize(
    ("adapting", "options", "words"),
    [
        (
            {},
            {"eval_strategy": "no"},
            "needs eval_loss, but epoch 0 gave loss.*; evaluate in every",
        ),
        ({}, {"eval_strategy": "steps", "eval_steps": 7}, "needs eval_loss, but epoch 0 gave"),
        (
            {"minimize": "eval_los"},
            {},
            r"needs eval_los \(did you mean .eval_loss.\?\), .* gave .*eval_loss",
        ),
        (
            {"minimize": "train_loss"},
            {},
            r"needs train_loss, .* as 'loss', with logging_strategy=\"epoch\"; .* loss=\"loss\"",
        ),
        ({"minimize": "loss"}, {"logging_strategy": "no"}, 'logging_strategy="epoch"'),
        ({"keep_best": True}, {"save_strategy": "epoch"}, "load_best_model_at_end=True"),
        ({"space": {"warmth": [1, 2]}}, {}, "'warmth' is no setting of the optimiser .*lr"),
        (
            {},
            {"dataloader_num_workers": 1, "dataloader_persistent_workers": True},
            "dataloader_persistent_workers=True",
        ),
    ],
)
def test_trainings_that_cannot_be_adapted(
    adapting: dict[str, Any], options: dict[str, Any], words: str, kit: Any, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=words):
        kit.train(tmp_path, adapt(**adapting), **options)


def test_a_callback_without_a_trainer_says_so() -> None:
    with pytest.raises(SettingsError, match="belongs to a Trainer of transformers"):
        adapt().on_train_begin(None, None, None)
    with pytest.raises(LoopError, match="no run before"):
        adapt().history  # noqa: B018


def test_a_thing_that_nobody_puts_back_is_noticed(kit: Any, tmp_path: Path) -> None:
    class HiddenCalls:
        steps = 0

    class LeakyModel(kit.Tiny):  # type: ignore[misc]
        def forward(self, x: Any, labels: Any = None) -> Any:
            HiddenCalls.steps += 1
            return super().forward(x * (1 + HiddenCalls.steps % 11), labels)

    with pytest.raises(NotRepeatable, match="was carried out again from the same origin"):
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
    with pytest.raises(SettingsError, match=r"write the loop yourself with adapt\(\.\.\.\)"):
        Adapt(**rescue("lr", default=0.01, loss="eval_loss"))
    lower: Any = plateau("lr", default=0.01, loss="eval_loss", patience=1)
    with pytest.raises(SettingsError, match=r'plateau\(\.\.\.\) \| \{"start_from": "here"\}'):
        Adapt(**lower)
    ours = Adapt(**(lower | {"start_from": "here"}))
    trainer = kit.train(tmp_path, ours)
    assert trainer.state.global_step == 30
    assert ours.history.epochs == 6
