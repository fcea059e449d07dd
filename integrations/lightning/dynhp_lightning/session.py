"""One fit that is adapted: passes through Lightning's own loop, some of them tries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from lightning.pytorch import Callback

from dynhp.criteria.contract import metrics_of
from dynhp.errors import DynhpError, SettingsError
from dynhp.loops import Binding, Epoch, Loop, LoopDriver, Move
from dynhp_lightning.effects import Effects, HeldBack
from dynhp_lightning.resuming import FitPosition
from dynhp_lightning.state import loops_of

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
        make: Callable[[FitSession, int], tuple[Loop, Mapping[str, Binding]]],
    ) -> None:
        self.trainer = trainer
        self.run: LoopDriver | None = None
        self.saved: dict[str, Any] | None = None  # what a checkpoint had, until it is used
        self.stop_wanted = False
        self._owner = owner
        self._make = make
        self._first = 0  # the epoch at which adaptation began
        self._done = 0  # epochs that the loop counts as done when a fit is resumed
        self._position = FitPosition(trainer)
        self._held = HeldBack(trainer)
        self._effects: dict[int, tuple[Epoch, Effects]] = {}
        self._epoch: Epoch | None = None  # None where a pass is not counted
        self._error: Exception | None = None
        self._before: dict[str, Any] = {}  # metrics before the epoch
        self._resumed_metrics: dict[str, float] = {}
        self._passes = 0
        loop: Any = trainer.fit_loop
        wrapped = (self._on_start, self._on_advance, self._on_end)
        for name, step in zip(_STEPS, wrapped, strict=True):
            setattr(loop, name, functools.partial(step, getattr(loop, name)))

    def remove(self) -> None:
        """Give the fit loop its own steps back."""
        for name in _STEPS:
            vars(self.trainer.fit_loop).pop(name, None)
        self._position.remove()

    def close(self) -> None:
        """End the run: a try is undone, the main line stays as it is."""
        self._held.stop()
        self._epoch = None
        if self.run is not None:
            self.run.close()

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
        self._before = dict(self.trainer.callback_metrics)
        if self._epoch.main:
            self._effects.clear()  # of the tries of a dry run, none of which was kept
        else:
            self._effects[id(self._epoch)] = (self._epoch, self._held.start())
        self._guarded(step)

    def _on_advance(self, step: Callable[[], None]) -> None:
        if self.run is None:
            return step()
        self._position.renew_iterator(first=self._passes == 0)
        self._passes += 1
        self._guarded(step)

    def _on_end(self, step: Callable[[], None]) -> None:
        if self.run is None or self._epoch is None:
            return step()
        self._guarded(step)
        epoch, self._epoch = self._epoch, None
        self._held.stop()
        if self._error is None:
            move = self.run.end_epoch(self._metrics(epoch))
        else:
            self._clear_results()
            error, self._error = self._error, None
            move = self.run.fail_epoch(error)
        self._resumed_metrics = {}
        self._after(epoch, move)

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
            self._error = error

    def _after(self, epoch: Epoch, move: Move) -> None:
        assert self.run is not None
        if self.run.kept:
            self._write(self.run.kept)
        if epoch.trying and not self.run.kept:
            # Who stops in a try is heard once the try is kept; the state has both flags.
            self.stop_wanted = self.trainer.should_stop or self.stop_wanted
            self.trainer.should_stop = False
        elif self.stop_wanted:
            self.trainer.should_stop, self.stop_wanted = True, False
        if move is Move.RESTORED:
            self._held.new_try()

    def _clear_results(self) -> None:
        """After an error in the middle of an epoch, drop what was being averaged over it."""
        for loop in loops_of(self.trainer.fit_loop):
            results = vars(loop).get("_results")
            if results is not None:
                results.reset()

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

    # Metrics.

    def _metrics(self, epoch: Epoch) -> Mapping[str, float] | None:
        """What was logged in this epoch; older values of the trainer do not count."""
        assert self.run is not None
        fresh = self._fresh_metrics()
        wanted = metrics_of(self.run.loop.adapter.criterion) or ()
        missing = [name for name in wanted if name not in fresh]
        if epoch.trying and (missing or not fresh):
            raise SettingsError(
                f"Adapt: every epoch of a try needs {', '.join(missing) or 'a metric'}, but epoch "
                f"{self._first + int(epoch)} logged {', '.join(fresh) or 'nothing'}; log it with "
                "self.log(...) in every epoch, and validate in every one: check_val_every_n_epoch=1"
            )
        return fresh or None

    def _fresh_metrics(self) -> dict[str, float]:
        logged, before = self.trainer.callback_metrics, self._before
        fresh = {name: float(it) for name, it in logged.items() if it is not before.get(name)}
        return {**self._resumed_metrics, **fresh}

    # Checkpoints.

    def _begin(self) -> None:
        saved, self.saved = self.saved, None
        self._first = self._position.epoch if saved is None else saved["first"]
        loop, bound = self._make(self, self._first)
        self.run = LoopDriver(loop)
        if saved is None:
            return
        self.run.load_state_dict(saved["loop"])
        self._position.take_back(saved)
        self._done, metrics = saved["done"], saved["metrics"]
        if self._position.epoch == self._done:  # the checkpoint was made in the middle of it
            self._resumed_metrics = metrics
        measured = {name: torch.tensor(value) for name, value in metrics.items()}
        self.trainer.callback_metrics.update(measured)  # Lightning would have forgotten them
        for name, binding in bound.items():
            binding.set(saved["values"][name])
        while self._position.epoch > self._done:  # Lightning counts what has ended as done
            self.run.begin_epoch()
            self.run.end_epoch(metrics or None)
            self._done += 1

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs to go on from here."""
        if self.run is None:
            return self.saved or {}
        metrics = {} if self._epoch is None else self._fresh_metrics()
        entry = {"first": self._first, "metrics": metrics, **self._position.saved()}
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
