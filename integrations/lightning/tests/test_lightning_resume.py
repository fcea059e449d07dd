"""``fit(ckpt_path=...)`` goes on as if the run had never stopped, from any checkpoint of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint

from dynhp.errors import SettingsError
from dynhp.tails import scheduled
from dynhp_lightning import Adapt

pytestmark = [
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
    pytest.mark.filterwarnings("ignore:.*exists and is not empty"),
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
]

SETTINGS: dict[str, dict[str, Any]] = {
    "in a stretch, after a try of two epochs": {"adapt_every": 3, "try_for": 2},
    "all of a round is tried": {"adapt_every": 2, "try_for": 2},
    "at the end of validation": {"adapt_every": 3, "try_for": 1, "save": False},
    "independent": {"adapt_every": 3, "try_for": 1, "randomness": "independent"},
}


def adapt(**settings: Any) -> Adapt:
    return Adapt({"lr": [0.003, 0.01, 0.03]}, minimize="val_loss", **settings)


def choice(round_: Any) -> Any:
    """A round without what was averaged over an epoch, of which Lightning saves no half."""
    return round_.candidate, round_.epochs, [(each.candidate, each.score) for each in round_.tries]


@pytest.mark.parametrize("name", SETTINGS)
def test_from_every_checkpoint_the_run_ends_as_it_would_have(
    name: str, kit: Any, tmp_path: Path
) -> None:
    settings = dict(SETTINGS[name])
    save = settings.pop("save", True)

    def keeper(folder: Path) -> ModelCheckpoint:
        return ModelCheckpoint(folder / "kept", save_top_k=-1, save_on_train_epoch_end=save)

    def fit(folder: Path, ckpt_path: Any = None) -> tuple[Any, Adapt]:
        callback = adapt(**settings)
        data = kit.loaders(generator=torch.Generator().manual_seed(1))
        net = lambda: kit.Net("onecycle")  # noqa: E731
        made = [callback, keeper(folder), EMAWeightAveraging()]
        return kit.fit(folder, *made, net=net, data=data, ckpt_path=ckpt_path), callback

    whole, first = fit(tmp_path / "whole")
    wanted = kit.traces(whole)
    files = sorted((tmp_path / "whole" / "kept").glob("*.ckpt"))
    assert [path.name.partition("-")[0] for path in files] == [f"epoch={i}" for i in range(6)]
    for path in files[:-1]:
        folder = tmp_path / path.stem
        resumed, again = fit(folder, path)
        got = kit.traces(resumed)
        parts = {"weights", "optimizers", "schedulers", "counters", "generator", "metrics"}
        if name == "independent":  # the caller's own generators are given back as they were found
            parts -= {"generator"}
        for part in parts:
            assert got[part] == wanted[part], (path.name, part)
        assert [choice(each) for each in again.history] == [choice(each) for each in first.history]
        shutil.rmtree(folder)


def test_where_a_schedule_moved_the_rest_of_a_kept_try_it_is_refused(
    kit: Any, tmp_path: Path
) -> None:
    def fit(folder: Path, ckpt_path: Any = None) -> Any:
        callback = adapt(adapt_every=3, try_for=2, course=scheduled("lr", "linear"))
        keeper = ModelCheckpoint(folder / "kept", save_top_k=-1, save_on_train_epoch_end=True)
        data = kit.loaders(generator=torch.Generator().manual_seed(1))
        return kit.fit(folder, callback, keeper, net=kit.Net, data=data, ckpt_path=ckpt_path)

    wanted = kit.traces(fit(tmp_path / "whole"))["weights"]
    refused = []
    for path in sorted((tmp_path / "whole" / "kept").glob("*.ckpt"))[:-1]:
        try:
            resumed = fit(tmp_path / path.stem, path)
        except SettingsError as error:
            inside = "inside a try that was kept" in str(error)
            refused.append((path.name.partition("-")[0], inside))
        else:
            assert kit.traces(resumed)["weights"] == wanted, path.name
    assert refused == [("epoch=0", True), ("epoch=3", True)]
