"""What cannot be had is refused by name, and forgotten things are noticed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import StochasticWeightAveraging

from dynhp import plateau, rescue
from dynhp.errors import DynhpError, Hint, LoopError, NotRepeatable, SettingsError
from dynhp_lightning import Adapt
from tests.support.messages import raises, warns

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")


def adapt(**options: Any) -> Adapt:
    settings = {"adapt_every": 2, "try_for": 1, "minimize": "val_loss", **options}
    return Adapt(settings.pop("space", {"lr": [0.003, 0.01, 0.03]}), **settings)


@pytest.mark.parametrize(
    "options",
    [
        {"try_for": 3},
        {"space": {}},
        {"minimize": None},
        {"steps": 100},
        {"initial": {"rate": 1}},
    ],
)
def test_settings_are_refused_when_the_callback_is_made(options: dict[str, Any]) -> None:
    with raises(DynhpError):
        adapt(**options)
    with raises(TypeError):
        adapt(minimise="val_loss")


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "ddp"},
        {"reload_dataloaders_every_n_epochs": 1},
        {"max_epochs": -1},
        {"max_epochs": -1, "max_steps": 9},
        {"check_val_every_n_epoch": 2},
        {"limit_val_batches": 0},
        {"val_check_interval": 6, "check_val_every_n_epoch": None},
        {"max_time": "00:01:00:00"},
    ],
)
def test_fits_that_cannot_be_adapted(options: dict[str, Any], kit: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises(DynhpError):
            kit.fit(tmp_path, adapt(), **options)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def test_other_refusals(kit: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        kit.fit(tmp_path, adapt(), StochasticWeightAveraging(0.01))
    with pytest.raises(RuntimeError, match="more than one stateful callback of type `Adapt`"):
        kit.fit(tmp_path, adapt(), adapt())
    with raises(SettingsError):
        kit.fit(tmp_path, adapt(space={"warmth": [1, 2]}))
    data = kit.loaders(num_workers=1, persistent_workers=True)
    with raises(SettingsError):
        kit.fit(tmp_path, adapt(), data=data)
    with raises(LoopError):
        adapt().history  # noqa: B018


def test_a_name_that_is_nearly_right_is_said(kit: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        kit.fit(tmp_path, adapt(minimize="val_los"))
    with raises(SettingsError):
        adapt(bind={"lrr": "net.2.p"})


def test_a_metric_of_the_last_batch_alone_gets_a_hint(kit: Any, tmp_path: Path) -> None:
    class StepNet(kit.Net):  # type: ignore[misc]
        def training_step(self, batch: Any, index: int) -> Any:
            loss = super().training_step(batch, index)
            self.log("step_loss", loss, on_step=True, on_epoch=False)
            return loss

    with warns(Hint):
        kit.fit(tmp_path / "a", adapt(minimize="step_loss"), net=StepNet)
    with warns(Hint):
        kit.fit(tmp_path / "b", adapt(minimize="train_loss_step"), net=StepNet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kit.fit(tmp_path / "c", adapt(minimize="train_loss"), net=StepNet)
    assert not [each for each in caught if "last batch" in str(each.message)]


def test_two_optimisers_are_told_apart(kit: Any, tmp_path: Path) -> None:
    class Two(kit.Net):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False

        def training_step(self, batch: Any, index: int) -> None:
            loss = super().training_step(batch, index)
            self.manual_backward(loss)
            for optimizer in self.optimizers():
                optimizer.step()
                optimizer.zero_grad()

        def configure_optimizers(self) -> Any:
            ends = self.net[0].parameters(), self.net[4].parameters()
            return [torch.optim.SGD(end, lr=0.01) for end in ends], []

    from dynhp_torch import optimizer_param

    with raises(SettingsError):
        kit.fit(tmp_path, adapt(), net=Two)
    place = {"lr": lambda trainer: optimizer_param(trainer.optimizers[1], "lr")}
    ours = kit.fit(tmp_path / "a", adapt(bind=place, dry_run=True), net=Two)
    plain = kit.fit(tmp_path / "b", net=Two)
    assert kit.traces(ours) == kit.traces(plain)


def test_a_thing_that_nobody_puts_back_is_noticed(kit: Any, tmp_path: Path) -> None:
    class HiddenSteps:
        steps = 0

    class LeakyNet(kit.Net):  # type: ignore[misc]
        def training_step(self, batch: Any, index: int) -> Any:
            HiddenSteps.steps += 1
            return super().training_step(batch, index) / HiddenSteps.steps

    # The bias before the batch normalisation has no gradient but the last bits of others, which
    # depend on the processor. Adam would make steps of them as long as any.
    with raises(NotRepeatable):
        kit.fit(tmp_path, adapt(), net=lambda: LeakyNet(optimizer="sgd"))


def test_a_fit_inside_the_fit_is_left_alone(kit: Any, tmp_path: Path) -> None:
    callback, module = adapt(dry_run=True), kit.Net()
    trainer = L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=False,
        callbacks=[callback],
        default_root_dir=tmp_path,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(module, *kit.loaders())
        trainer.validate(module, kit.loaders()[1], verbose=False)
    assert len(callback.history) == 1
    trainer.fit_loop.max_epochs = 4
    trainer.fit(module, *kit.loaders())  # goes on, and so do the rounds
    assert [round_.epochs for round_ in callback.history] == [2, 2]
    assert trainer.current_epoch == 4


def test_presets_with_a_way_back_are_refused_with_the_way_out(kit: Any, tmp_path: Path) -> None:
    with raises(SettingsError):
        Adapt(policy=rescue("lr", default=0.01, loss="val_loss"))
    lower = plateau("lr", default=0.01, loss="val_loss", patience=1)
    with raises(SettingsError):
        Adapt(policy=lower)
    ours = Adapt(policy=lower, start_from="here")
    trainer = kit.fit(tmp_path, ours)
    assert trainer.current_epoch == 6
    assert ours.history.epochs == 6
