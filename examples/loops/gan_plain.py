"""Two networks against each other, each with an optimiser: the loop as it is without dynhp."""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

torch.manual_seed(0)
EPOCHS, STEPS = 6, 5
G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
Dn = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(Dn.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real(n: int) -> Tensor:
    a = torch.randint(8, (n,)) * (2 * torch.pi / 8)
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


def kernel(a: Tensor, b: Tensor) -> Tensor:
    return torch.exp(-(torch.cdist(a, b) ** 2) / 0.1).mean()


def mmd(x: Tensor, y: Tensor) -> float:
    return (kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)).item()


z_eval, x_eval = torch.randn(200, 8), real(200)
for epoch in range(EPOCHS):
    for _ in range(STEPS):
        x, z = real(128), torch.randn(128, 8)
        d = bce(Dn(x), torch.ones(128, 1)) + bce(Dn(G(z).detach()), torch.zeros(128, 1))
        opt_d.zero_grad()
        d.backward()
        opt_d.step()
        g = bce(Dn(G(z)), torch.ones(128, 1))
        opt_g.zero_grad()
        g.backward()
        opt_g.step()
    with torch.no_grad():
        m = mmd(G(z_eval), x_eval)
    print(f"epoch {epoch} d {d.item():.3f} g {g.item():.3f} mmd {m:.4f}")
torch.save({**G.state_dict(), **{"d." + k: v for k, v in Dn.state_dict().items()}}, sys.argv[1])
