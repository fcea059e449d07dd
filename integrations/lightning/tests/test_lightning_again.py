"""After a fit and in the next one: the optimiser is left plain, and the rounds go on."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint

from dynhp.errors import Hint
from dynhp_lightning import Adapt
from tests.support.messages import warns

pytestmark = [
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
    pytest.mark.filterwarnings("ignore:.*exists and is not empty"),
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
]


def adapt(**options: Any) -> Adapt:
    settings = {"adapt_every": 3, "try_for": 2, "minimize": "val_loss", **options}
    return Adapt({"lr": [0.003, 0.01, 0.03]}, **settings)


def logged(trainer: Any, name: str) -> list[float]:
    with (Path(trainer.logger.log_dir) / "metrics.csv").open() as file:
        return [float(row[name]) for row in csv.DictReader(file) if row.get(name)]


@pytest.mark.parametrize("schedule", ["cosine", "onecycle", "plateau"])
def test_a_monitor_logs_the_rates_that_steps_are_made_with(
    schedule: str, kit: Any, tmp_path: Path
) -> None:
    stepped: list[float] = []

    class RatesNet(kit.Net):  # type: ignore[misc]
        def on_before_zero_grad(self, optimizer: Any) -> None:
            if not getattr(optimizer, "noted", False):
                optimizer.noted = True
                optimizer.register_step_post_hook(self.note)

        def note(self, optimizer: Any, args: Any, kwargs: Any) -> None:
            # A post-hook that was registered after the scale's own sees the schedule's rate.
            read = self.lr_schedulers()
            assert read.get_last_lr()[0] == optimizer.param_groups[0]["lr"] * factor()
            if not callback.trying:
                stepped.append(read.get_last_lr()[0])

    def factor() -> float:
        value: Any = callback._session.run.epoch["lr"]  # type: ignore[union-attr]
        return value / base  # type: ignore[no-any-return]

    base = 0.02 if schedule == "onecycle" else 0.01
    callback, monitor = adapt(initial={"lr": 0.03}, try_for=1), LearningRateMonitor("step")
    trainer = kit.fit(tmp_path, callback, monitor, net=lambda: RatesNet(schedule))
    rates = logged(trainer, "lr-AdamW")
    assert len(rates) == 6 * 4  # every step of the main line once
    assert stepped
    assert set(stepped) <= set(rates)
    assert "on_train_batch_start" not in vars(monitor)
    values = [round_.candidate["lr"] for round_ in callback.history]
    assert values != [base, base]  # else nothing was shown


def test_after_a_fit_the_optimiser_and_the_scheduler_are_plain(kit: Any, tmp_path: Path) -> None:
    trainer = kit.fit(tmp_path, adapt(initial={"lr": 0.03}), net=lambda: kit.Net("onecycle"))
    assert not trainer.optimizers[0]._optimizer_step_pre_hooks
    scheduler = trainer.lr_scheduler_configs[0].scheduler
    assert type(scheduler) is torch.optim.lr_scheduler.OneCycleLR
    assert scheduler.get_last_lr() == [trainer.optimizers[0].param_groups[0]["lr"]]


@pytest.mark.parametrize("schedule", ["none", "cosine"])
def test_a_second_fit_of_the_same_trainer_goes_on(schedule: str, kit: Any, tmp_path: Path) -> None:
    callback = adapt(initial={"lr": 0.03}, dry_run=True)  # stays in force to the end
    trainer = kit.fit(tmp_path, callback, net=lambda: kit.Net(schedule))
    module, data = trainer.lightning_module, kit.loaders()
    trainer.fit(module, *data)  # as often as it has epochs: none
    assert [(each.index, each.start) for each in callback.history] == [(0, 0), (1, 3)]
    trainer.fit_loop.max_epochs = 9
    with warns(Hint):
        trainer.fit(module, *data)
    assert [(each.index, each.start) for each in callback.history] == [(0, 0), (1, 3), (2, 6)]
    assert [each.candidate["lr"] for each in callback.history] == [0.03] * 3
    assert callback.history[-1].checked > 0  # a new fit proves itself anew
    assert trainer.current_epoch == 9
    other = kit.Net(schedule)
    trainer.fit_loop.max_epochs = 12
    trainer.fit(other, *data)  # another module is another run
    assert [(each.index, each.start) for each in callback.history] == [(0, 0)]


def test_another_trainer_with_the_same_callback_begins_anew(kit: Any, tmp_path: Path) -> None:
    callback = adapt()
    first = kit.traces(kit.fit(tmp_path / "a", callback))
    rounds = callback.history
    second = kit.traces(kit.fit(tmp_path / "b", callback))
    assert second["weights"] == first["weights"]
    assert callback.history == rounds


def test_a_longer_fit_from_a_checkpoint_of_a_whole_one_goes_on(kit: Any, tmp_path: Path) -> None:
    def fit(folder: str, epochs: int, ckpt_path: Any = None) -> tuple[Any, Adapt]:
        callback = adapt()
        last = ModelCheckpoint(tmp_path / folder, "last")
        options = {"max_epochs": epochs, "ckpt_path": ckpt_path}
        return kit.fit(tmp_path / folder, callback, last, **options), callback

    fit("short", 6)
    longer, callback = fit("longer", 9, tmp_path / "short" / "last.ckpt")
    whole, wanted = fit("whole", 9)
    assert [each.start for each in callback.history] == [0, 3, 6]
    assert [each.candidate for each in callback.history] == [
        each.candidate for each in wanted.history
    ]
    assert kit.traces(longer)["weights"] == kit.traces(whole)["weights"]


def test_a_module_that_keeps_its_optimiser_is_not_scaled_in_a_fit_without_us(
    kit: Any, tmp_path: Path
) -> None:
    class KeepsNet(kit.Net):  # type: ignore[misc]
        made: Any = None

        def configure_optimizers(self) -> Any:
            self.made = self.made or super().configure_optimizers()
            return self.made

    module = KeepsNet("cosine")
    kit.fit(tmp_path / "a", adapt(initial={"lr": 0.03}), net=lambda: module, max_epochs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Hint)
        trainer = kit.fit(tmp_path / "b", LearningRateMonitor(), net=lambda: module, max_epochs=3)
    assert max(logged(trainer, "lr-AdamW")) < 0.01
