"""One argument finds the rate of a training, and its schedule ends at zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from dynhp import plan_for, recommended, spent
from dynhp.planning import rate_search
from dynhp_torch import wsd_schedule
from dynhp_transformers import Adapt

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
EPOCHS, BATCHES = 10, 4
INPUTS = torch.randn(16 * BATCHES, 4, generator=torch.Generator().manual_seed(0))


class LinearModel(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(4, 1)

    def forward(self, x: Any, labels: Any) -> dict[str, Any]:
        outputs = self.net(x)
        return {"loss": torch.nn.functional.mse_loss(outputs, labels), "logits": outputs}


class TrainingPlan(TrainerCallback):
    """What the run will cost, said before its first step."""

    plan: Any = None

    def __init__(self, ours: Adapt) -> None:
        self.ours = ours

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if TrainingPlan.plan is None:  # of the class: what a callback keeps itself is put back
            TrainingPlan.plan = plan_for(self.ours.loop)


@pytest.mark.parametrize("rate", [0.00316228, 0.1, 3.16228])
def test_the_preset_finds_the_same_rate_from_anywhere(rate: float, tmp_path: Path) -> None:
    set_seed(0)
    TrainingPlan.plan = None
    model = LinearModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    schedule = wsd_schedule(optimizer, EPOCHS * BATCHES)
    ours = Adapt(policy=recommended("lr", loss="loss"))
    trainer = Trainer(
        model,
        TrainingArguments(
            str(tmp_path), num_train_epochs=EPOCHS, per_device_train_batch_size=16,
            logging_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=[{"x": row, "labels": row.sum(0, keepdim=True)} for row in INPUTS],  # type: ignore[arg-type]
        callbacks=[ours, TrainingPlan(ours)],
        optimizers=(optimizer, schedule),
    )  # fmt: skip
    trainer.train()
    search, cost = rate_search(ours.loop), spent(ours.loop)
    assert (search.start, search.rate) == (rate, 0.316228)
    assert plan_for(ours.loop).least == plan_for(ours.loop).most == cost
    assert TrainingPlan.plan.least.overhead <= cost.overhead <= TrainingPlan.plan.most.overhead
    assert cost.overhead == 3 * (len(search.rates) + 2)  # a try has 3 epochs, the check 2 tries
    logs = [each for each in trainer.state.log_history if "loss" in each]
    assert [each["step"] for each in logs] == [BATCHES * (1 + epoch) for epoch in range(EPOCHS)]
    rates = [each["learning_rate"] for each in logs]
    assert max(rates) == pytest.approx(0.316228)  # the height
    assert 0 < rates[-1] < 0.02 < rates[-2] < 0.2 < rates[-3]
    assert logs[-1]["loss"] < 1e-3 < logs[0]["loss"]
