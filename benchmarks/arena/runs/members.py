"""A member of a population on Ray Tune, in a file of its own: its process need not import torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["member_of"]


def member_of(trainers: Any) -> Any:
    """A state that Ray copies, and the rate with which ``trainers`` train it."""
    import ray
    from ray import tune

    class Member(tune.Trainable):
        def setup(self, config: dict[str, Any]) -> None:
            self.state: bytes | None = None
            self.rate = config["lr"] if "lr" in config else 10.0 ** config["log_lr"]

        def reset_config(self, config: dict[str, Any]) -> bool:
            self.setup(config)
            return True

        def step(self) -> dict[str, Any]:
            self.state, val = ray.get(trainers.train.remote(self.state, self.rate))
            return {"val": val}

        def save_checkpoint(self, folder: str) -> None:
            Path(folder, "state").write_bytes(self.state or b"")

        def load_checkpoint(self, folder: str) -> None:
            self.state = Path(folder, "state").read_bytes() or None

    return Member
