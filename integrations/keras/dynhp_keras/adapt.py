"""The callback that adapts hyperparameters inside ``model.fit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dynhp
from dynhp.errors import LoopError, SettingsError
from dynhp.loops import Binding, CallbackSettings, Loop, LoopDriver, LoopOptions, Move, Part
from dynhp.loops.parts import part_of
from dynhp.records import History
from dynhp.spaces import SpaceLike
from dynhp.tails.averaging import Averaged
from dynhp_keras.averaging import FitAverage
from dynhp_keras.bindings import GuardedBinding, bound_settings
from dynhp_keras.fit_call import FirstEpoch, FitCall, data_parts, fit_call, require_known
from dynhp_keras.forwarding import Forwarding
from dynhp_keras.saving import FitFile
from dynhp_keras.schedule import Schedule, fit_schedule, is_rate, require_schedule
from dynhp_keras.stage import MainLineStage, split_callbacks
from dynhp_keras.state import (
    callback_part,
    generator_parts,
    guard_shared,
    guarded,
    model_part,
    require_built,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Adapt"]

# ``fit`` owns its loop, and no callback can call its body again. But it reads its first epoch from
# ``model._initial_epoch`` after ``on_train_begin``, because ``BackupAndRestore`` needs that. So it
# is made to begin so far below zero: it goes through its own body, on any backend, as often as we
# need, and ``model.stop_training`` ends it. The other seams were worse: calling the train function
# from a hook repeats what fit does around it (validation, modes, the state of JAX), and calling
# ``fit`` from a hook makes new iterators over the data and a new History.
_ENOUGH = 10**9


class Adapt(Forwarding):
    """Adapt hyperparameters in ``model.fit``: all other callbacks see the main line and no try.

    Each pass, of a try or of the main line, is one epoch of Keras's own ``fit``; the state is put
    back between them. The other callbacks are called from here, with the numbers and in the order
    of the main line; a try that is kept is told to them when it has been chosen.

    Args:
        space: the hyperparameters and their values; names of settings of the optimiser, such as
            ``"learning_rate"``, bind themselves. It is left out where a ``policy`` has it.
        bind: where other values live, such as ``{"rate": attribute(layer, "rate")}``.
        state: what decides the future and Keras does not know, such as the generator of a dataset.
        acting: callbacks of the same fit that take part in training (set a rate, mask weights), so
            that they act in tries too. Keras's own are known.
        schedule: a function of the progress (0 to 1), as ``dynhp.tails.wsd``: what the batches of
            the main line multiply the rate with. The value that is adapted is its height.
        checkpoint: a file; the same fit in a new process goes on from its last epoch, to the bit.
        options: all others as in ``dynhp.adapt``: a ``policy`` or its fields, such as ``minimize``,
            ``adapt_every`` and ``try_for``; ``keep_best``, ``callbacks`` (of dynhp), ``progress``.

    >>> import keras, numpy as np
    >>> x = np.linspace(-1, 1, 32, dtype="float32").reshape(-1, 1)
    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.01), "mse")
    >>> adapt = Adapt({"learning_rate": [0.01, 0.1]}, minimize="val_loss", adapt_every=2, try_for=1)
    >>> history = model.fit(x, 3 * x, epochs=4, verbose=0, callbacks=[adapt],
    ...                     validation_data=(x, 3 * x))
    >>> [round_.candidate["learning_rate"] for round_ in adapt.history], history.epoch
    ([0.1, 0.1], [0, 1, 2, 3])
    """

    def __init__(
        self,
        space: SpaceLike | None = None,
        *,
        bind: Mapping[str, Binding] | None = None,
        state: Sequence[Any] = (),
        acting: Sequence[Any] = (),
        schedule: Schedule | None = None,
        checkpoint: str | Path | None = None,
        **options: Unpack[LoopOptions],
    ) -> None:
        super().__init__()
        self._settings = CallbackSettings({"space": space, **options}, way_out="leave it out")
        require_schedule(schedule)
        self._schedule = schedule
        self._bind, self._state, self._acting = bind, list(state), list(acting)
        self._file = None if checkpoint is None else FitFile(checkpoint)
        policy = self._settings.policy
        every = policy.adapt_every
        if checkpoint is not None and every is not None and policy.try_for >= every:
            raise SettingsError(
                "checkpoint= saves on the main line between tries, but with "
                f"adapt_every={every} and try_for={policy.try_for} all epochs are tries; make "
                "adapt_every larger"
            )
        self._check = policy.check != "off"
        self.loop: Loop | None = None
        self._run: LoopDriver | None = None
        self._armed = False

    @property
    def history(self) -> History:
        """The rounds of the last fit."""
        if self.loop is None:
            raise LoopError("there is no history before model.fit(callbacks=[...]) has begun")
        return self.loop.history

    def close(self) -> None:
        """After a fit that was interrupted: undo the try that was under way."""
        self._take_off_average()
        self._take_off_schedule()
        if self._run is not None:
            self._end_run()

    def deliver(self) -> None:
        """Make the model that of the best epoch (``keep_best=True``), with its averaged weights.

        A fit with ``ending="average"`` has delivered those of its last epoch when it ends.
        """
        if self.loop is None:
            raise LoopError("there is nothing to deliver before model.fit(callbacks=[...])")
        self.loop.deliver()

    def _guarded(self, binding: Binding) -> GuardedBinding:
        scheduled = self._scheduled is not None and is_rate(binding, self.model.optimizer)
        return GuardedBinding(
            binding, self._may_set, driven_by="schedule= of Adapt" if scheduled else None
        )

    def on_train_begin(self, logs: Any = None) -> None:
        """Take the place of all callbacks, and let fit begin far below zero."""
        self._take_off_average()  # where the last fit was interrupted
        self._take_off_schedule()
        call, self._stage = fit_call(self.model), None
        if call.epochs <= call.first:
            return
        require_known(call, Adapt)
        others = [each for each in call.callbacks.callbacks if each is not self]
        require_built(self.model)
        acting = split_callbacks(others, self._acting, list(self._settings.policy.space))
        data = data_parts(call)
        own = (model_part(self.model), *generator_parts(), *data)
        own = (*own, callback_part(acting)) if acting else own
        self._average = self._average_for(call, data)
        own = own if self._average is None else (*own, self._average.part())
        parts = [guarded(part, self._may_set) for part in (*own, *map(part_of, self._state))]
        bound = bound_settings(self._settings.policy.space, self._bind, self.model)
        self._scheduled = fit_schedule(self._schedule, bound, self.model, call)
        bind = {name: self._guarded(each) for name, each in bound.items()}
        epochs = call.epochs - call.first
        self.loop = self._settings.loop(dynhp.adapt, epochs, state=parts, bind=bind)
        guard_shared(self.loop.parts, self._may_set)
        self._run = LoopDriver(self.loop, steps=self._moments(call))
        self._call, self._list = call, call.callbacks.callbacks
        self._stage = MainLineStage(others, acting, self.model, average=self._average)
        self._logs: Any = {}
        self._replayed = self._stopped = False
        start = call.epochs - _ENOUGH
        if self._file is not None and self._file.exists:
            self._armed = True
            done = self._file.load(self._run, call.first)
            self._armed = False
            start = call.epochs if done == len(self.loop) else start
        # A new list: the loop over the old one goes on to call on_train_begin of the others.
        call.callbacks.callbacks = [self]
        self._start: int | None = start
        self._began_at = self.model._initial_epoch
        self.model._initial_epoch = FirstEpoch(start, call.callbacks)

    def _average_for(self, call: FitCall, data: Sequence[Part]) -> FitAverage | None:
        """The average that the fit ends by, if the policy says so."""
        course = self._settings.policy.course
        if not isinstance(course, Averaged):
            return None
        data = (*data, *map(part_of, self._state))  # what draws batches may be among these
        adapter = call.iterator.data_adapter
        return FitAverage(self.model, course.share, adapter=adapter, data=data)

    def _moments(self, call: FitCall) -> int:
        """How often in an epoch the policy may move its values: with every batch, if it can."""
        assert self.loop is not None
        if self._scheduled is not None and self.loop.adapter.policy.course is not None:
            return 1  # schedule= drives the rate within an epoch, and the policy something else
        return call.iterator.num_batches or 1  # it may not be known

    def _may_set(self) -> bool:
        """Whether the state may be put back now: in our hooks, and when no fit is under way."""
        return self._armed or self._run is None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin the next pass, with its number on the main line."""
        run = self._required()
        if self._start is not None:
            self._require_start(epoch)
        self._armed = True
        now = run.begin_epoch()
        self._armed = False
        assert self._stage is not None
        self._stage.begin(now)
        self._averaging = not now.tail
        if self._scheduled is not None:
            self._scheduled.begin(now)
        self._say("on_epoch_begin", self._number(int(now)), logs)

    def _require_start(self, epoch: int) -> None:
        self.model._initial_epoch = self._began_at  # fit has read it, and another fit must not
        start, self._start = self._start, None
        if epoch != start:
            raise SettingsError(
                "another callback changed the first epoch after Adapt; list BackupAndRestore "
                "before Adapt"
            )

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A batch begins: a schedule or a tail of the policy moves the values to it."""
        run, at_once = self._required(), self._call.iterator.steps_per_execution
        middle = batch + (at_once - 1) // 2  # of the batches that are trained at once
        if run.moves(middle):
            # On JAX the variables are empty between batches, until the state is asked for.
            getattr(self.model, "jax_state_sync", int)()
            self._armed = True
            try:
                run.move(middle)
            finally:
                self._armed = False
        super().on_train_batch_begin(batch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """End the pass: tries are undone here, and what is kept is said to the others."""
        run = self._required()
        now = run.epoch
        assert now is not None
        assert self._stage is not None
        self._take_off_schedule()
        self._take_off_average()
        self._say("on_epoch_end", self._number(int(now)), dict(logs or {}))
        run.report(_numbers(logs))
        if now.main and self._file is not None:
            self._file.save(run, self._call.first)
        if now.main:
            self._logs = dict(logs or {})
            if self.model.stop_training:
                self._end_run()
                return
        self.model.stop_training = False  # a try ends nothing but itself
        adapter = run.loop.adapter
        several = now.trying and not now.tail and adapter.policy.try_epochs(adapter.epochs) > 1
        if several and self._stage.records_anything:
            self._stage.note_state(run.loop.parts.get_state())
        self._armed = True
        try:
            move = run.end_epoch()
            stopped = self._replay(run) if run.kept else False
            if move is Move.STOP and not stopped:
                self._stopped = self.model.stop_training = True
                self._run = None
        finally:
            self._armed = False

    def _replay(self, run: LoopDriver) -> bool:
        parts = run.loop.parts
        check, self._replayed = self._check and not self._replayed, True
        assert self._stage is not None
        stopped, self._logs = self._stage.replay(
            run.kept, get_state=parts.get_state, set_state=parts.set_state, check=check
        )
        if stopped is None:
            return False
        state = parts.get_state()
        self._end_run()
        parts.set_state(state)  # where the next round had begun, leaving it put its origin back
        return True

    def _end_run(self) -> None:
        run, self._run = self._run, None
        assert run is not None
        run.close()

    def _number(self, epoch: int) -> int:
        return self._call.first + epoch

    def _required(self) -> LoopDriver:
        assert self._run is not None, "a pass without on_train_begin"
        return self._run

    def on_train_end(self, logs: Any = None) -> None:
        """Give the list of callbacks back, and say the end to all."""
        if self._stage is None:  # no epoch was asked for
            return
        self.model._initial_epoch = self._began_at
        self._call.callbacks.callbacks = self._list
        if self._stopped:
            self.model.stop_training = False
        stage, self._stage = self._stage, None
        if self._average is not None:
            self._average.deliver()
        for each in stage.callbacks:
            each.on_train_end(self._logs)


def _numbers(logs: Any) -> dict[str, float]:
    return {name: value for name, value in (logs or {}).items() if isinstance(value, int | float)}
