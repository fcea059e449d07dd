"""Adaptation inside an existing loop: the body stays in charge of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from dynhp._checks import require_count
from dynhp.adapter import Callback, DynamicGridAdapter
from dynhp.criteria import Criterion, chosen_criterion
from dynhp.display import Display, shown_on
from dynhp.errors import LoopError, SettingsError, advise, shown
from dynhp.loops import bindings
from dynhp.loops.best import BestKeeper, best_criterion
from dynhp.loops.bindings import Binding
from dynhp.loops.everything import named_state
from dynhp.loops.loop import Loop
from dynhp.loops.parts import Part, Parts, global_generators, part_of, parts_of
from dynhp.loops.watching import names_of, watched
from dynhp.main_line import Snapshots
from dynhp.proposers import Proposer
from dynhp.records import Value
from dynhp.selection import Selection
from dynhp.selfcheck.reading import read_state
from dynhp.spaces import Space, SpaceLike
from dynhp.tails import Correction, Tail
from dynhp.trainer import trainer_from
from dynhp.triggers import Trigger

__all__ = ["adapt"]


def adapt(
    epochs: int | None = None,
    *,
    state: Sequence[Any] | Literal["auto"],
    space: SpaceLike,
    adapt_every: int | None = None,
    try_for: float,
    when: Trigger | None = None,
    start_from: Literal["here", "best", "before"] = "here",
    snapshots: Snapshots | None = None,
    max_rounds: int | None = None,
    max_rescues: int = 0,
    record_every: int | None = None,
    steps: int | None = None,
    criterion: Criterion | None = None,
    minimize: str | None = None,
    maximize: str | None = None,
    bind: Mapping[str, Binding] | None = None,
    proposer: Proposer | None = None,
    selection: Selection | None = None,
    tail: Tail | None = None,
    keep: Literal["winner", "value"] = "winner",
    then: Correction | None = None,
    keep_best: bool | Criterion = False,
    randomness: Literal["common", "independent"] | None = None,
    initial: Mapping[str, Value] | None = None,
    seed: int = 0,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | Display = False,
    check: Literal["first", "every", "off"] = "first",
    tolerance: float | None = None,
    dry_run: bool = False,
    as_part: Callable[[Any], Part] = part_of,
    read: Callable[[Any], Callable[[], Any] | None] = read_state,
) -> Loop:
    """Adapt hyperparameters in a loop of your own: it runs once per epoch, tries included.

    Args:
        epochs: the epochs of the main line; every epoch of a try must be reported.
        state: everything that decides the future: model, optimiser, scheduler, generators (Python's
            and numpy's global generators always belong to it); ``everything(...)`` lists it for
            you, and ``"auto"`` takes it from the names that the code around sees.
        space: the hyperparameters and their values: a ``Space``, or a mapping it can be made of.
        adapt_every: the epochs (or steps) of a round.
        try_for: the epochs (or steps) of a try; a number below 1 is a share of the run, to the
            nearest whole number and at least 1; it may be 0 where there is a tail.
        when: in place of ``adapt_every``, a trigger such as ``OnPlateau("val_loss", patience=5)``;
            one that watches metrics needs every epoch reported, on the main line too.
        start_from: the state a round starts from: "here", the "best" one so far by the criterion,
            or the one "before" what the trigger calls unhealthy; what follows it is abandoned.
        snapshots: how many states "before" keeps, how far apart, and where.
        max_rounds: the most rounds with tries, rescues not counted.
        max_rescues: how often a round may begin because the main line raised (``with epoch:``),
            spiked, or reported what is not finite; beyond that it ends the run.
        record_every: the most epochs that are recorded as one round where none is due.
        steps: in place of epochs, the steps of the main line: the body runs once per step and
            reports only when it has measured, at least once in every try.
        criterion: what a try is worth, such as ``smoothed(highest("val_auc"))``.
        minimize: in place of a criterion, the metric that is better when lower.
        maximize: in place of a criterion, the metric that is better when higher.
        bind: where values live, so that they are set and read back for you, such as
            ``{"p": attribute(model, "dropout.p")}``; the others are read from the epoch.
        proposer: which candidates a round tries; all of the grid by default.
        selection: which tries go on, and which one is kept; the best by default.
        tail: what a try runs after its own epochs, before it is judged; it is then thrown away, as
            ``annealed("lr", epochs=0.05)``.
        keep: go on from the "winner", its state, or take only its "value" back to the origin.
        then: what the winner's value becomes before it is put in force, as ``scale(0.3)``.
        keep_best: keep the state after the best reported epoch of the main line, for ``loop.best``
            and ``loop.restore_best()``; its score is what the criterion makes of that epoch alone,
            as a series of one. A criterion given here judges instead of the one of the tries.
        randomness: "common" random numbers for all tries of a round, or "independent" ones.
        initial: the value in force at the start; by default the bound value, where it is on the
            grid, or the middle.
        seed: of the adapter's own generator.
        callbacks: one function or a list of them, called with each event of the run.
        progress: show the run while it goes on; a display of your own in place of True.
        check: whether one try is carried out twice more, to prove that nothing is missing in the
            state: in the "first" round (also after a resume), in "every" round, or "off".
        tolerance: how far the repeat may be off where training cannot be repeated to the bit.
        dry_run: try all candidates and always keep the value in force, so that the run must end
            bit for bit as it would without this loop.
        as_part: how an object of ``state`` is taken and set; needed by integrations only.
        read: how an object outside of the state is looked at; needed by integrations only.

    >>> from dynhp.testing import Quadratic
    >>> model = Quadratic()
    >>> loop = adapt(20, state=[model], space={"lr": [0.01, 0.1, 1.0]}, minimize="loss",
    ...              adapt_every=5, try_for=1)
    >>> for epoch in loop:
    ...     model.train_k(1, epoch.values)
    ...     epoch.report(loss=model.metrics()["loss"])
    >>> [round_.candidate["lr"] for round_ in loop.history]
    [1.0, 1.0, 1.0, 1.0]
    """
    unit, planned = _length(epochs, steps)
    criterion = chosen_criterion(criterion, minimize, maximize)
    bound = bindings.require_bindings(bind)
    values = (
        Part(get=binding.get, set=binding.set, name=f"the value of {name}")
        for name, binding in bound.items()
    )
    things = named_state(state)
    parts = Parts((*parts_of(things, as_part, names_of(things)), *values, *global_generators()))
    keeper = _keeper(keep_best, criterion, parts, planned)
    if keeper is not None:
        parts = Parts((*parts.parts, keeper.part()))
    space = space if isinstance(space, Space) else Space(space)
    bindings.require_names(bound, space)
    trainer = trainer_from(
        get_state=parts.get_state,
        set_state=parts.set_state,
        train_k=_the_body_trains,
        metrics=dict,
        hyperparameters=lambda: bindings.read(bound),
        reseed=parts.reseed,
    )
    vars(trainer)["kinds"], vars(trainer)["unit"] = bindings.kinds_of(bound), unit
    adapter = DynamicGridAdapter(
        watched(trainer, parts, inside=things, read=read),
        space,
        criterion=criterion,
        adapt_every=adapt_every,
        try_for=try_for,
        when=when,
        start_from=start_from,
        snapshots=snapshots,
        max_rounds=max_rounds,
        max_rescues=max_rescues,
        record_every=record_every,
        proposer=proposer,
        selection=selection,
        tail=tail,
        keep=keep,
        then=then,
        randomness=randomness,
        initial=initial,
        epochs=planned,
        seed=seed,
        callbacks=callbacks,
        check=check,
        tolerance=tolerance,
        dry_run=dry_run,
    )
    if adapter.adapt_every is not None and adapter.adapt_every > planned:
        advise(
            f"adapt_every={adapter.adapt_every} is more than the {planned} {unit} of the run, so "
            "values are chosen once, at its start; make adapt_every smaller to choose again"
        )
    # Seeds are drawn for tries and their winners go on with them; who called gets his own back.
    seeded = (adapter.randomness == "independent" or max_rescues) and not adapter.dry_run
    generators = [part for part in parts.parts if part.shared and seeded]
    display = shown_on(adapter, progress)
    return Loop(
        adapter, bound, parts, unit=unit, keeper=keeper, generators=generators, shown=display
    )


def _length(epochs: int | None, steps: int | None) -> tuple[Literal["epochs", "steps"], int]:
    if (epochs is None) == (steps is None):
        raise SettingsError(
            "the length of the run must be said once, as adapt(40, ...) in epochs or as "
            f"adapt(steps=5000, ...), got epochs={shown(epochs)} and steps={shown(steps)}"
        )
    if steps is None:
        return "epochs", require_count("epochs", epochs)
    return "steps", require_count("steps", steps)


def _keeper(
    keep_best: bool | Criterion | None, criterion: Criterion, parts: Parts, planned: int
) -> BestKeeper | None:
    own = best_criterion(keep_best, criterion)
    if own is None:
        return None
    return BestKeeper(own, parts, planned=planned)


def _the_body_trains(k: int, hyperparameters: Mapping[str, Value]) -> None:
    raise LoopError(
        "this adapter belongs to a loop, whose body trains: iterate over the loop instead of "
        "calling step() or run()"
    )
