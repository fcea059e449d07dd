"""An adapted training looks like one that had these values all along: to logs, files, callbacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accelerate.optimizer import AcceleratedOptimizer
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback

from dynhp_torch import optimizer_param, schedule_scale
from dynhp_transformers import Adapt
from dynhp_transformers.state import plain_optimizer

pytestmark = pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")


class FollowScales(TrainerCallback):
    """Scales the schedule by what another run has chosen, epoch by epoch."""

    def __init__(self, scales: list[float]) -> None:
        self.scales, self.own = scales, []

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, optimizer: Any = None, **_: Any
    ) -> None:
        self.own = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            group["lr"] *= self.scales[int(state.global_step // 5)]

    def on_optimizer_step(
        self, args: Any, state: Any, control: Any, optimizer: Any = None, **_: Any
    ) -> None:
        for group, own in zip(optimizer.param_groups, self.own, strict=True):
            group["lr"] = own

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if "learning_rate" in logs:  # the schedule's own: the trainer does not know of the scale
            last = state.log_history[-1]
            last["learning_rate"] *= self.scales[int((state.global_step - 1) // 5)]


class Printer(PrinterCallback):
    """What a reporter is told: the logs, where they were made, and whether the files are there."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        values = {name: it for name, it in logs.items() if "loss" in name and "train" not in name}
        self.heard.append((state.global_step, values, len(state.log_history)))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        there = Path(args.output_dir, f"checkpoint-{state.global_step}").exists()
        self.heard.append((state.global_step, there))


def adapt(**options: Any) -> Adapt:
    settings = {"adapt_every": 3, "try_for": 2, "minimize": "eval_loss", **options}
    return Adapt({"lr": [0.01, 0.03, 0.1]}, **settings)


@pytest.mark.parametrize("every", [3, 2])  # with a stretch after the tries, and without
def test_logs_files_and_callbacks_are_those_of_a_plain_training_with_the_chosen_values(
    every: int, kit: Any, tmp_path: Path
) -> None:
    options = {
        "save_strategy": "epoch",
        "save_total_limit": 3,
        "load_best_model_at_end": True,
        "metric_for_best_model": "loss",
        "gradient_accumulation_steps": 1,
    }
    callback, printer, other = adapt(adapt_every=every), Printer(), Printer()
    stop = lambda: EarlyStoppingCallback(5)  # noqa: E731
    ours = kit.train(tmp_path / "ours", callback, printer, stop(), **options)
    scales = [each.candidate["lr"] / 0.03 for each in callback.history for _ in range(each.epochs)]
    assert set(scales) != {1.0}
    plain = kit.train(tmp_path / "plain", FollowScales(scales), other, stop(), **options)
    wanted, got = kit.traces(plain), kit.traces(ours)
    for name in wanted:
        assert got[name] == wanted[name], name
    assert any("learning_rate" in logs for logs in got["log"])
    files = kit.checkpoints(tmp_path / "ours")
    assert files == kit.checkpoints(tmp_path / "plain")
    assert len(files) == 3
    assert printer.heard == other.heard
    assert all(line[1] for line in printer.heard if len(line) == 2)


def test_who_stops_in_a_try_that_is_kept_is_heard(kit: Any, tmp_path: Path) -> None:
    stop = EarlyStoppingCallback(1, early_stopping_threshold=100.0)
    callback = adapt()
    options = {"save_strategy": "epoch", "load_best_model_at_end": True}
    trainer = kit.train(tmp_path, callback, stop, metric_for_best_model="loss", **options)
    assert (trainer.state.global_step, trainer.state.epoch) == (10, 2.0)
    assert [round_.epochs for round_ in callback.history] == [2]
    assert sorted(kit.checkpoints(tmp_path)) == ["checkpoint-10", "checkpoint-5"]


def test_an_error_in_a_try_fails_that_try_alone(kit: Any, tmp_path: Path) -> None:
    class FragileEvaluation(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if callback.trying and callback.loop.adapter.current["lr"] != value():
                raise RuntimeError("it diverged")

    def value() -> Any:
        return callback._session.run.epoch["lr"]  # type: ignore[union-attr]

    callback, options = adapt(dry_run=True), {"gradient_accumulation_steps": 2}
    ours = kit.train(tmp_path / "ours", callback, FragileEvaluation(), **options)
    plain = kit.train(tmp_path / "plain", **options)
    assert kit.traces(ours) == kit.traces(plain)
    errors = [each.error for round_ in callback.history for each in round_.tries if each.error]
    assert len(errors) == 4
    assert all("it diverged" in error for error in errors)


def test_an_interrupt_in_a_try_leaves_the_main_line(kit: Any, tmp_path: Path) -> None:
    class Pull(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if callback.trying and state.global_step == 18:
                pulled.append(callback._session.trainer)  # type: ignore[union-attr]
                raise KeyboardInterrupt

    callback = adapt(check="off")
    pulled: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        kit.train(tmp_path, callback, Pull())
    assert [round_.epochs for round_ in callback.history] == [3]
    trainer = pulled[0]
    assert (trainer.state.global_step, trainer.state.epoch) == (15, 3.0)
    assert not {"_run_epoch", "_save_checkpoint"} & vars(trainer).keys()


def test_other_values_are_adapted_too(kit: Any, tmp_path: Path) -> None:
    callback = Adapt(
        {"learning_rate": [0.03, 0.1], "weight_decay": [0.0, 0.1], "p": [0.0, 0.2],
         "smoothing": [0.0, 0.1]},
        bind={"p": "net.2.p"}, minimize="eval_loss", adapt_every=3, try_for=1,
    )  # fmt: skip
    trainer = kit.train(
        tmp_path, callback, num_train_epochs=3, optimizers=lambda model: (one_group(model), None)
    )
    chosen = callback.history[-1].candidate
    assert trainer.model.net[2].p == chosen["p"]
    assert trainer.model.smoothing == chosen["smoothing"]
    assert plain_optimizer(trainer).param_groups[0]["weight_decay"] == chosen["weight_decay"]


def one_group(model: Any) -> Any:
    from torch.optim import AdamW

    return AdamW(model.parameters(), lr=0.03)


def test_a_second_training_does_not_inherit_the_scale(kit: Any, tmp_path: Path) -> None:
    callback = adapt(initial={"lr": 0.1}, dry_run=True)  # a factor that is in force to the end
    trainer = kit.train(tmp_path, callback)
    assert not plain_optimizer(trainer)._optimizer_step_pre_hooks
    trainer.train()
    rates = [logs["learning_rate"] for logs in trainer.state.log_history if "loss" in logs]
    assert max(rates) > 0.03  # adapted again, from the schedule's own rate and with one factor
    assert not plain_optimizer(trainer)._optimizer_step_pre_hooks


BINDINGS: dict[str, Any] = {
    "a factor on the schedule": lambda trainer: schedule_scale(trainer.optimizer),
    "decay of the first group": lambda trainer: optimizer_param(
        trainer.optimizer, "weight_decay", groups=[0]
    ),
}


@pytest.mark.parametrize("name", BINDINGS)
def test_a_function_that_binds_is_given_the_optimiser_itself(
    name: str, kit: Any, tmp_path: Path
) -> None:
    run = Adapt(
        {"value": [0.0, 0.5, 1.0]}, bind={"value": BINDINGS[name]}, minimize="eval_loss",
        adapt_every=2, try_for=1,
    )  # fmt: skip
    trainer = kit.train(tmp_path, run, num_train_epochs=2, weight_decay=0.5)
    assert len({each.score for each in run.history[0].tries}) == 3
    assert isinstance(trainer.optimizer, AcceleratedOptimizer)
