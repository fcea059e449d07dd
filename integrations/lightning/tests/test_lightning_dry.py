"""A dry run ends as the fit without Adapt: weights, counters, logs, checkpoints, to the bit."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import lightning as L
import pytest
import torch
from lightning.pytorch.callbacks import (
    EarlyStopping,
    EMAWeightAveraging,
    GradientAccumulationScheduler,
    LearningRateMonitor,
)
from torch.utils.data import DataLoader, IterableDataset

from dynhp_lightning import Adapt

pytestmark = [
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
    pytest.mark.filterwarnings("ignore:You defined a `validation_step`"),
]


def dry(**options: Any) -> Adapt:
    settings: dict[str, Any] = {"adapt_every": 3, "try_for": 2, **options}
    space = settings.pop("space", {"lr": [0.003, 0.01, 0.03]})
    metric = settings.pop("metric", "val_loss")
    return Adapt(space, minimize=metric, dry_run=True, **settings)


def both(kit: Any, tmp_path: Path, make: Any, **adapting: Any) -> tuple[Any, Any]:
    """The same fit without and with Adapt; ``make`` gives the arguments anew for each."""
    trainers = []
    for name, extra in (("plain", []), ("dry", [dry(**adapting)])):
        folder = tmp_path / name
        callbacks, options = make(folder)
        trainers.append(kit.fit(folder, *extra, *callbacks, **options))
    return trainers[0], trainers[1]


class Data(L.LightningDataModule):
    def __init__(self, kit: Any) -> None:
        super().__init__()
        self.kit, self.generator = kit, torch.Generator().manual_seed(3)

    def train_dataloader(self) -> DataLoader[Any]:
        return self.kit.loaders(generator=self.generator)[0]  # type: ignore[no-any-return]

    def val_dataloader(self) -> DataLoader[Any]:
        return self.kit.loaders()[1]  # type: ignore[no-any-return]


class DrawnRows(IterableDataset[Any]):
    """Rows in an order of its own; Lightning reads ahead in it before the first epoch."""

    def __init__(self, kit: Any) -> None:
        self.rows, self.generator = kit.loaders()[0].dataset, torch.Generator().manual_seed(2)

    def __iter__(self) -> Any:
        for place in torch.randperm(len(self.rows), generator=self.generator):
            yield self.rows[place]


class MeanSoFar:
    """As in many scripts."""

    def __init__(self) -> None:
        self.sum, self.count = 0.0, 0

    def update(self, value: float) -> float:
        self.sum, self.count = self.sum + value, self.count + 1
        return self.sum / self.count


def remembering(kit: Any) -> Any:
    class Remembering(kit.Net):  # type: ignore[misc]
        """Logs what it remembers: the best loss, at times also the last one, and a mean."""

        def __init__(self) -> None:
            super().__init__()
            self.best = self.last = torch.tensor(9.0)
            self.mean, self.rows = MeanSoFar(), Counter[str]()

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            loss: torch.Tensor = super().training_step(batch, index)
            self.rows["seen"] += len(batch[0])
            self.log("rows", float(self.rows["seen"]))
            self.log("mean", self.mean.update(loss.item()))
            return loss

        def validation_step(self, batch: Any, index: int, dataloader_idx: int = 0) -> None:
            super().validation_step(batch, index)
            self.last = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
            if self.last < self.best:
                self.best = self.last
            self.log_dict({"best": self.best, "last": self.last})

    return Remembering()


CASES: dict[str, Any] = {
    "plain": lambda kit, folder: ([], {}),
    "cosine": lambda kit, folder: ([], {"net": lambda: kit.Net("cosine")}),
    "onecycle": lambda kit, folder: ([LearningRateMonitor()], {"net": lambda: kit.Net("onecycle")}),
    "plateau": lambda kit, folder: ([], {"net": lambda: kit.Net("plateau", "sgd")}),
    "accumulation and clipping": lambda kit, folder: (
        [],
        {"accumulate_grad_batches": 3, "gradient_clip_val": 0.5},
    ),
    "scheduled accumulation": lambda kit, folder: (
        [GradientAccumulationScheduler({0: 1, 2: 2})],
        {},
    ),
    "bf16": lambda kit, folder: ([], {"precision": "bf16-mixed"}),
    "weight averaging": lambda kit, folder: ([EMAWeightAveraging()], {}),
    "early stopping": lambda kit, folder: (
        [EarlyStopping("val_loss", patience=0, min_delta=0.05)],
        {"max_epochs": 12},
    ),
    "a stop that must wait": lambda kit, folder: (
        [EarlyStopping("val_loss", patience=0, min_delta=1.0)],
        {"min_epochs": 5},
    ),
    "a dataset with a generator": lambda kit, folder: (
        [],
        {"data": (DataLoader(DrawnRows(kit), batch_size=8), kit.loaders()[1])},
    ),
    "no validation": lambda kit, folder: ([], {"data": kit.loaders()[:1]}),
    "a part of the batches": lambda kit, folder: (
        [],
        {"limit_train_batches": 0.5, "limit_val_batches": 1, "logger": False},
    ),
    "a module that remembers": lambda kit, folder: ([], {"net": lambda: remembering(kit)}),
    "datamodule": lambda kit, folder: ([], {"data": Data(kit)}),
    "own generator": lambda kit, folder: (
        [],
        {"data": kit.loaders(generator=torch.Generator().manual_seed(1))},
    ),
    "several loaders": lambda kit, folder: (
        [],
        {"data": ({"a": kit.loaders()[0], "b": kit.loaders()[0]}, kit.loaders()[1])},
    ),
    "two validations an epoch": lambda kit, folder: ([], {"val_check_interval": 0.5}),
    "sanity check": lambda kit, folder: ([], {"num_sanity_val_steps": 2}),
    "max_steps": lambda kit, folder: ([], {"max_steps": 16, "max_epochs": -1}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_dry_run_leaves_what_the_fit_without_us_leaves(
    case: str, kit: Any, tmp_path: Path
) -> None:
    adapting = {"metric": "train_loss"} if case == "no validation" else {}
    plain, adapted = both(kit, tmp_path, lambda folder: CASES[case](kit, folder), **adapting)
    wanted, got = kit.traces(plain), kit.traces(adapted)
    for name in wanted:
        assert got[name] == wanted[name], name
    adapt = next(each for each in adapted.callbacks if isinstance(each, Adapt))
    assert all(len(round_.tries) >= 3 for round_ in adapt.history)
    assert adapt.history[0].checked > 0


def test_workers_of_a_loader_draw_the_same(kit: Any, tmp_path: Path) -> None:
    make = lambda folder: ([], {"data": kit.loaders(num_workers=1), "max_epochs": 2})  # noqa: E731
    plain, adapted = both(kit, tmp_path, make, adapt_every=2, try_for=1, check="off")
    assert kit.traces(adapted) == kit.traces(plain)


@pytest.mark.parametrize("every", [2, 3])
def test_a_stop_where_a_round_ends_leaves_averaged_weights_in_place(
    every: int, kit: Any, tmp_path: Path
) -> None:
    def parts() -> list[Any]:  # listed before Adapt, and heard before it at the end
        return [EMAWeightAveraging(), EarlyStopping("val_loss", patience=every - 1, min_delta=9.0)]

    plain = kit.fit(tmp_path / "plain", *parts(), max_epochs=12)
    adapted = kit.fit(tmp_path / "dry", *parts(), dry(adapt_every=every), max_epochs=12)
    wanted = kit.traces(plain)
    assert wanted["counters"][0] == every
    assert kit.traces(adapted) == wanted
