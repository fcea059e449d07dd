"""One argument finds the rate of a training, and its schedule ends at zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from dynhp import plan_for, recommended, schedule_of, spent
from dynhp.planning import rate_search
from dynhp.tails import wsd
from dynhp_torch import wsd_schedule
from dynhp_transformers import Adapt
from dynhp_transformers.state import plain_scheduler

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
EPOCHS, BATCHES = 10, 4
INPUTS = torch.randn(16 * BATCHES, 4, generator=torch.Generator().manual_seed(0))


USED: list[float] = []  # by all steps of a training, those of tries too


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


def trained(
    folder: Path, rate: float, *callbacks: Any, schedule: Any = wsd_schedule, **options: Any
) -> Trainer:
    """Train; ``schedule`` makes a scheduler of the user's own, None leaves it to the trainer."""
    set_seed(0)
    model = LinearModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    scheduler = None if schedule is None else schedule(optimizer, EPOCHS * BATCHES)
    USED.clear()
    optimizer.register_step_pre_hook(lambda *_: USED.append(optimizer.param_groups[0]["lr"]))
    trainer = Trainer(
        model,
        TrainingArguments(
            str(folder), num_train_epochs=EPOCHS, per_device_train_batch_size=16,
            logging_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
            disable_tqdm=True, **options,
        ),
        train_dataset=[{"x": row, "labels": row.sum(0, keepdim=True)} for row in INPUTS],  # type: ignore[arg-type]
        callbacks=list(callbacks),
        optimizers=(optimizer, scheduler),
    )  # fmt: skip
    trainer.train()
    return trainer


def test_the_preset_finds_the_same_height_of_a_schedule_from_anywhere(tmp_path: Path) -> None:
    rates = set()
    for start in (0.00316228, 0.1, 3.16228):
        TrainingPlan.plan = None
        ours = Adapt(policy=recommended("lr", loss="loss"))
        trainer = trained(tmp_path, start, ours, TrainingPlan(ours))
        search, cost = rate_search(ours.loop), spent(ours.loop)
        assert search.start == start
        rates.add(search.rate)
        assert plan_for(ours.loop).least == plan_for(ours.loop).most == cost
        assert TrainingPlan.plan.least.overhead <= cost.overhead <= TrainingPlan.plan.most.overhead
        assert cost.overhead == 3 * (len(search.rates) + 2)  # a try has 3 epochs, the check 2 tries
        logs = [each for each in trainer.state.log_history if "loss" in each]
        assert [each["step"] for each in logs] == [BATCHES * (1 + epoch) for epoch in range(EPOCHS)]
        logged = [each["learning_rate"] for each in logs]
        assert max(logged) == pytest.approx(search.rate)  # the height
        assert 0 < logged[-1] < 0.1 * search.rate
        assert logged[-1] < logged[-2] < logged[-3] < search.rate
        assert logs[-1]["loss"] < 1e-3 < logs[0]["loss"]
    assert len(rates) == 1


def test_what_is_recorded_replays_in_a_plain_training(tmp_path: Path) -> None:
    ours = Adapt(policy=recommended("lr", loss="loss"))
    trainer: Any = trained(tmp_path, 0.1, ours)
    heights: list[Any] = [
        values["lr"] for count, values in schedule_of(ours.loop).as_list() for _ in range(count)
    ]
    assert heights == [rate_search(ours.loop).rate] * EPOCHS  # the shape is the scheduler's
    again: Any = trained(tmp_path, heights[0])
    for own, other in zip(again.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.allclose(own, other)


@pytest.mark.parametrize("together", [1, 2])
def test_without_a_schedule_the_preset_brings_its_own(together: int, tmp_path: Path) -> None:
    """A constant schedule is none: the rate moves with every step of the optimiser."""
    rates, options = set(), {"schedule": None, "lr_scheduler_type": "constant"}
    options["gradient_accumulation_steps"] = together
    steps = EPOCHS * BATCHES // together
    for start in (0.00316228, 3.16228):
        ours = Adapt(policy=recommended("learning_rate", loss="loss"))
        trainer: Any = trained(tmp_path, start, ours, **options)
        search = rate_search(ours.loop)
        assert search.start == start
        rates.add(search.rate)
        main = USED[-steps:]
        assert main == [search.rate * wsd((step + 0.5) / steps) for step in range(steps)]
        logs = [each for each in trainer.state.log_history if "loss" in each]
        logged = [each["learning_rate"] for each in logs]
        assert logged == main[BATCHES // together - 1 :: BATCHES // together]
    assert len(rates) == 1

    schedule = schedule_of(ours.loop)
    assert schedule.steps_per_epoch == BATCHES // together
    values: list[Any] = [
        values["learning_rate"] for count, values in schedule.as_list() for _ in range(count)
    ]
    assert values == main
    options["schedule"] = lambda optimizer, _: torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: values[min(step, steps - 1)]
    )
    again: Any = trained(tmp_path, 1.0, **options)
    assert main == USED
    for own, other in zip(again.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(own, other)


def test_a_scheduler_of_the_users_own_is_left_alone(tmp_path: Path) -> None:
    """Whatever the trainer would have made without it."""
    ours = Adapt(policy=recommended("lr", loss="loss"))
    trainer = trained(tmp_path, 0.05, ours, lr_scheduler_type="constant")
    assert ours.loop.adapter.policy.course is None
    assert plain_scheduler(trainer).base_lrs == [0.05]
