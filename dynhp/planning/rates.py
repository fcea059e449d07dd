"""A search for a rate alone, before any run: which were tried, how they scored, which to take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from dynhp._checks import require_count, require_number
from dynhp.adapter import DynamicGridAdapter
from dynhp.engine.commands import Command, Train, Trained
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.executors import Executor
from dynhp.executors.attempt import put_in_force
from dynhp.middleware.looking import looking
from dynhp.planning.budget import HasHistory, history_of
from dynhp.planning.presets import Ending, recommended
from dynhp.records import Candidate, Round
from dynhp.records.text import text_table
from dynhp.records.units import EPOCHS, Unit
from dynhp.trainer import ReadsBack, Trainer

if TYPE_CHECKING:
    from dynhp.loops import Epoch, Loop

__all__ = ["RateFinder", "RateSearch", "find_rate", "rate_search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSearch:
    """The result of a search for a rate.

    Attributes:
        name: the hyperparameter's name.
        rates: the rates that were tried, the lowest first.
        scores: what each scored, the higher the better; nan if it failed.
        start: the rate that the search began with.
        best: the rate that scored best.
        rate: the one to take: the best, corrected; a dry run takes none, and leaves that in force.
        epochs: the epochs that were trained to find it.
        unit: whether these are "epochs", or the "steps" of a loop over steps.

    >>> search = RateSearch(name="lr", rates=(0.1, 1.0), scores=(-0.5, math.nan), start=0.1,
    ...                     best=0.1, rate=0.0316, epochs=6)
    >>> print(search)
    lr = 0.0316, after 6 epochs in 2 tries
    lr   score
    0.1  -0.5    best, start
    1.0  failed
    """

    name: str
    rates: tuple[float, ...]
    scores: tuple[float, ...]
    start: float
    best: float
    rate: float
    epochs: int
    unit: Unit = field(default=EPOCHS, repr=False)

    def __str__(self) -> str:
        title = (
            f"{self.name} = {self.rate!r}, after {self.epochs} {self.unit} in {len(self.rates)} "
            "tries"
        )
        rows = []
        for rate, score in zip(self.rates, self.scores, strict=True):
            marks = (("best", self.best), ("start", self.start), ("taken", self.rate))
            remark = ", ".join(mark for mark, value in marks if value == rate)
            rows.append((repr(rate), "failed" if math.isnan(score) else f"{score:.5g}", remark))
        return f"{title}\n{text_table([(self.name, 'score', ''), *rows])}"


def rate_search(history: Sequence[Round] | HasHistory) -> RateSearch:
    """The search at the beginning of a run: its first round with tries.

    >>> from dynhp import DynamicGridAdapter, recommended
    >>> from dynhp.testing import Quadratic
    >>> adapter = DynamicGridAdapter(
    ...     Quadratic(), policy=recommended("learning_rate", name="lr", default=0.1, loss="loss"))
    >>> rate_search(adapter.run(100)).rate
    0.174532
    """
    tried = [round_ for round_ in history_of(history) if round_.tries]
    if not tried or len(tried[0].previous) != 1:
        raise SettingsError(
            "a search for a rate is a round with tries of one hyperparameter, got "
            f"{shown(dict(tried[0].previous)) if tried else 'no round with tries'}"
        )
    return _of_round(tried[0])


def _of_round(round_: Round) -> RateSearch:
    [(name, start)] = round_.previous.items()
    scores = {
        float(try_.candidate[name]): try_.score  # type: ignore[arg-type]
        for try_ in round_.tries
    }
    rates = tuple(sorted(scores))
    # Not always the winner: that of a dry run is the value in force.
    won = float(round_.winner.candidate[name])  # type: ignore[arg-type]
    best = max((won, *rates), key=lambda rate: (not math.isnan(scores[rate]), scores[rate]))
    return RateSearch(
        name=name,
        rates=rates,
        scores=tuple(scores[rate] for rate in rates),
        start=float(start),  # type: ignore[arg-type]
        best=best,
        rate=float(round_.candidate[name]),  # type: ignore[arg-type]
        epochs=round_.overhead,
        unit=round_.unit,
    )


def find_rate(
    trainer: Trainer,
    *,
    epochs: int,
    start: float | None = None,
    name: str = "lr",
    loss: str = "train_loss",
    ending: Ending | None = "schedule",
    executor: Executor | None = None,
    check: Literal["first", "every", "off"] = "first",
) -> RateSearch:
    """Find a learning rate for a run of ``epochs``, and leave the trainer as it was.

    It carries out the ladder of ``recommended("learning_rate")`` and no epoch of the run.

    Args:
        trainer: what trains; its state and the rate in force are put back afterwards.
        epochs: the epochs of the run that the rate is for; a try takes 3 % of them.
        start: where to start; the trainer's own rate, or 0.03, if it is left out.
        name: the hyperparameter's name.
        loss: the training loss that tries are judged by; a "val_loss" has a say if there is one.
        ending: how the run will end: by a "schedule", by the "average" of its last weights, or
            None, at a constant rate.
        executor: what carries out the tries; one after the other by default.
        check: whether a try is repeated and compared, as in ``DynamicGridAdapter``.

    >>> from dynhp.testing import Quadratic
    >>> trainer = Quadratic()
    >>> search = find_rate(trainer, epochs=100, start=0.001, loss="loss")
    >>> search.rate, search.epochs, trainer.get_state()
    (0.174532, 30, 1.0)
    """
    if isinstance(getattr(trainer, "adapter", None), DynamicGridAdapter):
        raise SettingsError(
            f"find_rate needs a trainer, got {shown(trainer)}; in a loop of your own iterate over "
            "RateFinder(adapt(..., policy=recommended('learning_rate'))) in place of the loop"
        )
    epochs = require_count("find_rate: epochs", epochs)
    if start is not None:
        rule = "be a positive number"
        require_number("find_rate: start", start, rule, lambda value: 0 < value < math.inf)
    adapter = DynamicGridAdapter(
        trainer,
        policy=replace(
            recommended("learning_rate", default=start, name=name, loss=loss, ending=ending),
            course=None,  # nothing of the run itself is trained
        ),
        epochs=epochs,
        executor=executor,
        check=check,
        middleware=[looking(before=_end_after_tries)],
    )
    in_force = dict(trainer.hyperparameters()) if isinstance(trainer, ReadsBack) else {}
    try:
        adapter.step()
    except _TriesOver as over:  # and the trainer is back where the round began
        return _of_round(over.round)
    finally:
        if in_force.get(name) is not None:
            put_in_force(trainer, Candidate({name: in_force[name]}))
    raise AssertionError("a round ends with its main line")  # pragma: no cover


class _TriesOver(Exception):
    """All tries of a round have ended, and nothing of the run itself is trained."""

    def __init__(self, round_: Round) -> None:
        super().__init__()
        self.round = round_


def _end_after_tries(command: Command) -> None:
    if isinstance(command, Train):
        raise _TriesOver(command.so_far(Trained(epochs=0)).round)


class RateFinder:
    """The search alone in a loop of your own: iterate over it in place of the loop.

    The body runs for the tries, then the loop ends, the state is back where it was, and ``result``
    says what was found. The loop is one of ``adapt`` with ``recommended("learning_rate", ...)``.

    >>> from dynhp import adapt, recommended
    >>> from dynhp.testing import Quadratic
    >>> model = Quadratic()
    >>> finder = RateFinder(adapt(100, state=[model], policy=recommended("lr", default=0.001)))
    >>> for epoch in finder:
    ...     model.train_k(1, epoch.values)
    ...     epoch.report(train_loss=model.metrics()["loss"])
    >>> finder.result.rate, model.get_state()
    (0.174532, 1.0)
    """

    def __init__(self, loop: Loop) -> None:
        adapter = getattr(loop, "adapter", None)
        if not isinstance(adapter, DynamicGridAdapter) or not adapter.policy.restarts:
            # Of another loop, the state of a try would stay.
            raise SettingsError(
                "RateFinder needs a loop whose run begins where its tries began, got "
                f"{shown(loop)}; make it with adapt(..., policy=recommended('learning_rate')). For "
                "a trainer there is find_rate(trainer, ...)"
            )
        self.loop = loop
        self._result: RateSearch | None = None

    def __iter__(self) -> Iterator[Epoch]:
        passes = iter(self.loop)
        try:
            while not (epoch := next(passes)).main:  # then the tries are over: nothing of the run
                yield epoch
            under_way = self.loop.round_so_far(None)
            assert under_way is not None
            round_ = under_way.round
            if not round_.tries:
                raise LoopError(
                    "RateFinder needs a loop that begins with its tries, and this one begins with "
                    f"its run, got {shown(self.loop.adapter.policy.when)}; leave `when` to "
                    "recommended('learning_rate')"
                )
            self._result = _of_round(round_)
        finally:
            self.loop.close()

    @property
    def result(self) -> RateSearch:
        """What was found, once the tries are over."""
        if self._result is None:
            raise LoopError("the search is not over; iterate over the finder until its tries end")
        return self._result
