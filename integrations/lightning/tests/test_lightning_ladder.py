"""One argument finds the learning rate of a fit before it trains, and ends the fit at zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

from dynhp import plan_for, recommended, schedule_of, spent
from dynhp.planning import rate_search
from dynhp.tails import wsd
from dynhp_lightning import Adapt

EPOCHS, BATCHES = 10, 4
INPUTS = torch.randn(16 * BATCHES, 4, generator=torch.Generator().manual_seed(0))
USED: list[float] = []  # by all steps of a fit, tries too: what a module keeps itself is put back
# Ten epochs are short for a preset whose tries have three: a hint says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*torch.utils.data.Subset"),
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),
    pytest.mark.filterwarnings("ignore:You.re resuming from a checkpoint"),
]


class LinearModule(lightning.LightningModule):
    def __init__(self, rate: float, replayed: list[float] | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model, self.rate, self.replayed = torch.nn.Linear(4, 1), rate, replayed

    def training_step(self, batch: Any, index: int) -> Any:
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        USED.append(optimizer.param_groups[0]["lr"])

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.SGD(self.parameters(), lr=self.rate)
        if self.replayed is None:
            return optimizer
        rates, steps = self.replayed, EPOCHS * BATCHES
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: rates[min(step, steps - 1) * len(rates) // steps]
        )
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]


def fitted(
    module: LinearModule, *callbacks: Any, ckpt_path: Any = None, **options: Any
) -> LinearModule:
    USED.clear()
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=any(isinstance(each, ModelCheckpoint) for each in callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        **options,
    )
    noise = torch.randn(len(INPUTS), 1, generator=torch.Generator().manual_seed(1))
    data = TensorDataset(INPUTS, INPUTS @ torch.ones(4, 1) + 0.1 * noise)
    trainer.fit(module, DataLoader(data, 16), ckpt_path=ckpt_path)
    assert trainer.current_epoch == EPOCHS
    return module


@pytest.mark.parametrize("spread", [False, True])
def test_one_argument_finds_the_same_rate_from_anywhere(spread: bool) -> None:
    rates = set()
    for start in (0.003, 0.02, 0.1, 0.7):
        policy = recommended("lr", default=start)
        adapt = Adapt(**policy) if spread else Adapt(policy=policy)
        fitted(LinearModule(start), adapt)
        search, cost, plan = rate_search(adapt.loop), spent(adapt.loop), plan_for(adapt.loop)
        assert search.start == start
        assert plan.least.overhead <= cost.overhead <= plan.most.overhead
        assert 0.01 < search.rate < 1
        main = USED[-EPOCHS * BATCHES :]
        steps = EPOCHS * BATCHES
        assert main == [search.rate * wsd((step + 0.5) / steps) for step in range(steps)]
        first = USED[: 3 * BATCHES]  # a try goes up and down, step by step
        assert len(set(first)) > 2 * BATCHES
        assert first[-1] < first[0] < max(first) / 3
        rates.add(search.rate)
    assert len(rates) == 1


class TwoGroups(LinearModule):
    def configure_optimizers(self) -> Any:
        weight, bias = self.model.parameters()
        groups: Any = [{"params": [weight]}, {"params": [bias], "lr": self.rate / 10}]
        return torch.optim.SGD(groups, lr=self.rate, momentum=0.5)


def test_groups_accumulation_clipping_and_bfloat16_from_starts_far_apart() -> None:
    """The ratio of the groups stays, and the rate moves with each step of the optimiser."""
    options: Any = {
        "accumulate_grad_batches": 2, "gradient_clip_val": 1.0, "precision": "bf16-mixed",
    }  # fmt: skip
    rates = []
    for start in (0.005, 0.15):
        adapt = Adapt(policy=recommended("learning_rate", default=None))
        module = fitted(TwoGroups(start), adapt, **options)
        rates.append(rate_search(adapt.loop).rate)
        steps = EPOCHS * BATCHES // 2
        assert USED[-steps:] == [rates[-1] * wsd((step + 0.5) / steps) for step in range(steps)]
        high, low = module.trainer.optimizers[0].param_groups
        assert low["lr"] == pytest.approx(high["lr"] / 10)
    assert rates[0] == rates[1]


def test_what_is_recorded_replays_in_a_plain_fit() -> None:
    adapt = Adapt(policy=recommended("lr"))
    module = fitted(LinearModule(0.01), adapt)
    rates: list[Any] = [
        values["lr"] for count, values in schedule_of(adapt.loop).as_list() for _ in range(count)
    ]
    main = USED[-EPOCHS * BATCHES :]
    again = fitted(LinearModule(1.0, replayed=rates))
    assert main == USED
    assert torch.equal(again.model.weight, module.model.weight)


def test_a_fit_that_goes_on_from_a_checkpoint_has_the_same_rates(tmp_path: Path) -> None:
    """Also from the middle of an epoch; the rate in force there is not where a search starts."""

    def keeper(folder: Path) -> ModelCheckpoint:
        return ModelCheckpoint(
            folder,
            filename="{step}",
            save_top_k=-1,
            every_n_train_steps=3,
            save_on_train_epoch_end=False,
        )

    adapt = Adapt(policy=recommended("lr"))
    module = fitted(LinearModule(0.01), adapt, keeper(tmp_path))
    main = USED[-EPOCHS * BATCHES :]
    for step in (3, 18, 33, 36):
        again = Adapt(policy=recommended("lr"))
        resumed = fitted(
            LinearModule(0.01),
            again,
            keeper(tmp_path / f"again-{step}"),
            ckpt_path=tmp_path / f"step={step}.ckpt",
        )
        assert main[step:] == USED
        if step % BATCHES == 0:  # else Lightning begins its loader anew
            assert torch.equal(resumed.model.weight, module.model.weight)
        assert schedule_of(again.loop) == schedule_of(adapt.loop)
