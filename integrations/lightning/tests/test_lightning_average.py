"""A fit that ends by averaged weights: they are scored, saved and delivered, and leave no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint

from dynhp import recommended
from dynhp.tails import averaged
from dynhp_lightning import Adapt
from dynhp_lightning.averaging import fit_ending

pytestmark = [
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
    pytest.mark.filterwarnings("ignore:.*exists and is not empty"),
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
]


def ending(**settings: Any) -> Adapt:
    return Adapt(policy=recommended("lr", ending="average"), **settings)


class Averaging(Callback):
    """The same ending by hand, in a fit without dynhp."""

    def on_train_start(self, trainer: Any, *_: Any) -> None:
        self.ending = fit_ending(trainer, averaged())

    def on_train_batch_end(self, *_: Any) -> None:
        self.ending.weights.update()

    def on_train_end(self, *_: Any) -> None:
        self.ending.deliver()


def data(kit: Any) -> Any:
    return kit.loaders(generator=torch.Generator().manual_seed(1))


def held_out_loss(trainer: Any, kit: Any, weights: Any = None) -> float:
    module = trainer.lightning_module.eval()
    if weights is not None:
        module.load_state_dict(weights)
    with torch.no_grad():
        [(inputs, targets)] = kit.loaders()[1]
        return torch.nn.functional.mse_loss(module.net(inputs), targets).item()


def test_a_dry_run_is_a_plain_fit_with_the_same_ending(kit: Any, tmp_path: Path) -> None:
    plain = kit.fit(tmp_path / "plain", Averaging(), data=data(kit))
    dry = kit.fit(tmp_path / "dry", ending(dry_run=True), data=data(kit))
    wanted, got = kit.traces(plain), kit.traces(dry)
    assert got["weights"] == wanted["weights"]
    assert got["generator"] == wanted["generator"]
    assert got["seen"] == wanted["seen"]


def test_the_average_is_scored_saved_and_delivered(kit: Any, tmp_path: Path) -> None:
    keeper = ModelCheckpoint(tmp_path / "kept", save_top_k=-1, filename="{epoch}")
    adapt = ending()
    trainer = kit.fit(tmp_path, adapt, keeper, data=data(kit))
    scored = [metrics["val_loss"] for _, metrics in adapt.loop.history.measured]
    assert held_out_loss(trainer, kit) == pytest.approx(scored[-1], rel=1e-5)
    for epoch in (0, 3):
        file = tmp_path / "kept" / f"epoch={epoch}.ckpt"
        saved = torch.load(file, weights_only=True)["state_dict"]
        assert held_out_loss(trainer, kit, saved) == pytest.approx(scored[epoch], rel=1e-5)


def test_a_fit_goes_on_from_any_checkpoint(kit: Any, tmp_path: Path) -> None:
    def keeper(name: str) -> ModelCheckpoint:
        return ModelCheckpoint(tmp_path / name, save_top_k=-1, filename="{epoch}")

    whole = kit.traces(kit.fit(tmp_path / "a", ending(), keeper("kept"), data=data(kit)))
    for epoch in (1, 4):
        file = tmp_path / "kept" / f"epoch={epoch}.ckpt"
        made = [ending(), keeper(f"again-{epoch}")]
        again = kit.fit(tmp_path / f"b{epoch}", *made, data=data(kit), ckpt_path=file)
        assert kit.traces(again)["weights"] == whole["weights"]


class Failing(Callback):
    """Fails where the averaged weights are scored, at one of the rates."""

    def on_validation_epoch_end(self, trainer: Any, module: Any) -> None:
        if trainer.optimizers[0].param_groups[0]["lr"] == 0.03:
            raise RuntimeError("no validation")


def test_a_try_that_fails_while_it_is_scored_leaves_no_trace(kit: Any, tmp_path: Path) -> None:
    adapt = Adapt(
        {"lr": [0.01, 0.03]}, minimize="val_loss", course=averaged(), adapt_every=3, try_for=1
    )
    trainer = kit.fit(tmp_path / "tries", adapt, Failing(), data=data(kit))
    assert [try_.error is not None for try_ in adapt.history[0].tries] == [False, True]
    plain = kit.fit(tmp_path / "plain", Averaging(), data=data(kit))
    assert kit.traces(trainer)["weights"] == kit.traces(plain)["weights"]
