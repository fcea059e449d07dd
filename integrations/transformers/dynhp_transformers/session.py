"""One training that is adapted: passes through the trainer's own epochs, some of them tries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from dynhp.criteria.contract import metrics_of
from dynhp.errors import DynhpError, SettingsError
from dynhp.loops import Binding, Epoch, Loop, LoopDriver, Move
from dynhp_torch import remove_scale
from dynhp_torch.callbacks import require_metrics
from dynhp_torch.ending import AverageEnding
from dynhp_torch.settings.reading import show_scale, true_rates
from dynhp_torch.settings.scale import scales_on
from dynhp_transformers.averaging import AVERAGE
from dynhp_transformers.effects import FILE, HeldReports
from dynhp_transformers.requirements import how_to_measure
from dynhp_transformers.state import plain_optimizer, plain_scheduler

__all__ = ["TrainSession"]

_BY_THE_CLOCK = ("_runtime", "_per_second", "_time")
_METHODS = ("_run_epoch", "_save_checkpoint", "_get_learning_rate", "evaluate")


class TrainSession:
    """Wraps the method that runs one epoch of a trainer.

    The loop over epochs is a ``for`` in the middle of a long method, and no hook can take it back.
    But it calls ``_run_epoch`` with the number of the epoch and everything else it needs, so one
    call may run several passes, of tries and of the main line, each with its own number; an epoch
    that a kept try has trained already is passed over when its turn comes. The number of epochs,
    and with it the schedule, stays what it is.
    """

    def __init__(
        self,
        trainer: Any,
        owner: Any,
        make: Callable[[TrainSession, Any], tuple[Loop, Mapping[str, Binding]]],
    ) -> None:
        self.trainer = trainer
        self.run: LoopDriver | None = None
        self.stop_wanted = False
        self.metrics: dict[str, float] = {}  # of the pass that is under way
        self._owner = owner
        self._make = make
        self.first = 0  # the epoch at which adaptation began
        self._done = 0  # the epochs of the main line that are trained
        self._epoch: Epoch | None = None
        self._first_step = 0  # of the epoch that is under way
        self._held: HeldReports | None = None
        self._tries: dict[int, tuple[Epoch, HeldReports]] = {}
        self._run_epoch, self._save = trainer._run_epoch, trainer._save_checkpoint
        self._scheduled_rate, self._evaluate = trainer._get_learning_rate, trainer.evaluate
        self.ending: AverageEnding | None = None  # averaged weights, if the training ends by them
        handler = trainer.callback_handler
        self._begin_event = handler.on_epoch_begin
        ours = (self._passes, self._save_checkpoint, self._rate_in_force, self._evaluate_average)
        vars(trainer).update(zip(_METHODS, ours, strict=True))
        # The event is sent at the start of every pass, which is not where the trainer sends it.
        vars(handler)["on_epoch_begin"] = lambda args, state, control: control

    @property
    def trying(self) -> bool:
        """Whether a try is under way."""
        return self._epoch is not None and self._epoch.trying

    def close(self) -> None:
        """End the run, and give the trainer its own methods back."""
        self._release()
        if self.run is not None:
            self.run.close()
        if self.run is not None:  # the trainer keeps its optimiser for the next train()
            remove_scale(plain_optimizer(self.trainer))
        for name in _METHODS:
            vars(self.trainer).pop(name, None)
        vars(self.trainer.callback_handler).pop("on_epoch_begin", None)

    def saw(self, metrics: Mapping[str, Any]) -> None:
        """Take what was logged or evaluated; what goes by the clock is no metric."""
        for name, value in metrics.items():
            if isinstance(value, int | float) and not name.endswith(_BY_THE_CLOCK):
                self.metrics[name] = float(value)

    def on_step(self) -> None:
        """A step of the optimiser begins."""
        if self.run is not None and self._epoch is not None:
            self.run.move(self.trainer.state.global_step - self._first_step)

    def _rate_in_force(self) -> float:
        """The rate that the trainer logs: what steps are made with, not the schedule's own."""
        with true_rates([plain_optimizer(self.trainer)]):
            return self._scheduled_rate()  # type: ignore[no-any-return]

    # Averaged weights.

    def _evaluate_average(self, *args: Any, **options: Any) -> Any:
        """Evaluate the averaged weights; in a tail, an ending itself, those of the try."""
        if self.ending is None or (self._epoch is not None and self._epoch.tail):
            return self._evaluate(*args, **options)
        with self.ending.as_model():
            return self._evaluate(*args, **options)

    def deliver(self) -> None:
        """The training is over: its model is the average."""
        if self.ending is not None:
            self.ending.deliver()

    # Passes.

    def _passes(self, **call: Any) -> None:
        """In place of one epoch: nothing, or all passes until the main line has trained it."""
        try:
            if self.run is None:
                self._begin(call)
            while self._done <= call["epoch"]:
                if self._one_pass(call) is Move.STOP or self.trainer.control.should_training_stop:
                    return self._stop()
        except BaseException:
            self.close()  # there is no hook for errors
            raise

    def _stop(self) -> None:
        """End the run now: the trainer may load its best model before it says that it is over."""
        assert self.run is not None
        self.run.close()  # where the next round had begun, that goes back to its origin
        self.trainer.control.should_training_stop = True

    def _one_pass(self, call: dict[str, Any]) -> Move:
        assert self.run is not None
        epoch = self.run.begin_epoch()
        if epoch.main:
            self._release()  # the tries of a dry run, none of which was kept
        self._epoch, self.metrics = epoch, {}
        if epoch.trying:
            if self._held is None:
                self._held = HeldReports(self.trainer)
            self._tries[id(epoch)] = (epoch, self._held)
            self._held.start()
        error = self._attempt({**call, "epoch": self.first + int(epoch)})
        self._epoch = None
        if self._held is not None:
            self._held.stop()
        if error is None:
            move = self.run.end_epoch(self._reported(epoch))
        else:
            move = self.run.fail_epoch(error)
        self._after(epoch, move)
        return move

    def _attempt(self, call: dict[str, Any]) -> Exception | None:
        """Run an epoch; in a try an error ends the try, not the training."""
        try:
            self._plain_epoch(call)
        except DynhpError:
            raise
        except Exception as error:
            if not self.trying:
                raise
            return error
        return None

    def _plain_epoch(self, call: dict[str, Any]) -> None:
        trainer = self.trainer
        self._first_step = trainer.state.global_step - _steps_done(call, trainer.args)
        trainer.control = self._begin_event(trainer.args, trainer.state, trainer.control)
        self._run_epoch(**call)

    def _after(self, epoch: Epoch, move: Move) -> None:
        assert self.run is not None
        control, kept = self.trainer.control, self.run.kept
        if kept:
            self._write(kept)
        if epoch.main:
            self._done = self.first + int(epoch) + 1
        elif kept:
            self._done = self.first + int(kept[-1]) + 1
            control.should_training_stop |= self.stop_wanted
        else:  # who stops in a try is heard once the try is kept; the state has both flags
            self.stop_wanted |= control.should_training_stop
            control.should_training_stop = False
        if move is not Move.GO_ON:
            self._held = None  # the next try, if it is one, has its own

    def _write(self, kept: tuple[Epoch, ...]) -> None:
        """Report and write what the kept try wanted to; drop the rest."""
        assert self.run is not None
        chosen = self._tries[id(kept[0])][1]
        done, state = self.first + int(kept[-1]) + 1, self.run.state_between()
        for entry in chosen.entries:
            entry |= {"loop": state, "done": done, "values": dict(kept[-1].values)}
        chosen.carry_out()
        self._release()

    def _release(self) -> None:
        for _, held in self._tries.values():
            held.stop()
            held.drop()
        self._tries.clear()
        self._held, self._epoch = None, None

    def _reported(self, epoch: Epoch) -> Mapping[str, float] | None:
        assert self.run is not None
        if epoch.trying:
            wanted = metrics_of(self.run.loop.adapter.policy.criterion) or ()
            way_out = how_to_measure(name for name in wanted if name not in self.metrics)
            number = self.first + int(epoch)
            require_metrics(wanted, self.metrics, epoch=number, way_out=way_out)
        return self.metrics or None

    # Checkpoints.

    def _begin(self, call: dict[str, Any]) -> None:
        folder, started = call["resume_from_checkpoint"], call["epochs_trained"]
        file = Path(folder or "") / FILE
        saved = json.loads(file.read_text("utf-8")) if folder and file.exists() else None
        partial = bool(folder) and call["steps_trained_in_current_epoch"] > 0
        if partial and saved is None:
            raise SettingsError(
                f"Adapt: {folder} was saved in the middle of an epoch and without Adapt, so its "
                "first epoch could not be tried; resume from the end of an epoch"
            )
        if folder and not partial:  # once, not in every try of that epoch
            self.trainer._load_rng_state(folder)
            call["resume_from_checkpoint"] = None
        self.first = self._done = started if saved is None else saved["first"]
        loop, bound = self._make(self, call["train_dataloader"])
        self.run = LoopDriver(loop, steps=call["num_update_steps_per_epoch"])
        for each in scales_on(plain_optimizer(self.trainer)):
            show_scale(each, plain_scheduler(self.trainer))
        if saved is not None:
            self.run.load_state_dict(saved["loop"])
            if self.ending is not None:
                average = torch.load(file.parent / AVERAGE, weights_only=True)
                self.ending.weights.average.load_state_dict(average)
            for name, binding in bound.items():
                binding.set(saved["values"][name])
            self._catch_up(saved, started, call)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save as the trainer does, and beside it what Adapt needs to go on."""
        trainer = self.trainer
        folder = trainer._get_output_dir(trial)

        def save() -> None:
            self._save(model, trial)
            if self.ending is not None:
                place = Path(trainer._get_output_dir(trial))
                file = place / f"checkpoint-{trainer.state.global_step}" / AVERAGE
                torch.save(self.ending.weights.average.state_dict(), file)

        entry = {"first": self.first, "metrics": dict(self.metrics)}
        if self.trying:
            assert self._held is not None
            return self._held.save(save, folder, entry)
        save()
        if self.run is None:
            return None
        epoch = self._epoch
        done = self._done if epoch is None else self.first + int(epoch)
        values = dict(self.run.loop.adapter.current if epoch is None else epoch.values)
        entry |= {"loop": self.run.state_between(), "done": done, "values": values}
        place = Path(folder) / f"checkpoint-{trainer.state.global_step}" / FILE
        place.write_text(json.dumps(entry), "utf-8")
        return None

    def _catch_up(self, saved: dict[str, Any], started: int, call: dict[str, Any]) -> None:
        """Bring the loop and the trainer to the same epoch."""
        assert self.run is not None
        self._done = saved["done"]
        self.run.require_end_of_try(started, self._done)
        while self._done < started:  # saved at the end of an epoch, which the loop had not left
            self.run.begin_epoch()
            self.run.end_epoch(saved["metrics"] or None)
            self._done += 1
        for number in range(started, self._done):  # saved in a try that was kept, before its end
            self._plain_epoch({**call, "epoch": number})


def _steps_done(call: Mapping[str, Any], args: Any) -> int:
    """The steps that an epoch had before a checkpoint that was made in the middle of it."""
    if call["resume_from_checkpoint"] is None or call["epoch"] != call["epochs_trained"]:
        return 0
    return int(call["steps_trained_in_current_epoch"] // args.gradient_accumulation_steps)
