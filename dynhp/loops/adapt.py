"""Adaptation inside an existing loop: the body stays in charge of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dynhp._checks import require_word
from dynhp.adapter import Callback, DynamicGridAdapter
from dynhp.criteria import Criterion
from dynhp.errors import SettingsError, advise, shown
from dynhp.loops import bindings
from dynhp.loops.bindings import Binding
from dynhp.loops.everything import named_state
from dynhp.loops.parts import (
    CopyOf,
    GeneratorsBefore,
    Part,
    Parts,
    global_generators,
    part_of,
    parts_of,
)
from dynhp.policy import Policy, PolicyFields, named_fields, policy_from
from dynhp.records.units import EPOCHS, Unit
from dynhp.selfcheck.reach import body_of, in_reach, loop_frames, loop_names
from dynhp.selfcheck.things import kind_of, read_state
from dynhp.spaces import SpaceLike
from dynhp.start import longest_run
from dynhp.triggers import Trigger
from dynhp.triggers.contract import looks_at

if TYPE_CHECKING:
    from typing import Unpack

    from dynhp.best import BestKeeper
    from dynhp.loops.counting import Length
    from dynhp.loops.loop import Loop
    from dynhp.middleware.display import Display
    from dynhp.selfcheck.watch import Watch


@named_fields(PolicyFields)
def adapt(
    epochs: Length | None = None,
    *,
    state: Sequence[Any] | Literal["auto"],
    space: SpaceLike | None = None,
    policy: Policy | None = None,
    steps: Length | None = None,
    at_most: Length | None = None,
    unit: Unit = EPOCHS,
    bind: Mapping[str, Binding] | None = None,
    keep_best: bool | Criterion | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    progress: bool | Display = False,
    as_part: Callable[[Any], Part] = part_of,
    read: Callable[[Any], Callable[[], Any] | None] = read_state,
    **fields: Unpack[PolicyFields],
) -> Loop:
    """Adapt hyperparameters in a loop of your own: it runs once per epoch, tries included.

    Args:
        epochs: the epochs of the main line: their number, or a range to count as it counts, such as
            ``range(1, 41)``; every epoch of a try must be reported, and if a trigger watches
            metrics, every epoch of the main line too. The body is given the items of anything else
            that has a length, and ``loop.now`` is the epoch then.
        state: everything that decides the future: model, optimiser, scheduler, generators (Python's
            and numpy's global generators always belong to it); ``everything(...)`` lists it for
            you, and ``"auto"`` takes it from the names that the code around sees.
        space: the hyperparameters and their values, unless the policy has them.
        policy: everything that decides the run, as a preset such as ``recommended`` gives it; see
            ``dynhp.Policy``.
        steps: in place of epochs, the steps of the main line, or what they go through, such as a
            loader of batches: the body runs once per step and reports only when it has measured, at
            least once in every try.
        at_most: in place of both, the limit of a run that ends by ``until``, a field of the policy
            such as ``until=Settled("val_loss")``.
        unit: what ``at_most`` counts: "epochs" or "steps".
        bind: where values live, so that they are set and read back for you, such as
            ``{"p": attribute(model, "dropout.p")}``; the others are read from the epoch.
        keep_best: keep the state after the best reported epoch of the main line, for ``loop.best``
            and ``loop.restore_best()``; its score is what the criterion makes of that epoch alone,
            as a series of one. A criterion given here judges instead of the one of the tries. On
            by default where the run ends by ``until``, which is after its best epoch.
        callbacks: one function or a list of them, called with each event of the run.
        progress: show the run while it goes on; a display of your own in place of True.
        as_part: how an object of ``state`` is taken and set; needed by integrations only.
        read: how an object outside of the state is looked at; needed by integrations only.
        fields: fields of ``dynhp.Policy`` by their names, in place of a policy or of fields of it:
            ``try_for``, ``proposer``, ``check`` and so on; ``adapt_every``, ``minimize``
            and ``maximize`` in place of ``when`` and ``criterion``.

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
    # Here, because a loop loads the engine: importing is quick.
    from dynhp.best import BestKeeper, BestRule, best_criterion
    from dynhp.loops.counting import counted, length_of
    from dynhp.loops.loop import Loop
    from dynhp.middleware.display import chosen_display

    policy = policy_from(policy, {"space": space, **fields}, caller="adapt")
    length, unit = _length(epochs, steps, at_most, unit, policy.until)
    planned, through = length_of(length, unit)
    where: tuple[str, ...] = ()
    if keep_best is None and policy.until is not None:
        keep_best = getattr(policy.until, "criterion", True)
        where = looks_at(policy.until)  # measured now and then, as the end of the run is
    bound = bindings.require_bindings(bind, policy.space)

    # What is restored: the user's objects, bound values, global generators, memories of the loop.
    things = named_state(state)
    training = Parts(
        [
            *parts_of(things, as_part, _names_of(things)),
            *(
                Part(get=binding.get, set=binding.set, name=f"the value of {name}")
                for name, binding in bound.items()
            ),
            *global_generators(),
        ]
    )
    memories = []
    keeper = None
    best_by = best_criterion(keep_best, policy.criterion)
    if best_by is not None:
        keeper = BestKeeper(BestRule(criterion=best_by, planned=planned), where=where)
        memories.append(_memory_of(keeper))
    generators = None
    # Whether by rescues is left open: a run that goes on may allow them.
    may_seed = policy.randomness == "independent" or policy.start_from != "here"
    if may_seed and not policy.dry_run:
        generators = GeneratorsBefore([part for part in training.parts if part.shared])
        memories.append(generators.part())
    parts = Parts([*training.parts, *memories])

    trainer = _LoopTrainer(parts, bound, unit, things, read)
    adapter = DynamicGridAdapter(trainer, policy=policy, epochs=planned, callbacks=callbacks)
    if policy.adapt_every is not None and policy.adapt_every > planned:
        advise(
            f"adapt_every={policy.adapt_every} is more than the {planned} {unit} of the run, so "
            "values are chosen once, at its start; make adapt_every smaller to choose again"
        )
    return Loop(
        adapter,
        bound,
        parts,
        training=training,
        unit=unit,
        counted=counted(through, policy, [part for part in training.parts if part.reseed]),
        watched=lambda: trainer.watched,
        keeper=keeper,
        generators=generators,
        display=chosen_display(progress),
    )


def _length(
    epochs: Any, steps: Any, at_most: Any, unit: Unit, until: Trigger | None
) -> tuple[Any, Unit]:
    """The length of the run as it was given, or the most of it, and what it counts."""
    require_word("unit", unit, ("epochs", "steps"))
    given = epochs if steps is None else steps
    if at_most is not None or until is not None:
        return longest_run(given, at_most, until), unit
    if (epochs is None) == (steps is None):
        raise SettingsError(
            "give the length of the run once, as adapt(40, ...) in epochs or as "
            f"adapt(steps=5000, ...), got epochs={shown(epochs, 80)} and steps={shown(steps, 80)}"
        )
    if unit != EPOCHS:
        raise SettingsError(
            f"unit={shown(unit)} says what at_most= counts; give steps=5000 for a length in steps"
        )
    return given, EPOCHS if steps is None else "steps"


class _LoopTrainer:
    """A loop as a trainer: its state is all parts, and only the body of the loop trains."""

    def __init__(
        self,
        parts: Parts,
        bound: Mapping[str, Binding],
        unit: Unit,
        things: Sequence[Any],
        read: Callable[[Any], Callable[[], Any] | None],
    ) -> None:
        self.get_state = parts.get_state
        self.set_state = parts.set_state
        self.reseed = parts.reseed
        self.kinds = bindings.kinds_of(bound)
        self.driven_by = bindings.drivers_of(bound)
        self.unit = unit
        self.part_names = [
            part.name or f"part {place} of the state" for place, part in enumerate(parts.parts)
        ]
        self._bound = bound
        self._things = things
        self._read = read
        self.watched: Watch | None = None  # what was seen in the round that was checked last
        self._said: set[Any] = set()  # a hint comes once in a run, whatever its numbers are then
        inner = [thing.thing if isinstance(thing, CopyOf) else thing for thing in things]
        found = [getattr(each, "deliver", None) for each in inner]
        # A part has the attribute, whether it delivers or not.
        self._delivers = [deliver for deliver in found if callable(deliver)]
        if self._delivers:
            self.deliver = self._deliver_all

    def _deliver_all(self, **given: Any) -> None:
        for deliver in self._delivers:
            deliver(**given)

    def train_k(self, k: int, hyperparameters: Mapping[str, Any]) -> None:
        from dynhp.loops.loop import the_body_trains

        the_body_trains()

    def metrics(self) -> dict[str, float]:
        return {}

    def hyperparameters(self) -> Mapping[str, Any]:
        return bindings.read(self._bound)

    def watch(self, tolerance: float) -> Watch:
        from dynhp.selfcheck.watch import Watch

        self.watched = Watch(
            lambda: in_reach(loop_names()),
            self._things,
            self._read,
            tolerance=tolerance,
            said=self._said,
            body=lambda: body_of(loop_frames()),
        )
        return self.watched


def _memory_of(keeper: BestKeeper) -> Part:
    def put_back(best: Any) -> None:
        keeper.best = best

    return Part(get=lambda: keeper.best, set=put_back, name="the best epoch")


def _names_of(things: Sequence[Any]) -> list[str | None]:
    """The names under which the code around dynhp knows these things, None if it has none."""
    known: dict[int, str] = {}
    for name, thing in in_reach(loop_names()).items():
        known.setdefault(id(thing), name)
    objects = [thing.thing if isinstance(thing, CopyOf) else thing for thing in things]
    return [
        f"{known[id(thing)]} ({kind_of(thing)})" if id(thing) in known else None
        for thing in objects
    ]
