"""The other callbacks of a fit: which see every pass, and which the main line alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras

from dynhp.errors import NotRepeatable, SettingsError, shown
from dynhp.loops import Epoch
from dynhp.selfcheck.fingerprint import fingerprint
from dynhp_keras.averaging import FitAverage

__all__ = ["MainLineStage", "split_callbacks"]

_ACTING = (
    keras.callbacks.LearningRateScheduler,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.SwapEMAWeights,
)
_SETS_THE_RATE = (keras.callbacks.LearningRateScheduler, keras.callbacks.ReduceLROnPlateau)


@dataclass(slots=True, eq=False)
class PassEvent:
    """One hook of a pass: its arguments as they were given, and what acting callbacks put in."""

    hook: str
    args: tuple[Any, ...]
    written: dict[int, dict[str, Any]] = field(default_factory=dict)  # by the callback's id


@dataclass(slots=True, eq=False)
class PassRecord:
    """What one pass of a try would have said to the callbacks, and the state after it."""

    events: list[PassEvent] = field(default_factory=list)
    state: Any = None


class MainLineStage:
    """Calls the other callbacks in their order, as if there were the main line and nothing else.

    Those that take part in training (``acting``) are called in tries too, and what they remember is
    part of the state. The others get the passes of a try when it has become part of the main line.
    At the end of an epoch they see the averaged weights, where these are the model.
    """

    def __init__(
        self,
        callbacks: Sequence[Any],
        acting: Sequence[Any],
        model: Any,
        *,
        average: FitAverage | None = None,
    ) -> None:
        self.callbacks = list(callbacks)
        self._average = average
        self._acting = {id(each) for each in acting}
        self._model = model
        self._records: dict[int, PassRecord] = {}
        self._passes: list[Epoch] = []  # held, so that no other pass gets the id of one of these
        self._now: PassRecord | None = None

    def begin(self, epoch: Epoch) -> None:
        """A pass begins; what follows belongs to it."""
        self._now = None
        if epoch.trying:
            self._now = self._records[id(epoch)] = PassRecord()
            self._passes.append(epoch)

    def call(self, hook: str, *args: Any) -> None:
        """Something happens in the pass that is under way."""
        if self._now is None:
            for each in self.callbacks:
                self._tell(each, hook, args)
            self._has_told(hook)
            return
        event = PassEvent(hook, _own(args))
        for each in self.callbacks:
            if id(each) in self._acting:
                before = _logs_of(_own(args))
                getattr(each, hook)(*args)
                event.written[id(each)] = _changes(before, _logs_of(args))
        self._now.events.append(event)

    def note_state(self, state: Any) -> None:
        """The state after an epoch of a try, for callbacks that look at the model."""
        if self._now is not None:
            self._now.state = state

    @property
    def records_anything(self) -> bool:
        """Whether there are callbacks that do not take part in training."""
        return any(id(each) not in self._acting for each in self.callbacks)

    def replay(
        self,
        kept: Sequence[Epoch],
        *,
        get_state: Callable[[], Any],
        set_state: Callable[[Any], None],
        check: bool,
    ) -> tuple[int | None, dict[str, Any] | None]:
        """Say what the kept try did; gives the epoch that a callback stopped at, and the last logs.

        A callback sees the model as it was after each of the epochs. Where one stops the training
        in the middle of a try, the state stays as it was after that epoch.
        """
        now, logs = get_state(), None
        for epoch in kept:
            record = self._records[id(epoch)]
            last = epoch is kept[-1]
            if len(kept) > 1:
                set_state(now if last else record.state)
            before = fingerprint(get_state()) if check and last else None
            end = next(each for each in record.events if each.hook == "on_epoch_end")
            logs = dict(end.args[1])  # as fit has them: callbacks write into a copy
            self._say(record)
            if self._model.stop_training:  # some put the best weights back when they stop
                self.clear()
                return int(epoch), logs
            if before is not None and (changed := before.difference(fingerprint(get_state()))):
                raise NotRepeatable(self._message(changed))
        self.clear()
        return None, logs

    def _say(self, record: PassRecord) -> None:
        for event in record.events:
            for each in self.callbacks:
                if id(each) not in self._acting:
                    self._tell(each, event.hook, event.args)
                elif changes := event.written[id(each)]:  # those listed before it saw none of it
                    _logs_of(event.args).update(changes)
            self._has_told(event.hook)

    def _tell(self, callback: Any, hook: str, args: tuple[Any, ...]) -> None:
        """Call a hook; the averaged weights are for those that only look on."""
        if self._average is not None and hook == "on_epoch_end":
            if id(callback) in self._acting:
                self._average.take_off()
            else:
                self._average.put_on()
        getattr(callback, hook)(*args)

    def _has_told(self, hook: str) -> None:
        if self._average is not None and hook == "on_epoch_end":
            self._average.take_off()

    def _message(self, changed: str) -> str:
        own = [type(each).__name__ for each in self.callbacks if id(each) not in self._acting]
        suspects = [name for name in own if not hasattr(keras.callbacks, name)] or own
        return (
            f"one of the callbacks {', '.join(suspects)} changes what is trained ({changed}). "
            "Tries are hidden from callbacks, so the main line would be trained otherwise than the "
            "tries it is chosen by; say Adapt(..., acting=[callback]) of the one that takes part, "
            "so that it acts in tries too"
        )

    def clear(self) -> None:
        """The round is over: what is not kept is forgotten."""
        self._records.clear()
        self._passes.clear()


def _own(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict(each) if isinstance(each, dict) else each for each in args)


def _logs_of(args: tuple[Any, ...]) -> dict[str, Any]:
    """The logs that a hook was given, always its last argument; empty where there are none."""
    return args[-1] if isinstance(args[-1], dict) else {}


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: it for name, it in after.items() if name not in before or before[name] is not it}


def split_callbacks(
    callbacks: Sequence[Any], acting: Sequence[Any], adapted: Sequence[str]
) -> list[Any]:
    """Those of the list that take part in training; one that sets an adapted value is refused."""
    for each in acting:
        if not any(each is other for other in callbacks):
            raise SettingsError(
                f"acting names {shown(each)}, which is not among the callbacks of this fit; list "
                "it in model.fit(callbacks=[...]) too"
            )
    for each in callbacks:
        if isinstance(each, _SETS_THE_RATE) and "learning_rate" in adapted:
            raise SettingsError(
                f"{type(each).__name__} and Adapt both set the learning rate; take one of them "
                "out: Adapt(..., schedule=wsd) multiplies the rate by a function of the progress"
            )
    return [
        each
        for each in callbacks
        if isinstance(each, _ACTING) or any(each is other for other in acting)
    ]
