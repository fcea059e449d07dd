"""The callback that adapts hyperparameters while a trainer of transformers trains."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback

from dynhp.errors import SettingsError
from dynhp.loops import Binding, Loop
from dynhp_torch.callbacks import AdaptsTraining
from dynhp_transformers.averaging import training_ending
from dynhp_transformers.requirements import require_own_end, require_training, trainer_of
from dynhp_transformers.session import TrainSession
from dynhp_transformers.state import train_state
from dynhp_transformers.values import training_bindings

__all__ = ["Adapt"]


class Adapt(AdaptsTraining, TrainerCallback):
    """Adapts hyperparameters inside ``Trainer.train``: give it to the trainer's callbacks.

    Args:
        space: the hyperparameters and their values. A name is a setting of the optimiser, such as
            ``lr`` (or ``learning_rate``) or ``weight_decay``, or an attribute of the model; others
            are said by ``bind``. The trainer always has a schedule, so ``lr`` scales all of it. It
            is left out where a ``policy`` has it.
        bind: where values live, by name: a path in the model, a binding of dynhp, or a function
            that takes the trainer and gives one, called when the optimiser is there.
        options: all others as in ``dynhp.adapt``: a ``policy`` or its fields, such as ``minimize``
            (of a metric that the trainer logs in every epoch, as ``eval_loss``), ``adapt_every``
            and ``try_for``; ``callbacks`` (of dynhp), ``progress``.

    >>> Adapt({"lr": [1e-5, 3e-5, 1e-4]}, minimize="eval_loss", adapt_every=2, try_for=1)
    Adapt({'lr': [1e-05, 3e-05, 0.0001]}, adapt_every=2, try_for=1)
    """

    _begins = "trainer.train()"
    _session: TrainSession | None = None

    @property
    def trying(self) -> bool:
        """Whether a try is under way; a callback that writes somewhere by itself asks here."""
        return self._session is not None and self._session.trying

    # What the trainer calls.

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take hold of the trainer's epochs."""
        trainer = trainer_of(self, sys._getframe())
        require_training(trainer)
        if self._settings.options.get("keep_best") and args.save_strategy != "no":
            raise SettingsError(
                "Adapt: the best state cannot be kept in checkpoints of the trainer, got "
                f"keep_best with save_strategy={args.save_strategy!s}; use "
                "load_best_model_at_end=True of TrainingArguments"
            )
        self._session = TrainSession(trainer, self, self._make)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Let the values move to those of this step."""
        if self._session is not None:
            self._session.on_step()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take the weights into their average, where a training ends by it."""
        if self._session is not None and self._session.ending is not None:
            self._session.ending.weights.update()

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
            self._session.deliver()
            self._session = None

    # The run.

    def _make(self, session: TrainSession, loader: Any) -> tuple[Loop, Mapping[str, Binding]]:
        trainer = session.trainer
        bound = training_bindings(self._settings.policy.space, self._places, trainer)
        epochs = trainer.state.num_train_epochs - session.first
        state = train_state(trainer, loader, self)
        session.ending = training_ending(trainer, loader, self._settings.policy.course)
        if session.ending is not None:
            require_own_end(trainer.args)
            state.append(session.ending.weights)
        return self._new_loop(session, epochs, state, bound), bound
