"""A small transformer that learns characters, by steps, with its learning rate adapted."""

from __future__ import annotations

import sys
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dynhp_torch import adapt

torch.manual_seed(0)
WORDS = ("to be or not to be that is the question whether tis nobler in the mind to suffer " * 99)
chars = sorted(set(WORDS))
data = torch.tensor([chars.index(c) for c in WORDS])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
B, T, C, STEPS, EVAL = 4, 16, 16, 40, 5


def batch(split: str) -> tuple[Tensor, Tensor]:
    d = train_data if split == "train" else val_data
    i = torch.randint(len(d) - T, (B,)).tolist()
    return torch.stack([d[j : j + T] for j in i]), torch.stack([d[j + 1 : j + T + 1] for j in i])


class LM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(chars), C), nn.Embedding(T, C)
        layer = nn.TransformerEncoderLayer(C, 4, 4 * C, 0.1, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(C, len(chars))

    def forward(self, x: Tensor) -> Tensor:
        h = self.tok(x) + self.pos(torch.arange(x.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        out: Tensor = self.head(self.blocks(h, mask=mask, is_causal=True))
        return out


@torch.no_grad()
def estimate_loss() -> float:
    model.eval()
    batches = (batch("val") for _ in range(3))
    mean = sum(F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() for x, y in batches) / 3
    model.train()
    return mean


model = LM()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
t = time.time()
for step in adapt(steps=STEPS, state=[model, opt], lr=[3e-4, 1e-3, 3e-3], minimize="val_loss",
                  adapt_every=20, try_for=5):
    x, y = batch("train")
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    opt.step()
    if (step + 1) % EVAL == 0:
        vl = estimate_loss()
        step.report(val_loss=vl)
        if step.main:
            print(f"step {step + 1}: train {loss.item():.4f} val {vl:.4f}")
print("seconds", time.time() - t)
torch.save(model.state_dict(), sys.argv[1])
