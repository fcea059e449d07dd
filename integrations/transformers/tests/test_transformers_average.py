"""A training that ends by averaged weights: they are scored and delivered, and leave no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch import nn
from transformers import TrainerCallback

from dynhp import recommended
from dynhp.errors import SettingsError
from dynhp.tails import averaged
from dynhp_transformers import Adapt
from dynhp_transformers.averaging import training_ending
from tests.support.messages import raises

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
CONSTANT = {"lr_scheduler_type": "constant"}


def ending(**settings: Any) -> Adapt:
    return Adapt(policy=recommended("lr", loss="loss", ending="average"), **settings)


def with_norm(kit: Any) -> Any:
    def make() -> Any:
        model = kit.Tiny()
        model.net.insert(1, nn.BatchNorm1d(8))
        return model

    return make


class Averaging(TrainerCallback):
    """The same ending by hand, in a training without dynhp."""

    def __init__(self) -> None:
        self.trainer: Any = None

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if state.global_step == 0:
            loader = self.trainer.callback_handler.train_dataloader
            self.ending: Any = training_ending(self.trainer, loader, averaged())

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        self.ending.weights.update()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self.ending.deliver()


def test_a_dry_run_is_a_plain_training_with_the_same_ending(
    kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand = Averaging()
    import transformers

    train = transformers.Trainer.train

    def known(trainer: Any, *args: Any, **options: Any) -> Any:
        by_hand.trainer = trainer
        return train(trainer, *args, **options)

    monkeypatch.setattr(transformers.Trainer, "train", known)
    options = {"model": with_norm(kit), **CONSTANT}
    plain = kit.train(tmp_path / "plain", by_hand, **options)
    dry = kit.train(tmp_path / "dry", ending(dry_run=True), **options)
    wanted, got = kit.traces(plain), kit.traces(dry)
    assert got["weights"] == wanted["weights"]
    assert got["generator"] == wanted["generator"]
    assert got["loss"] == wanted["loss"]


def test_the_average_is_scored_and_delivered(kit: Any, tmp_path: Path) -> None:
    adapt = ending()
    trainer = kit.train(tmp_path, adapt, model=with_norm(kit), **CONSTANT)
    scored = [metrics["eval_loss"] for _, metrics in adapt.loop.history.measured]
    assert trainer.evaluate()["eval_loss"] == pytest.approx(scored[-1], rel=1e-5)
    assert len(set(scored)) == len(scored) == 6


def test_a_training_goes_on_from_a_checkpoint(kit: Any, tmp_path: Path) -> None:
    options = {"model": with_norm(kit), "save_strategy": "epoch", **CONSTANT}
    whole = kit.traces(kit.train(tmp_path / "a", ending(), **options))
    for step in (10, 25):
        file = tmp_path / "a" / "out" / f"checkpoint-{step}"
        again = kit.train(tmp_path / f"b{step}", ending(), resume=file, **options)
        assert kit.traces(again)["weights"] == whole["weights"]


def test_the_best_model_is_not_the_average(kit: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        kit.train(
            tmp_path,
            ending(),
            save_strategy="epoch",
            load_best_model_at_end=True,
            metric_for_best_model="eval_loss",
            **CONSTANT,
        )
