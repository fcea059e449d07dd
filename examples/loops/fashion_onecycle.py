"""Small images, a loader with workers, and the peak of a rate that rises and falls, adapted."""

from __future__ import annotations

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from dynhp_torch import adapt

EPOCHS, BATCH = 4, 64


def load() -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.randint(10, (600,))
    return torch.randn(600, 32) + nn.functional.one_hot(y, 32) * 3, y


def main() -> None:
    torch.manual_seed(0)
    x, y = load()
    train = DataLoader(
        TensorDataset(x[:400], y[:400]), batch_size=BATCH, shuffle=True, num_workers=2
    )
    val = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=100)
    model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 10))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=EPOCHS * len(train))
    loss_fn = nn.CrossEntropyLoss()
    for epoch in adapt(EPOCHS, state=[model, opt, sched, train], lr=[1e-3, 3e-3, 1e-2],
                       minimize="val_loss", adapt_every=2, try_for=1):
        model.train()
        for xb, yb in train:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            sched.step()
        model.eval()
        with torch.no_grad():
            vl = sum(loss_fn(model(xb), yb).item() * len(xb) for xb, yb in val) / 200
            acc = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val) / 200
        epoch.report(val_loss=vl, acc=acc)
        if epoch.main:
            print(f"epoch {epoch} lr {sched.get_last_lr()[0]:.5f} val_loss {vl:.4f} acc {acc:.4f}")
    torch.save(model.state_dict(), sys.argv[1])


if __name__ == "__main__":
    t = time.time()
    main()
    print("seconds", round(time.time() - t, 1))
