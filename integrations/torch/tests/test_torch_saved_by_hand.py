"""A loop in the user's own file: all global generators after it are those of the run in one go."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import numpy as np
import pytest
import torch

from dynhp.triggers import OnPlateau
from dynhp_torch import adapt

KINDS: dict[str, dict[str, Any]] = {
    "common": {"adapt_every": 4},
    "independent": {"adapt_every": 4, "randomness": "independent"},
    "again from the origin": {"adapt_every": 4, "randomness": "independent", "keep": "value"},
    "plateau": {"when": OnPlateau("loss", patience=1), "randomness": "independent"},
}


class Script:
    """Draws from the global generators of Python, numpy and torch in each epoch."""

    def __init__(self, settings: dict[str, Any], *, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        self.weight = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
        self.optimizer = torch.optim.SGD([self.weight], lr=0.1, momentum=0.5)
        state = [self.weight, self.optimizer]
        given: dict[str, Any] = {"lr": [0.1, 0.03], "minimize": "loss", "try_for": 1}
        self.loop = adapt(10, state=state, check="off", **given, **settings)
        self.saved: list[bytes] = []

    def save(self) -> None:
        file = io.BytesIO()
        _, numbers, place, *gauss = np.random.get_state()
        plain = {
            "loop": self.loop.state_dict(),
            "weight": self.weight.detach().clone(),
            "optimizer": self.optimizer.state_dict(),
            "python": random.getstate(),
            "numpy": [torch.from_numpy(np.asarray(numbers, dtype=np.int64)), place, *gauss],
            "torch": torch.get_rng_state(),
        }
        torch.save(plain, file)
        self.saved.append(file.getvalue())

    def load(self, file: bytes, *, as_json: bool) -> None:
        saved = torch.load(io.BytesIO(file), weights_only=True)
        loop = json.loads(json.dumps(saved["loop"])) if as_json else saved["loop"]
        self.weight.data.copy_(saved["weight"])
        self.optimizer.load_state_dict(saved["optimizer"])
        numbers, *rest = saved["numpy"]
        random.setstate(saved["python"])
        np.random.set_state(("MT19937", numbers.numpy(), *rest))
        torch.set_rng_state(saved["torch"])
        self.loop.load_state_dict(loop)

    def run(self, *, saving: bool = False) -> Any:
        """Train, and give all that a script sees of it, and what it would draw next."""
        for epoch in self.loop:
            self.optimizer.zero_grad()
            noise = torch.randn(2) + random.gauss(0, 1) + float(np.random.normal())
            (self.weight + 0.1 * noise).square().sum().backward()
            self.optimizer.step()
            epoch.report(loss=float(self.weight.detach().square().sum()))
            if saving and epoch.main:
                self.save()
        drawn = [random.gauss(0, 1), random.random(), np.random.normal(), np.random.random()]
        return self.loop.history, self.weight.tolist(), [*drawn, *torch.randn(3).tolist()]


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_what_is_drawn_after_the_loop_does_not_depend_on_a_break(settings: dict[str, Any]) -> None:
    whole = Script(settings, seed=1)
    end = whole.run(saving=True)
    for place, file in enumerate(whole.saved):
        again = Script(settings, seed=2)
        again.load(file, as_json=place % 2 == 0)
        assert again.run() == end
