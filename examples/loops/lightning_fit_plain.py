"""A fit of Lightning with dropout and a cosine schedule: the script without dynhp."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(0, verbose=False)
X = torch.randn(1024, 10)
Y = X[:, :1].sin() + 0.3 * torch.randn(1024, 1)
train = DataLoader(TensorDataset(X[:768], Y[:768]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(X[768:], Y[768:]), batch_size=256)


class Net(L.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def training_step(self, b: Any, i: int) -> torch.Tensor:
        return nn.functional.mse_loss(self.net(b[0]), b[1])

    def validation_step(self, b: Any, i: int) -> None:
        self.log("val_loss", nn.functional.mse_loss(self.net(b[0]), b[1]))

    def configure_optimizers(self) -> Any:
        opt = torch.optim.AdamW(self.parameters(), lr=3e-3)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
        return {"optimizer": opt, "lr_scheduler": cosine}


net = Net()
trainer = L.Trainer(
    max_epochs=12, accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(net, train, val)
print("final", trainer.callback_metrics["val_loss"].item(), end=" ")
print("epoch", trainer.current_epoch, "step", trainer.global_step)
torch.save(net.state_dict(), sys.argv[1])
