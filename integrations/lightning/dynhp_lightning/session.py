"""One fit that is adapted: passes through Lightning's own loop, some of them tries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import torch
from lightning.pytorch import Callback

from dynhp.errors import DynhpError
from dynhp.loops import Binding, Epoch, Loop, LoopDriver, Move
from dynhp_lightning.effects import Effects, HeldBack
from dynhp_lightning.metrics import FreshMetrics
from dynhp_lightning.monitors import RateMonitors
from dynhp_lightning.requirements import step_of_batch, steps_per_epoch
from dynhp_lightning.resuming import EndedFit, FitPosition
from dynhp_torch import remove_scale
from dynhp_torch.ending import AverageEnding

__all__ = ["FitSession"]

_STEPS = ("on_advance_start", "advance", "on_advance_end")


class FitSession:
    """Wraps the three steps that ``trainer.fit_loop`` makes in every epoch.

    Hooks of callbacks alone would not do: after the last of them Lightning still steps schedulers
    that watch a metric, logs, and counts the epoch, and it asks whether to stop before the next
    hook comes. So a state is put back right after ``on_advance_end``, the last thing of an epoch,
    where the loop's own ``while not done`` sees the counters of the main line. ``fit_loop`` is
    public, and its steps have had these names since Lightning 1.5.
    """

    def __init__(
        self,
        trainer: Any,
        owner: Callback,
        make: Callable[[FitSession, int, Mapping[str, Any]], tuple[Loop, Mapping[str, Binding]]],
        earlier: EndedFit | None = None,
    ) -> None:
        self.trainer = trainer
        self.run: LoopDriver | None = None
        self.saved: dict[str, Any] | None = None  # what a checkpoint had, until it is used
        self.stop_wanted = False
        self._owner = owner
        self._make = make
        self._earlier = earlier
        self._first = 0  # the epoch at which adaptation began
        self._done = 0  # epochs that the loop counts as done when a fit is resumed
        self._position = FitPosition(trainer)
        self._held = HeldBack(trainer)
        self._monitors = RateMonitors(trainer)
        self._effects: dict[int, tuple[Epoch, Effects]] = {}
        self._epoch: Epoch | None = None  # None where a pass is not counted
        self._error: Exception | None = None
        self._metrics = FreshMetrics(trainer)
        self.ending: AverageEnding | None = None  # averaged weights, if the fit ends by them
        self._averaged = ExitStack()  # while the module has the averaged weights
        self._passes = 0
        self._steps = 1  # of the optimiser, in an epoch
        self._bound: Mapping[str, Binding] = {}
        self._module: Any = None
        loop: Any = trainer.fit_loop
        wrapped = (self._on_start, self._on_advance, self._on_end)
        for name, step in zip(_STEPS, wrapped, strict=True):
            setattr(loop, name, functools.partial(step, getattr(loop, name)))
        batches = loop.epoch_loop
        batches.advance = functools.partial(self._on_batch, batches.advance)

    def remove(self) -> None:
        """Give the fit loop its own steps back."""
        for name in _STEPS:
            vars(self.trainer.fit_loop).pop(name, None)
        vars(self.trainer.fit_loop.epoch_loop).pop("advance", None)
        self._position.remove()

    def close(self) -> None:
        """End the run: a try is undone, the main line stays as it is."""
        self._held.stop()
        self._epoch = None
        if self.run is not None:
            self.run.close()
            for optimizer in self.trainer.optimizers:  # the module may keep it for the next fit
                remove_scale(optimizer)
        self._monitors.remove()

    @property
    def ended(self) -> EndedFit | None:
        """Where this fit has left the main line, for another fit of the same trainer."""
        if self.run is None:  # it had no epoch to train
            return self._earlier
        loop = self.run.loop
        return EndedFit(
            trainer=self.trainer,
            module=self._module,
            first=self._first,
            done=self._first + loop.history.epochs,
            values=dict(loop.adapter.current),
            state=loop.state_dict(),
        )

    @property
    def trying(self) -> bool:
        """Whether a try is under way."""
        return self._epoch is not None and self._epoch.trying

    # The three steps of an epoch.

    def _on_start(self, step: Callable[[], None]) -> None:
        if self._owner not in self.trainer.callbacks:  # a fit inside this one, as of lr_find
            return step()
        if self.run is None:
            self._begin()
        if self._position.epoch < self._done:  # in a checkpoint of a try that was kept
            return step()
        assert self.run is not None
        self._epoch = self.run.begin_epoch()
        self._metrics.begin(self.run.loop.adapter.policy.criterion)
        if self._epoch.main:
            self._effects.clear()  # of the tries of a dry run, none of which was kept
        else:
            self._effects[id(self._epoch)] = (self._epoch, self._held.start())
            self._put_off_a_stop()
        self._guarded(step)

    def _on_advance(self, step: Callable[[], None]) -> None:
        if self.run is None:
            return step()
        self._position.renew_iterator(first=self._passes == 0)
        self._passes += 1
        self._guarded(step)

    def _on_batch(self, advance: Callable[..., None], *args: Any) -> None:
        """Values move before anything sees the batch: monitors of rates are callbacks too."""
        if self.run is not None and self._epoch is not None:
            batch = self.trainer.fit_loop.epoch_loop.batch_progress.current.ready
            self.run.move(step_of_batch(self.trainer, batch, self._steps))
        before = self.trainer.global_step
        advance(*args)
        if self.ending is not None and self.trainer.global_step > before:
            self.ending.weights.update()

    def _on_end(self, step: Callable[[], None]) -> None:
        if self.run is None or self._epoch is None:
            return step()
        self._guarded(step)
        epoch, self._epoch = self._epoch, None
        self._held.stop()
        if epoch.trying:
            self._put_off_a_stop()
        if self._error is None:
            move = self.run.end_epoch(self._metrics.required(epoch, self._first))
        else:
            self._metrics.drop()
            error, self._error = self._error, None
            move = self.run.fail_epoch(error)
        self._metrics.resumed = {}
        self._after(epoch, move)
        if self.trainer.should_stop and self.trainer.fit_loop.done:
            # Now, before other callbacks hear of the end: where the next round had begun, closing
            # goes back to its origin, and averaged weights may come in their on_train_end.
            self.run.close()
            self.trainer.should_stop = True

    def _guarded(self, step: Callable[[], None]) -> None:
        """Carry out a step; in a try an error ends the try, not the fit."""
        if self._error is not None:
            return
        if not self.trying:
            return step()
        try:
            step()
        except (DynhpError, StopIteration):
            raise
        except Exception as error:
            self.end_scoring()
            self._error = error

    # Averaged weights.

    def begin_scoring(self) -> None:
        """Validate the averaged weights; in a tail, which is an ending itself, those of the try."""
        in_tail = self._epoch is not None and self._epoch.tail
        if self.ending is not None and not in_tail:
            self._averaged.enter_context(self.ending.as_model())

    def end_scoring(self) -> None:
        """Training goes on with its own weights."""
        self._averaged.close()

    def deliver(self) -> None:
        """The fit is over: its model is the average."""
        ending, self.ending = self.ending, None
        if ending is not None:
            ending.deliver()

    def put_average(self, checkpoint: dict[str, Any]) -> None:
        """Let a checkpoint have the weights that were scored, and its own beside them."""
        if self.ending is None or not self.ending.weights.begun:
            return
        entry = checkpoint["callbacks"][self._owner.state_key]
        entry["own"] = checkpoint["state_dict"]
        with self.ending.as_model():
            checkpoint["state_dict"] = {
                name: value.clone() if isinstance(value, torch.Tensor) else value
                for name, value in self.trainer.lightning_module.state_dict().items()
            }

    def _take_back_average(self, saved: dict[str, Any]) -> None:
        if self.ending is not None and "own" in saved:
            self.ending.weights.average.load_state_dict(saved["average"])
            self.trainer.lightning_module.load_state_dict(saved["own"])

    def _after(self, epoch: Epoch, move: Move) -> None:
        assert self.run is not None
        if self.run.kept:
            self._write(self.run.kept)
        if self.stop_wanted and (epoch.main or self.run.kept):
            self.trainer.should_stop, self.stop_wanted = True, False
        if move is Move.RESTORED:
            self._held.new_try()

    def _put_off_a_stop(self) -> None:
        """Who stops in a try is heard once the try is kept; the state has both flags.

        The trainer's own is set before a try where it must not stop yet, as with ``min_epochs``.
        """
        self.stop_wanted = self.trainer.should_stop or self.stop_wanted
        self.trainer.should_stop = False

    def _write(self, kept: tuple[Epoch, ...]) -> None:
        """Hand to loggers and files what the kept try wanted to write; drop the rest."""
        for epoch in kept:
            _, effects = self._effects[id(epoch)]
            for checkpoint in effects.checkpoints:
                entry = checkpoint.get("callbacks", {}).get(self._owner.state_key)
                if entry is not None:  # else it has the weights only
                    entry |= self._after_try(kept[-1])
            effects.carry_out()
        self._effects.clear()

    # Checkpoints.

    def _begin(self) -> None:
        saved, self.saved = self.saved, None
        earlier, self._earlier = self._earlier, None
        if saved is not None:
            self._start(saved["first"], {})
        elif earlier is not None and earlier.ends_at(self.trainer, self._position.epoch):
            self._start(earlier.first, earlier.values)
            assert self.run is not None
            self.run.load_state_dict(earlier.state)
        else:
            self._start(self._position.epoch, {})
        if saved is not None:
            self._resume(saved)

    def _start(self, first: int, values: Mapping[str, Any]) -> None:
        """Make the loop, whose first epoch is this one of the trainer."""
        self._first, self._module = first, self.trainer.lightning_module
        loop, self._bound = self._make(self, first, values)
        self._steps = steps_per_epoch(self.trainer)
        self.run = LoopDriver(loop, steps=self._steps)
        self._monitors.show_true_rates()

    def _resume(self, saved: dict[str, Any]) -> None:
        assert self.run is not None
        self.run.load_state_dict(saved["loop"])
        self._take_back_average(saved)
        self._position.take_back(saved)
        self._done = saved["done"]
        self.run.require_end_of_try(self._position.epoch, self._done)
        metrics = saved["metrics"]
        if self._position.epoch == self._done:  # the checkpoint was made in the middle of it
            self._metrics.resumed = metrics
        measured = {name: torch.tensor(value) for name, value in metrics.items()}
        self.trainer.callback_metrics.update(measured)  # Lightning would have forgotten them
        for name, binding in self._bound.items():
            binding.set(saved["values"][name])
        while self._position.epoch > self._done:  # Lightning counts what has ended as done
            self.run.begin_epoch()
            self.run.end_epoch(metrics or None)
            self._done += 1

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs to go on from here."""
        if self.run is None:
            return self.saved or {}
        metrics = {} if self._epoch is None else self._metrics.fresh()
        entry = {"first": self._first, "metrics": metrics, **self._position.saved()}
        if self.ending is not None:
            entry["average"] = self.ending.weights.average.state_dict()
        return entry if self.trying else {**entry, **self._on_main_line()}

    def _on_main_line(self) -> dict[str, Any]:
        assert self.run is not None
        epoch, state = self._epoch, self.run.state_between()
        if epoch is None:
            values = dict(self.run.loop.adapter.current)
            return {"loop": state, "done": self._position.epoch, "values": values}
        return {"loop": state, "done": self._first + int(epoch), "values": dict(epoch.values)}

    def _after_try(self, last: Epoch) -> dict[str, Any]:
        """Where the main line goes on after a try that was kept, whose last epoch this is."""
        assert self.run is not None
        state, done = self.run.state_between(), self._first + int(last) + 1
        return {"loop": state, "done": done, "values": dict(last.values)}
