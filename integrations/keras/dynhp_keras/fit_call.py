"""What a callback must know about the ``fit`` that calls it, and which kinds cannot be adapted."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

import keras

from dynhp.errors import SettingsError, shown
from dynhp.loops import Part

__all__ = ["FirstEpoch", "FitCall", "data_parts", "fit_call", "require_known"]

_NEEDED = ("callbacks", "epochs", "initial_epoch", "epoch_iterator", "validation_freq")
_UNDOABLE = {
    "GeneratorDataAdapter": "a generator, whose place in the data cannot be put back",
    "TFDatasetAdapter": "a tf.data.Dataset, whose place in the data cannot be put back",
    "GrainDatasetAdapter": "a grain dataset, whose place in the data cannot be put back",
}
_WAY_OUT = "give arrays, a keras.utils.PyDataset or a torch DataLoader"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCall:
    """One call of ``fit``: its list of callbacks, its first and last epoch, its data."""

    callbacks: Any
    first: int
    epochs: int
    iterator: Any
    validation_freq: Any


class FirstEpoch(int):
    """Where one fit begins: true in that fit, and false in any other that may find it later.

    Keras asks ``model._initial_epoch or initial_epoch``. A fit that fails before it begins leaves
    the number in the model, and the next one must not take it.
    """

    _callbacks: Any

    def __new__(cls, start: int, callbacks: Any) -> FirstEpoch:
        """The number, for the fit that has this list of callbacks."""
        made = int.__new__(cls, start)
        made._callbacks = callbacks
        return made

    def __bool__(self) -> bool:
        return sys._getframe(1).f_locals.get("callbacks") is self._callbacks


def require_known(call: FitCall, adapt: type) -> None:
    """Refuse a fit whose epochs are not all measured, or that two callbacks would adapt."""
    if call.validation_freq != 1:
        raise SettingsError(
            f"validation_freq={shown(call.validation_freq)} leaves epochs without a validation, "
            "and every epoch of a try is judged; use validation_freq=1"
        )
    if sum(isinstance(each, adapt) for each in call.callbacks.callbacks) > 1:
        raise SettingsError("one Adapt per fit: list all hyperparameters in one space")


def fit_call(model: Any) -> FitCall:
    """Find the call of ``model.fit`` that is under way.

    Keras hands callbacks the number of epochs and nothing else: neither ``initial_epoch`` nor the
    list they are in. So the variables of the running ``fit`` are read, once, by their names, and
    where these are not there nothing is guessed.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name == "fit" and names.get("self") is model and _whole(names):
            first = getattr(model, "_initial_epoch", None) or names["initial_epoch"]
            return FitCall(
                callbacks=names["callbacks"],
                first=int(first),
                epochs=int(names["epochs"]),
                iterator=names["epoch_iterator"],
                validation_freq=names["validation_freq"],
            )
        frame = frame.f_back
    raise SettingsError(
        "Adapt belongs into model.fit(callbacks=[Adapt(...)]) of Keras 3; this call is none that "
        f"Keras {keras.version()} makes on {keras.config.backend()}, so its epochs cannot be seen"
    )


def _whole(names: Any) -> bool:
    known = all(name in names for name in _NEEDED)
    return known and isinstance(names["callbacks"], keras.callbacks.CallbackList)


def data_parts(call: FitCall) -> tuple[Part, ...]:
    """The place in the data: what Keras makes anew in each epoch needs none, others are refused."""
    adapter = call.iterator.data_adapter
    kind = type(adapter).__name__
    if call.iterator.steps_per_epoch:
        raise SettingsError(
            f"steps_per_epoch={call.iterator.steps_per_epoch} lets an epoch begin where the last "
            "one ended, a place in the data that cannot be put back; leave it out, so that an "
            "epoch is all of the data"
        )
    if kind in _UNDOABLE:
        raise SettingsError(f"the data is {_UNDOABLE[kind]}; {_WAY_OUT}")
    if kind == "PyDatasetAdapter" and adapter.enqueuer is not None:
        raise SettingsError(
            "the PyDataset reads ahead with workers, which draw random numbers of their own; make "
            "it with workers=1 and use_multiprocessing=False"
        )
    if kind == "PyDatasetAdapter" and adapter.num_batches is None:
        raise SettingsError(f"the PyDataset has no end, so an epoch has none; {_WAY_OUT}")
    if kind == "TorchDataLoaderAdapter":
        from dynhp_torch.parts import torch_part

        return (torch_part(adapter._dataloader),)
    if kind not in ("ArrayDataAdapter", "PyDatasetAdapter"):
        raise SettingsError(f"the data comes from {kind}, which is not known here; {_WAY_OUT}")
    return ()
