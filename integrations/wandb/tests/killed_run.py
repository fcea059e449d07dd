"""Started by a test: a run with checkpoints, logged offline, that is killed in its middle."""

from __future__ import annotations

import os
import signal
import sys

import wandb

from dynhp.records import Event, Round
from dynhp.storage import checkpoints
from dynhp_wandb import WandB
from tests.support.loggers import adapter_with


def kill(event: Event) -> None:
    """Kill this process when a round is over: it was logged, but is in no checkpoint."""
    if isinstance(event, Round) and event.index == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    run = wandb.init(mode="offline", project="tests", id="killed", settings={"silent": True})
    with checkpoints(sys.argv[1], adapter_with(WandB(run), kill)) as adapter:
        adapter.run(100)
