"""An adapted fit looks like one that had these values all along: to loggers, files, callbacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint, TQDMProgressBar

from dynhp_lightning import Adapt

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")


class Bar(TQDMProgressBar):
    """What a bar is told, without one being shown."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []
        self.disable()

    def on_train_epoch_start(self, trainer: Any, *_: Any) -> None:
        self.heard.append(trainer.current_epoch)

    def on_train_batch_end(self, *_: Any) -> None:
        self.heard.append("batch")


class FollowRates(L.Callback):
    """Sets the rates that another run has found, epoch by epoch."""

    def __init__(self, rates: list[float]) -> None:
        self.rates = rates

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        trainer.optimizers[0].param_groups[0]["lr"] = self.rates[trainer.current_epoch]


class Writer(L.Callback):
    """Writes to what is behind the logger."""

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            row = {"norm": float(pl_module.net[0].weight.norm())}
            trainer.logger.experiment.log_metrics(row, trainer.global_step)


def adapt(**options: Any) -> Adapt:
    settings = {"adapt_every": 3, "try_for": 2, "minimize": "val_loss", **options}
    return Adapt({"lr": [0.003, 0.01, 0.03]}, **settings)


def rates(adapted: Adapt) -> list[float]:
    return [round_.candidate["lr"] for round_ in adapted.history for _ in range(round_.epochs)]


@pytest.mark.parametrize("every", [3, 2])  # with a stretch after the tries, and without
def test_logs_files_and_callbacks_are_those_of_a_plain_fit_with_the_chosen_values(
    every: int, kit: Any, tmp_path: Path
) -> None:
    def parts(folder: Path) -> list[Any]:
        best = ModelCheckpoint(
            folder / "kept", "{epoch}", monitor="val_loss", save_top_k=2, save_last=True
        )
        each = ModelCheckpoint(
            folder / "all", "same", monitor="train_loss", save_top_k=-1, save_last="link"
        )
        return [best, each, EarlyStopping("val_loss", patience=3), Writer()]

    adapted = adapt(adapt_every=every)
    ours = kit.fit(tmp_path / "ours", adapted, *parts(tmp_path / "ours"))
    assert len(set(rates(adapted))) > 1 or rates(adapted)[0] != 0.01
    follow = FollowRates(rates(adapted))
    plain = kit.fit(tmp_path / "plain", follow, *parts(tmp_path / "plain"))
    wanted, got = kit.traces(plain), kit.traces(ours)
    for name in wanted:
        assert got[name] == wanted[name], name
    assert "norm" in got["log"]
    files, expected = kit.checkpoints(tmp_path / "ours"), kit.checkpoints(tmp_path / "plain")
    assert list(files) == list(expected)
    assert len(files) == 2 + 6 + 2  # two of the best, six of all, the last of each
    assert files == expected
    kept = [each for each in ours.callbacks if isinstance(each, ModelCheckpoint)]
    assert all(Path(path).exists() for path in kept[0].best_k_models)
    assert Path(kept[1].last_model_path).resolve().exists()


def test_a_bar_sees_no_try(kit: Any, tmp_path: Path) -> None:
    bar, dry = Bar(), Bar()
    kit.fit(tmp_path / "a", adapt(), bar, enable_progress_bar=True)
    assert [each for each in bar.heard if each != "batch"] == [2, 5]  # the stretches
    kit.fit(tmp_path / "b", adapt(dry_run=True), dry, enable_progress_bar=True)
    assert dry.heard == [each for epoch in range(6) for each in (epoch, *["batch"] * 4)]


def test_who_stops_in_a_try_that_is_kept_is_heard(kit: Any, tmp_path: Path) -> None:
    stop = EarlyStopping("val_loss", patience=0, min_delta=100.0)
    callback = adapt()
    trainer = kit.fit(tmp_path, callback, stop, max_epochs=12)
    # The second epoch was no better than the first; both are in the first try.
    assert (trainer.current_epoch, trainer.global_step) == (2, 8)
    assert stop.stopped_epoch == 1
    assert [round_.epochs for round_ in callback.history] == [2]
    assert [epoch for epoch, _, _ in trainer.watcher.epochs] == [0, 1]


def test_an_error_in_a_try_fails_that_try_alone(kit: Any, tmp_path: Path) -> None:
    class FragileNet(kit.Net):  # type: ignore[misc]
        def validation_step(self, batch: Any, index: int, dataloader_idx: int = 0) -> None:
            if self.optimizers().param_groups[0]["lr"] == 0.03:
                raise RuntimeError("it diverged")
            super().validation_step(batch, index)

    callback = adapt(dry_run=True)
    ours = kit.fit(tmp_path / "ours", callback, net=FragileNet)
    plain = kit.fit(tmp_path / "plain", net=kit.Net)
    assert kit.traces(ours) == kit.traces(plain)
    errors = [each.error for round_ in callback.history for each in round_.tries if each.error]
    assert len(errors) == 2
    assert all("it diverged" in error for error in errors)


def test_an_interrupt_in_a_try_leaves_the_main_line(kit: Any, tmp_path: Path) -> None:
    class Stop(L.Callback):
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if callback.trying and trainer.current_epoch == 3 and trainer.global_step == 15:
                raise KeyboardInterrupt

    callback = adapt(check="off")
    module = kit.Net()
    with pytest.raises(SystemExit):
        kit.fit(tmp_path / "ours", callback, Stop(), net=lambda: module)
    assert [round_.epochs for round_ in callback.history] == [3]
    trainer = module.trainer
    assert (trainer.current_epoch, trainer.global_step) == (3, 12)
    assert "advance" not in vars(trainer.fit_loop)


def test_a_value_of_the_module_is_adapted_too(kit: Any, tmp_path: Path) -> None:
    callback = Adapt(
        {"scale": [0.5, 1.0, 2.0], "p": [0.0, 0.2], "weight_decay": [0.0, 0.01]},
        bind={"p": "net.3.p"},
        minimize="val_loss",
        adapt_every=3,
        try_for=1,
    )
    trainer = kit.fit(tmp_path, callback, max_epochs=3)
    chosen = callback.history[-1].candidate
    module = trainer.lightning_module
    assert (module.scale, module.net[3].p) == (chosen["scale"], chosen["p"])
    assert trainer.optimizers[0].param_groups[0]["weight_decay"] == chosen["weight_decay"]
    assert torch.isfinite(trainer.callback_metrics["val_loss"])
