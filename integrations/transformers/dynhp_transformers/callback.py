"""The callback that adapts hyperparameters while a trainer of transformers trains."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

import dynhp
import dynhp_torch
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.loops import Binding, Loop, LoopOptions, Part
from dynhp.records import History
from dynhp.spaces import Space, SpaceLike
from dynhp_transformers.requirements import require_training, trainer_of
from dynhp_transformers.session import TrainSession
from dynhp_transformers.state import train_state
from dynhp_transformers.values import TrainerPlace, bindings_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Adapt"]


class Adapt(TrainerCallback):
    """Adapts hyperparameters inside ``Trainer.train``: give it to the trainer's callbacks.

    Args:
        space: the hyperparameters and their values. A name is a setting of the optimiser, such as
            ``lr`` (or ``learning_rate``) or ``weight_decay``, or an attribute of the model; others
            are said by ``bind``. The trainer always has a schedule, so ``lr`` scales all of it.
        adapt_every: the epochs of a round; in its place ``when=``, a trigger.
        try_for: the epochs of a try.
        bind: where values live, by name: a path in the model, a binding of dynhp, or a function
            that takes the trainer and gives one, called when the optimiser is there.
        options: all others as in ``dynhp.adapt``: ``minimize``, ``maximize`` or ``criterion``, of
            metrics such as ``eval_loss`` that the trainer logs in every epoch; ``proposer``,
            ``selection``, ``keep``, ``randomness``, ``initial``, ``seed``, ``callbacks`` (of
            dynhp), ``check``, ``tolerance``, ``dry_run``.

    >>> Adapt({"lr": [1e-5, 3e-5, 1e-4]}, minimize="eval_loss", adapt_every=2, try_for=1)
    Adapt({'lr': [1e-05, 3e-05, 0.0001]}, adapt_every=2, try_for=1)
    """

    def __init__(
        self,
        space: SpaceLike,
        *,
        adapt_every: int | None = None,
        try_for: int,
        bind: Mapping[str, TrainerPlace] | None = None,
        **options: Unpack[LoopOptions],
    ) -> None:
        self._space = space
        self._adapt_every = adapt_every
        self._try_for = try_for
        self._places: Mapping[str, TrainerPlace] = bind or {}
        self._options = options
        self._session: TrainSession | None = None
        self._loop: Loop | None = None
        self._require_settings()

    def __repr__(self) -> str:
        return (
            f"Adapt({self._space!r}, adapt_every={self._adapt_every!r}, try_for={self._try_for!r})"
        )

    @property
    def loop(self) -> Loop:
        """The run of the last training: its ``history`` and its ``adapter``."""
        if self._loop is None:
            raise LoopError("Adapt has no run before trainer.train() has begun to train")
        return self._loop

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.loop.history

    @property
    def trying(self) -> bool:
        """Whether a try is under way; a callback that writes somewhere by itself asks here."""
        return self._session is not None and self._session.trying

    # What the trainer calls.

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take hold of the trainer's epochs."""
        trainer = trainer_of(self, sys._getframe())
        require_training(trainer)
        if self._options.get("keep_best") and args.save_strategy != "no":
            raise SettingsError(
                "Adapt: the best state cannot be kept in checkpoints of the trainer, got "
                f"keep_best with save_strategy={args.save_strategy!s}; use "
                "load_best_model_at_end=True of TrainingArguments"
            )
        self._session = TrainSession(trainer, self, self._make)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Take what was logged."""
        if self._session is not None:
            self._session.saw(logs or {})

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Take what was evaluated."""
        if self._session is not None:
            self._session.saw(given["metrics"])

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The training is over: what is left of a round is recorded."""
        if self._session is not None:
            self._session.close()
            self._session = None

    # The run.

    def _make(self, session: TrainSession, loader: Any) -> tuple[Loop, Mapping[str, Binding]]:
        trainer = session.trainer
        space = self._space if isinstance(self._space, Space) else Space(self._space)
        bound = bindings_of(space, self._places, trainer)
        stop = Part(
            get=lambda: session.stop_wanted,
            set=lambda wanted: setattr(session, "stop_wanted", wanted),
            name="whether to stop",
        )
        self._loop = dynhp_torch.adapt(
            trainer.state.num_train_epochs - session.first,
            state=[*train_state(trainer, loader, self), stop],
            space=space,
            bind=bound,
            adapt_every=self._adapt_every,
            try_for=self._try_for,
            **self._options,
        )
        return self._loop, bound

    def _require_settings(self) -> None:
        """Refuse now what would be refused when the training begins."""
        if self._options.get("steps") is not None:
            raise SettingsError(
                f"Adapt counts in epochs, got steps={shown(self._options['steps'])}; leave it out"
            )
        nothing = Part(get=lambda: None, set=lambda _: None)
        options: Any = {name: value for name, value in self._options.items() if name != "steps"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dynhp.adapt(
                2**31,
                state=[nothing],
                space=self._space,
                adapt_every=self._adapt_every,
                try_for=self._try_for,
                **options,
            )
