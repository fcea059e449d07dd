"""A dry run ends as the training without Adapt: weights, counters, logs, files, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import EarlyStoppingCallback, TrainerCallback

from dynhp_transformers import Adapt

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")


def dry(**options: Any) -> Adapt:
    settings = {"adapt_every": 3, "try_for": 2, "minimize": "eval_loss", **options}
    return Adapt({"lr": [0.01, 0.03, 0.1]}, dry_run=True, **settings)


CASES: dict[str, dict[str, Any]] = {
    "linear": {},
    "warmup, cosine, accumulation": {
        "lr_scheduler_type": "cosine",
        "warmup_steps": 0.2,
        "gradient_accumulation_steps": 3,
        "max_grad_norm": 0.5,
    },
    "steps": {"eval_strategy": "steps", "eval_steps": 2, "logging_strategy": "steps",
              "logging_steps": 2},
    "max_steps in an epoch": {"max_steps": 18, "num_train_epochs": 99},
    "a part of an epoch": {"num_train_epochs": 4.5},
    "plateau": {"lr_scheduler_type": "reduce_lr_on_plateau"},
    "one group": {"optimizers": lambda model: (torch.optim.SGD(model.parameters(), 0.03), None)},
    "workers": {"dataloader_num_workers": 1, "num_train_epochs": 2},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_dry_run_leaves_what_the_training_without_us_leaves(
    case: str, kit: Any, tmp_path: Path
) -> None:
    adapt = dry()
    plain = kit.train(tmp_path / "plain", **CASES[case])
    adapted = kit.train(tmp_path / "dry", adapt, **CASES[case])
    wanted, got = kit.traces(plain), kit.traces(adapted)
    for name in wanted:
        assert got[name] == wanted[name], name
    assert all(len(round_.tries) == 3 for round_ in adapt.history)
    assert adapt.history[0].checked > 0


def test_early_stopping_and_the_best_of_few_checkpoints(kit: Any, tmp_path: Path) -> None:
    options = {
        "num_train_epochs": 9,
        "save_strategy": "epoch",
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": "accuracy",
    }
    patience = lambda: EarlyStoppingCallback(3)  # noqa: E731
    plain = kit.train(tmp_path / "plain", patience(), **options)
    callback = dry(minimize=None, maximize="eval_accuracy")
    adapted = kit.train(tmp_path / "dry", callback, patience(), **options)
    wanted, got = kit.traces(plain), kit.traces(adapted)
    assert wanted["counters"][0] < 45  # it did stop early
    assert got == wanted
    assert kit.checkpoints(tmp_path / "dry") == kit.checkpoints(tmp_path / "plain")


def test_a_stop_where_a_round_ends_leaves_the_best_model_in_place(kit: Any, tmp_path: Path) -> None:
    options = {"save_strategy": "epoch", "load_best_model_at_end": True, "num_train_epochs": 9}

    class StopsAfterThree(TrainerCallback):
        def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop |= state.epoch == 3

    plain = kit.train(tmp_path / "plain", StopsAfterThree(), learning_rate=1.0, **options)
    adapted = kit.train(
        tmp_path / "dry", dry(try_for=1), StopsAfterThree(), learning_rate=1.0, **options
    )
    wanted, got = kit.traces(plain), kit.traces(adapted)
    assert wanted["best"][1] < wanted["counters"][0] == 15  # the best one is not the last
    assert got == wanted
