"""The callback that adapts hyperparameters while a Lightning trainer fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from dynhp.errors import advise, shown
from dynhp.loops import Binding, Loop
from dynhp_lightning.averaging import fit_ending
from dynhp_lightning.requirements import planned_epochs, require_fit
from dynhp_lightning.session import FitSession
from dynhp_lightning.state import fit_state
from dynhp_lightning.values import fit_bindings
from dynhp_torch.callbacks import AdaptsTraining

__all__ = ["Adapt"]


class Adapt(AdaptsTraining, Callback):
    """Adapts hyperparameters inside ``Trainer.fit``: give it to the trainer's callbacks.

    Args:
        space: the hyperparameters and their values. A name is a setting of the optimiser, such as
            ``lr`` or ``weight_decay`` (under a scheduler ``lr`` scales the whole schedule), or an
            attribute of the module, such as ``dropout.p``; ``bind`` says so for all others. It is
            left out where a ``policy`` has it.
        bind: where values live, by name: a path in the module, a binding of dynhp, or a function
            that takes the trainer and gives one, called when the optimisers are there.
        options: all others as in ``dynhp.adapt``: a ``policy`` or its fields, such as ``minimize``
            (of a metric that the module logs in every epoch), ``adapt_every`` and ``try_for``;
            ``keep_best``, ``callbacks`` (of dynhp), ``progress``.

    >>> Adapt({"lr": [0.001, 0.003, 0.01]}, minimize="val_loss", adapt_every=4, try_for=1)
    Adapt({'lr': [0.001, 0.003, 0.01]}, adapt_every=4, try_for=1)
    """

    _begins = "trainer.fit(...)"
    _instead_of_steps = "shorten the epochs with Trainer(limit_train_batches=...)"
    _session: FitSession | None = None

    @property
    def trying(self) -> bool:
        """Whether a try is under way; a callback that writes somewhere by itself asks here."""
        return self._session is not None and self._session.trying

    # What Lightning calls.

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Take hold of the fit loop."""
        if stage != "fit":
            return
        ended = None if self._session is None else self._session.ended
        self._session = FitSession(trainer, self, self._make, ended)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The fit is over: what is left of a round is recorded."""
        if self._session is not None:
            self._session.close()
            self._session.deliver()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Averaged weights are scored in place of those of the moment, where a fit ends by them."""
        if self._session is not None:
            self._session.begin_scoring()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Callbacks that save come later."""
        if self._session is not None:
            self._session.end_scoring()

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """What is saved is what was scored."""
        if self._session is not None:
            self._session.put_average(checkpoint)

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Leave the trainer on the main line, also where the error came in a try."""
        if self._session is not None:
            self._session.end_scoring()
            self._session.close()
            self._session.remove()

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Let go of the fit loop."""
        if self._session is not None:
            self._session.remove()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint of Lightning keeps of the run."""
        return {} if self._session is None else self._session.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint once the fit begins."""
        if self._session is not None:
            self._session.saved = state_dict

    # The run.

    def _make(
        self, session: FitSession, first: int, values: Mapping[str, Any]
    ) -> tuple[Loop, Mapping[str, Binding]]:
        trainer = session.trainer
        require_fit(trainer)
        bound = fit_bindings(self._settings.policy.space, self._places, trainer)
        for name, value in values.items():
            if bound[name].get() != value:
                advise(
                    f"{name}: Adapt goes on with {shown(value)}, chosen in the fit before, where "
                    f"this one comes with {shown(bound[name].get())}; give Trainer a new Adapt to "
                    "begin with that",
                    about=object(),
                )
                bound[name].set(value)
        epochs = planned_epochs(trainer) - first
        state = fit_state(trainer, self)
        session.ending = fit_ending(trainer, self._settings.policy.course)
        if session.ending is not None:
            state.append(session.ending.weights)
        return self._new_loop(session, epochs, state, bound), bound
