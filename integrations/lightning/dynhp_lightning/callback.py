"""The callback that adapts hyperparameters while a Lightning trainer fits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lightning.pytorch import Callback, LightningModule, Trainer

import dynhp
import dynhp_torch
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.loops import Binding, Loop, LoopOptions, Part
from dynhp.records import History
from dynhp.spaces import Space, SpaceLike
from dynhp_lightning.requirements import planned_epochs, require_fit
from dynhp_lightning.session import FitSession
from dynhp_lightning.state import fit_state
from dynhp_lightning.values import Place, bindings_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Adapt"]


class Adapt(Callback):
    """Adapts hyperparameters inside ``Trainer.fit``: give it to the trainer's callbacks.

    Args:
        space: the hyperparameters and their values. A name is a setting of the optimiser, such as
            ``lr`` or ``weight_decay`` (under a scheduler ``lr`` scales the whole schedule), or an
            attribute of the module, such as ``dropout.p``; ``bind`` says so for all others.
        adapt_every: the epochs of a round; in its place ``when=``, a trigger.
        try_for: the epochs of a try.
        bind: where values live, by name: a path in the module, a binding of dynhp, or a function
            that takes the trainer and gives one, called when the optimisers are there.
        options: all others as in ``dynhp.adapt``: ``minimize``, ``maximize`` or ``criterion``, of
            metrics that the module logs in every epoch; ``proposer``, ``selection``, ``keep``,
            ``keep_best``, ``randomness``, ``initial``, ``seed``, ``callbacks`` (of dynhp),
            ``check``, ``tolerance``, ``dry_run``.

    >>> Adapt({"lr": [0.001, 0.003, 0.01]}, minimize="val_loss", adapt_every=4, try_for=1)
    Adapt({'lr': [0.001, 0.003, 0.01]}, adapt_every=4, try_for=1)
    """

    def __init__(
        self,
        space: SpaceLike,
        *,
        adapt_every: int | None = None,
        try_for: int,
        bind: Mapping[str, Place] | None = None,
        **options: Unpack[LoopOptions],
    ) -> None:
        self._space = space
        self._adapt_every = adapt_every
        self._try_for = try_for
        self._places: Mapping[str, Place] = bind or {}
        self._options = options
        self._session: FitSession | None = None
        self._loop: Loop | None = None
        self._require_settings()

    def __repr__(self) -> str:
        return (
            f"Adapt({self._space!r}, adapt_every={self._adapt_every!r}, try_for={self._try_for!r})"
        )

    @property
    def loop(self) -> Loop:
        """The run of the last fit: its ``history``, its ``adapter``, its best epoch."""
        if self._loop is None:
            raise LoopError("Adapt has no run before trainer.fit(...) has begun to train")
        return self._loop

    @property
    def history(self) -> History:
        """The rounds so far."""
        return self.loop.history

    @property
    def trying(self) -> bool:
        """Whether a try is under way; a callback that writes somewhere by itself asks here."""
        return self._session is not None and self._session.trying

    # What Lightning calls.

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Take hold of the fit loop."""
        if stage != "fit":
            return
        self._session = FitSession(trainer, self, self._make)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The fit is over: what is left of a round is recorded."""
        if self._session is not None:
            self._session.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Leave the trainer on the main line, also where the error came in a try."""
        if self._session is not None:
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

    def _make(self, session: FitSession, first: int) -> tuple[Loop, Mapping[str, Binding]]:
        trainer = session.trainer
        require_fit(trainer)
        space = self._space if isinstance(self._space, Space) else Space(self._space)
        bound = bindings_of(space, self._places, trainer)
        stop = Part(
            get=lambda: session.stop_wanted,
            set=lambda wanted: setattr(session, "stop_wanted", wanted),
            name="whether to stop",
        )
        self._loop = dynhp_torch.adapt(
            planned_epochs(trainer) - first,
            state=[*fit_state(trainer, self), stop],
            space=space,
            bind=bound,
            adapt_every=self._adapt_every,
            try_for=self._try_for,
            **self._options,
        )
        return self._loop, bound

    def _require_settings(self) -> None:
        """Refuse now what would be refused when the fit begins."""
        if self._options.get("steps") is not None:
            raise SettingsError(
                f"Adapt counts in epochs, got steps={shown(self._options['steps'])}; shorten the "
                "epochs with Trainer(limit_train_batches=...)"
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
