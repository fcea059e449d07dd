"""The files and functions of ours that one round goes through, for several kinds of runs.

Run as ``python benchmarks/_crossed_by_a_round.py`` with the version to look at on PYTHONPATH: it
prints JSON, for each kind of run a list of files and qualified names, or ``null`` if the framework
is not installed.

What is counted: each function that is called, or each generator that is resumed, once, by its file
and its qualified name, if its file lies in ``dynhp`` or in a ``dynhp_*`` package of an integration.
Comprehensions belong to the function around them, and modules are no functions. The time looked at
goes from the first epoch of the second round to the first epoch of the third one (for a trainer, it
is the second ``step()``): a whole cycle, so that what happens once (imports, construction, the
check of the first round) does not count. Only "a whole fit" counts all of it.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynhp import DynamicGridAdapter, adapt, lowest

__all__ = ["CallRecorder", "crossed"]

_EVERY = 3
_VALUES = [0.3, 0.1, 0.03]
_EPOCHS = 4 * _EVERY


class CallRecorder:
    """Notes the functions of some folders' files that are called between two epochs."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.calls: set[tuple[str, str]] = set()
        self._folders = {name: f"{folder}/" for name, folder in folders.items()}
        self._is_over = False

    def at_epoch(self, epoch: int) -> None:
        """Begin with the first epoch of the second round, end with that of the third."""
        if epoch >= 2 * _EVERY:
            self.stop()
        elif epoch >= _EVERY and not self._is_over:
            self.start()

    def start(self) -> None:
        """Look at every call from now on."""
        sys.setprofile(self._called)

    def stop(self) -> None:
        """Look at no call from now on."""
        sys.setprofile(None)
        self._is_over = True

    def _called(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        if name == "<module>" or name.endswith(
            ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
        ):
            return
        for package, folder in self._folders.items():
            if code.co_filename.startswith(folder):
                self.calls.add((f"{package}/{code.co_filename[len(folder) :]}", name))


class Descent:
    """A model of two numbers in numpy, which can be used as a trainer too."""

    def __init__(self) -> None:
        self.weights = np.array([1.0, -2.0])
        self.epoch = 0

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.weights.copy(), "epoch": self.epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights = state["weights"].copy()
        self.epoch = state["epoch"]

    get_state = state_dict
    set_state = load_state_dict

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        for _ in range(k):
            self.weights -= hyperparameters["lr"] * self.weights
            self.epoch += 1

    def metrics(self) -> dict[str, float]:
        return {"loss": float(self.weights @ self.weights)}


def _trainer(recorder: CallRecorder, check: str) -> None:
    adapter = DynamicGridAdapter(
        Descent(),
        {"lr": _VALUES},
        criterion=lowest("loss"),
        adapt_every=_EVERY,
        try_for=1,
        check=check,
    )
    adapter.step()
    recorder.start()
    adapter.step()
    recorder.stop()


def _numpy_loop(recorder: CallRecorder, check: str) -> None:
    model = Descent()
    for epoch in adapt(
        _EPOCHS,
        state=[model],
        space={"lr": _VALUES},
        minimize="loss",
        adapt_every=_EVERY,
        try_for=1,
        check=check,
    ):
        recorder.at_epoch(int(epoch))
        model.train_k(1, epoch.values)
        epoch.report(model.metrics())


def _torch_loop(recorder: CallRecorder, check: str) -> None:
    import torch

    from dynhp_torch import adapt as torch_adapt

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=_VALUES[0])
    inputs = torch.randn(8, 2)
    for epoch in torch_adapt(
        _EPOCHS,
        state=[model, optimizer],
        lr=_VALUES,
        minimize="loss",
        adapt_every=_EVERY,
        try_for=1,
        check=check,
    ):
        recorder.at_epoch(int(epoch))
        optimizer.zero_grad()
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        epoch.report(loss=float(loss))


def _lightning(recorder: CallRecorder, check: str, *, is_whole: bool = False) -> None:
    import torch
    from lightning.pytorch import LightningModule, Trainer

    from dynhp_lightning import Adapt

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class OneLayer(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def on_train_epoch_start(self) -> None:
            if not is_whole:
                recorder.at_epoch(self.current_epoch)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.layer(batch).square().mean()
            self.log("loss", loss, on_step=False, on_epoch=True)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=_VALUES[0])

    torch.manual_seed(0)
    adapting = Adapt({"lr": _VALUES}, minimize="loss", adapt_every=_EVERY, try_for=1, check=check)
    trainer = Trainer(
        max_epochs=_EPOCHS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[adapting],
    )
    loader = torch.utils.data.DataLoader(torch.randn(8, 2), batch_size=4)
    if is_whole:
        recorder.start()
    trainer.fit(OneLayer(), loader)
    recorder.stop()


def crossed() -> dict[str, list[tuple[str, str]] | None]:
    """The files and functions by the kind of run; None if it needs what is not installed."""
    import dynhp

    core = Path(dynhp.__file__).parent
    folders = {each.name: each for each in (core.parent / "integrations").glob("*/dynhp_*")}
    folders["dynhp"] = core
    whole_fit = functools.partial(_lightning, is_whole=True)
    kinds: dict[str, tuple[Callable[[CallRecorder, str], None], str, str]] = {
        "a trainer, check off": (_trainer, "off", "dynhp"),
        "a trainer, check on": (_trainer, "every", "dynhp"),
        "a loop in numpy, check off": (_numpy_loop, "off", "dynhp"),
        "a loop in numpy, check on": (_numpy_loop, "every", "dynhp"),
        "a loop in torch, check off": (_torch_loop, "off", "torch"),
        "a loop in torch, check on": (_torch_loop, "every", "torch"),
        "Lightning, check off": (_lightning, "off", "lightning"),
        "Lightning, check on": (_lightning, "every", "lightning"),
        "Lightning, a whole fit": (whole_fit, "first", "lightning"),
    }
    calls: dict[str, list[tuple[str, str]] | None] = {}
    for kind, (run, check, needed) in kinds.items():
        calls[kind] = None
        if importlib.util.find_spec(needed) is not None:
            recorder = CallRecorder(folders)
            run(recorder, check)
            calls[kind] = sorted(recorder.calls)
    return calls


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(crossed(), sys.stdout)
