"""One argument finds the learning rate of a fit before it trains."""

from __future__ import annotations

from typing import Any

import lightning
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from dynhp import recommended
from dynhp.planning import rate_search
from dynhp_lightning import Adapt


class LinearModule(lightning.LightningModule):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.model, self.rate = torch.nn.Linear(4, 1), rate

    def training_step(self, batch: Any, index: int) -> Any:
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=self.rate)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rate", "spread"), [(0.001, False), (1.0, True)])
def test_the_ladder_is_one_argument(rate: float, spread: bool) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    data = TensorDataset(inputs, inputs @ torch.ones(4, 1))
    policy = recommended("lr", default=rate)
    adapt = Adapt(**policy) if spread else Adapt(policy=policy)
    trainer = lightning.Trainer(
        max_epochs=10,
        callbacks=[adapt],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
    )
    trainer.fit(LinearModule(rate), DataLoader(data, 16))
    assert trainer.current_epoch == adapt.loop.history.epochs == 10
    assert rate_search(adapt.loop).start == rate
    assert trainer.optimizers[0].param_groups[0]["lr"] == pytest.approx(0.1, rel=1e-5)
