"""The policy: everything that decides a run, as one object that is checked once when it is made."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Final, Literal, TypedDict, TypeVar

from dynhp._checks import (
    plain_int,
    require_count,
    require_instance,
    require_lengths,
    require_number,
    require_seed,
    require_whole,
    require_word,
)
from dynhp.criteria import Criterion
from dynhp.criteria.contract import metrics_of, require_criterion
from dynhp.criteria.metric import chosen_criterion, direction_of
from dynhp.errors import SettingsError, nearest, shown
from dynhp.proposers import FullGrid, Proposer
from dynhp.records import Value
from dynhp.records.units import EPOCHS, Unit
from dynhp.selection import Best, Selection, Stage
from dynhp.snapshots import Snapshots
from dynhp.spaces import Space, SpaceLike
from dynhp.tails.contract import (
    Correction,
    Course,
    Tail,
    epochs_of,
    require_one_stage,
    require_try_for,
    tail_length,
)
from dynhp.triggers import Every, Trigger
from dynhp.triggers.contract import goes_by_epochs, looks_at, require_trigger

__all__ = ["Policy", "PolicyFields", "named_fields", "policy_from"]

SHARE_OF_A_ROUND: Final = 20
"""A round without tries is at most one 20th of a run, so that callbacks and files see it move."""

_MAY_CHANGE: Final = {"may_change": True}
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Everything that decides a run; presets such as ``recommended`` give one.

    Its fields may also be given to ``DynamicGridAdapter`` and ``adapt`` as keywords.

    Attributes:
        space: the hyperparameters and their values: a ``Space``, or a mapping it can be made of.
        criterion: what a try is worth, such as ``smoothed(highest("val_auc"))``. As a keyword also
            ``minimize="val_loss"`` or ``maximize="val_auc"``.
        when: when a round begins: ``Every(10)``, ``OnPlateau("val_loss", patience=5)``, or any
            function of the main line so far. As a keyword also ``adapt_every=10``.
        until: when the run ends, if not by its length: ``Settled("val_loss")``, or any function of
            the main line so far, as for ``when``; it is asked after tries, not about the epochs
            within one. The length is then the most that it may have, and shares of the run are
            shares of that.
        try_for: the epochs of a try; below 1, a share of the run, to the nearest whole number and
            at least 1; 0 is possible with a ``tail``.
        proposer: which candidates a round tries; all of the grid by default.
        selection: which tries go on, and which one is kept; the best by default.
        tail: what a try runs after its own epochs before it is judged; it is then thrown away, as
            ``annealed("lr", epochs=0.05)``.
        keep: go on from the "winner", its copy, or take only its "value" back to the origin.
        then: what the winner's value becomes before it is put in force, as ``scale(0.3)``.
        course: how the values go along the main line, as ``scheduled("lr", "wsd")``: then the
            value in force is the height of the schedule. Tries follow it too, tails do not.
        start_from: the state that a round starts from: "here", the "best" one so far by the
            criterion, or the one "before" what the trigger calls unhealthy. What follows that state
            is abandoned.
        snapshots: how many states "before" keeps, how far apart, and where.
        max_rounds: the most rounds with tries, rescues not counted.
        max_rescues: how often a main line that raises, spikes or is not finite begins a round.
        record_every: the most epochs that are recorded as one round; by default those of
            ``Every``, or a 20th of the run.
        randomness: "common" random numbers for all tries of a round, or "independent" ones; by
            default what the proposer needs, or "common".
        initial: the value at the start; by default the trainer's own, which is added to the
            space, or the middle of the space.
        seed: of the run's own random generator.
        check: whether a try is carried out twice more, to prove that nothing is missing in the
            state: in the "first" round (also after a resume), in "every" round, or "off".
        tolerance: how far that repeat may be off if training cannot be repeated to the bit; by
            default what the trainer declares, or 0.
        dry_run: try all candidates and always keep the value in force, so that the run must end
            bit for bit as it would without dynhp.

    >>> from dynhp import lowest
    >>> policy = Policy(space={"lr": [0.01, 0.1]}, criterion=lowest("loss"), when=Every(5),
    ...                 try_for=1)
    >>> policy.adapt_every, policy.randomness
    (5, 'common')
    >>> Policy(space={"lr": [0.01, 0.1]}, criterion=lowest("loss"), when=Every(5), try_for=6)
    Traceback (most recent call last):
    dynhp.errors.SettingsError: try_for must be at most adapt_every, got try_for=6, adapt_every=5
    """

    space: Space
    criterion: Criterion
    when: Trigger
    try_for: float
    proposer: Proposer = field(default_factory=FullGrid)
    selection: Selection = field(default_factory=Best)
    tail: Tail | None = None
    keep: Literal["winner", "value"] = "winner"
    then: Correction | None = None
    course: Course | None = None
    start_from: Literal["here", "best", "before"] = "here"
    snapshots: Snapshots = field(default_factory=Snapshots)
    max_rounds: int | None = field(default=None, metadata=_MAY_CHANGE)
    max_rescues: int = field(default=0, metadata=_MAY_CHANGE)
    record_every: int | None = None
    until: Trigger | None = field(default=None, metadata=_MAY_CHANGE)
    randomness: Literal["common", "independent"] | None = None
    initial: Mapping[str, Value] | None = None
    seed: int = 0
    check: Literal["first", "every", "off"] = field(default="first", metadata=_MAY_CHANGE)
    tolerance: float | None = field(default=None, metadata=_MAY_CHANGE)
    dry_run: bool = False
    # What follows from these, worked out once:
    trigger: Trigger = field(init=False, repr=False, compare=False)
    """The trigger, combined with the one that calls for rescues if there may be any."""
    watched: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The metrics of the main line that the trigger and ``until`` say they read."""
    is_blind: bool = field(init=False, repr=False, compare=False)
    """Whether both go by epochs alone, so that what is measured on the line is not noted."""
    in_whole_rounds: bool = field(init=False, repr=False, compare=False)
    """Whether each round ends when the next one is due, so that nothing looks inside it."""
    restarts: bool = field(init=False, repr=False, compare=False)
    """Whether the main line goes on from the round's origin, whichever try wins.

    Under common random numbers, training from the origin with the winner's value would only repeat
    the winner's try, so its copy is taken instead, unless the winner's value is corrected.
    """
    keeps_tries: bool = field(init=False, repr=False, compare=False)
    """Whether the state of a try may be needed after it."""
    watch: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The metrics that the criterion reads, which must stay finite in a try."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "space", self.space if isinstance(self.space, Space) else Space(self.space))
        if not self.space and self.max_rounds != 0:
            raise SettingsError(
                "a space needs at least one hyperparameter, got an empty one; only a run without "
                "rounds (max_rounds=0), such as that of settled('val_loss'), has nothing to adapt"
            )
        require_criterion(self.criterion)
        require_trigger("when", self.when)
        put(self, "try_for", require_try_for(plain_int(self.try_for), self.tail))
        if isinstance(self.when, Every) and isinstance(self.try_for, int):
            require_lengths(self.when.n, max(1, self.try_for))
        if self.until is not None:
            require_trigger("until", self.until)
            _require_no_planned_end(self)
        if self.record_every is not None:
            put(self, "record_every", require_count("record_every", self.record_every))
        if self.max_rounds is not None:
            put(self, "max_rounds", require_whole("max_rounds", self.max_rounds, least=0))
        put(self, "max_rescues", require_whole("max_rescues", self.max_rescues, least=0))
        require_word("start_from", self.start_from, ("here", "best", "before"))
        require_instance("snapshots", self.snapshots, Snapshots, "Snapshots(k=2, every=1)")
        require_instance("proposer", self.proposer, Proposer, "a Proposer such as FullGrid()")
        require_instance("selection", self.selection, Selection, "a Selection such as Best()")
        require_word("keep", self.keep, ("winner", "value"))
        if self.randomness is None:
            put(self, "randomness", getattr(self.proposer, "randomness", "common"))
        require_word("randomness", self.randomness, ("common", "independent"))
        put(self, "seed", require_seed("seed", plain_int(self.seed)))
        require_word("check", self.check, ("first", "every", "off"))
        if self.tolerance is not None:
            require_tolerance(self.tolerance)
        require_word("dry_run", self.dry_run, (True, False))
        _require_tries_between_rounds(self.when, self.try_for)
        _require_way_back(self)
        for trigger in (self.when, self.until):
            _require_one_direction(trigger, self.criterion)
        _require_randomness_of(self.proposer, self.randomness)
        asked = [each for each in (self.when, self.until) if each is not None]
        put(self, "watched", tuple(dict.fromkeys(n for each in asked for n in looks_at(each))))
        put(self, "trigger", _with_alarm(self))
        put(self, "is_blind", goes_by_epochs(self.trigger) and all(map(goes_by_epochs, asked)))
        only_every = isinstance(self.when, Every) and self.record_every is None
        unwatched = self.start_from == "here" and self.until is None
        put(self, "in_whole_rounds", only_every and unwatched)
        another = self.randomness == "independent" or self.then is not None
        from_origin = self.keep == "value" and another
        put(self, "restarts", self.dry_run or self.try_for == 0 or from_origin)
        put(self, "keeps_tries", self.tail is None or not self.restarts)
        put(self, "watch", metrics_of(self.criterion))

    @property
    def adapt_every(self) -> int | None:
        """The epochs of a round if ``Every`` begins it, None if another trigger does."""
        return self.when.n if isinstance(self.when, Every) else None

    def longest_round(self, planned: int | None) -> int:
        """The most epochs of one round: those of ``Every``, or those recorded at a time."""
        if self.record_every is not None:
            return self.record_every
        if isinstance(self.when, Every):
            return self.when.n
        return 10 if planned is None else math.ceil(planned / SHARE_OF_A_ROUND)

    def try_epochs(self, planned: int | None) -> int:
        """The epochs of a try that are trained with its own value."""
        if isinstance(self.try_for, int):
            return self.try_for
        epochs = epochs_of(f"try_for={self.try_for}", self.try_for, planned)
        if self.adapt_every is not None and epochs > self.adapt_every:
            raise SettingsError(
                f"try_for must be at most adapt_every, got try_for={self.try_for} of {planned} "
                f"epochs, which is {epochs}, and adapt_every={self.adapt_every}"
            )
        period = _shortest_period(self.when)
        if period is not None and epochs > period:
            raise SettingsError(
                "try_for must be at most the epochs from one round to the next, got "
                f"try_for={self.try_for} of {planned} epochs, which is {epochs}, and "
                f"{Every(period)!r} in {shown(self.when)}; make the tries shorter, or n larger"
            )
        return epochs

    def tail_epochs(self, planned: int | None, unit: Unit = EPOCHS) -> int:
        """The epochs (or steps) of each tail."""
        return tail_length(self.tail, planned, unit)

    def stages(self, tries: int, epochs: int) -> tuple[Stage, ...]:
        """The stages of this many tries; only one with a tail, after which tries are judged."""
        stages = tuple(self.selection.stages(tries, epochs))
        if not stages:
            raise SettingsError(
                f"a selection must run tries in one stage at least, got none of "
                f"{shown(self.selection)}; give [Stage(epochs, keep=1)] for all at once"
            )
        if self.tail is not None:
            require_one_stage(stages)
        return stages

    def is_rescue(self, *, alarm: bool) -> bool:
        """Whether a round that is due, perhaps because something broke, is a rescue."""
        return alarm and self.max_rescues > 0

    def keys(self) -> list[str]:
        """The names of the fields, so that ``**policy`` gives them as keywords."""
        return [each.name for each in fields(self) if each.init]

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(f"a policy has no {name!r}{nearest(name, self.keys())}")
        return getattr(self, name)


class PolicyFields(TypedDict, total=False):
    """The fields of ``Policy`` as keyword arguments, and the short forms of three of them.

    The space is not among them: it is an argument of its own, because some functions take it first
    and others in more forms.

    >>> fields = PolicyFields(minimize="val_loss", adapt_every=5, try_for=1)
    >>> fields["adapt_every"]
    5
    """

    criterion: Criterion | None
    minimize: str | None
    maximize: str | None
    when: Trigger | None
    adapt_every: int | None
    try_for: float
    proposer: Proposer | None
    selection: Selection | None
    tail: Tail | None
    keep: Literal["winner", "value"]
    then: Correction | None
    course: Course | None
    start_from: Literal["here", "best", "before"]
    snapshots: Snapshots | None
    max_rounds: int | None
    max_rescues: int
    record_every: int | None
    until: Trigger | None
    randomness: Literal["common", "independent"] | None
    initial: Mapping[str, Value] | None
    seed: int
    check: Literal["first", "every", "off"]
    tolerance: float | None
    dry_run: bool


def policy_from(policy: Policy | None, given: Mapping[str, Any], *, caller: str) -> Policy:
    """The policy that keywords describe, or the one that was given with some fields replaced.

    ``None`` stands for a field's default, or for nothing if it has none. ``caller`` is what
    error messages call the function.

    >>> policy = policy_from(None, {"space": {"lr": [0.1, 0.3]}, "minimize": "loss",
    ...                             "adapt_every": 4, "try_for": 1}, caller="adapt")
    >>> policy_from(policy, {"adapt_every": 8}, caller="adapt").when
    Every(n=8)
    """
    require_known(given, {"space": SpaceLike}, PolicyFields.__annotations__, caller=caller)
    if policy is not None:
        require_instance("policy", policy, Policy, "a Policy, such as recommended('learning_rate')")
    changed = dict(given)
    choices = [changed.pop(name, None) for name in ("criterion", "minimize", "maximize")]
    moments = [changed.pop(name, None) for name in ("adapt_every", "when")]
    if policy is None or any(choice is not None for choice in choices):
        changed["criterion"] = chosen_criterion(*choices)
    if policy is None or any(moment is not None for moment in moments):
        changed["when"] = chosen_trigger(*moments)
    changed = {name: _or_default(name, value) for name, value in changed.items()}
    changed = {name: value for name, value in changed.items() if value is not MISSING}
    if policy is not None:
        derived = getattr(policy.proposer, "randomness", "common")
        if "proposer" in changed and policy.randomness == derived:
            changed.setdefault("randomness", None)  # another proposer may need other random numbers
        return replace(policy, **changed)
    for name in ("space", "try_for"):
        if name not in changed:
            raise TypeError(f"{caller}() needs {name}=, or a policy= that has it")
    return Policy(**changed)


def _or_default(name: str, value: Any) -> Any:
    if value is not None:
        return value
    default = next(each for each in fields(Policy) if each.name == name)
    if default.default_factory is not MISSING:
        return default.default_factory()
    return default.default


def require_known(given: Mapping[str, Any], *known: Mapping[str, Any], caller: str) -> None:
    """Refuse a keyword argument that no function takes, as Python itself would."""
    names = [name for each in known for name in each]
    for name in given:
        if name not in names:
            raise TypeError(
                f"{caller}() got an unexpected keyword argument {name!r}{nearest(name, names)}"
            )


def named_fields(*typed: type) -> Callable[[_Function], _Function]:
    """Let ``help`` show a function's typed ``**keywords`` by their names.

    >>> @named_fields(PolicyFields)
    ... def train(rounds: int, **fields: Any) -> None: ...
    >>> list(inspect.signature(train).parameters)[:3]
    ['rounds', 'criterion', 'minimize']
    """

    def named(function: _Function) -> _Function:
        here = inspect.signature(function)
        own = [each for each in here.parameters.values() if each.kind is not each.VAR_KEYWORD]
        taken = {each.name for each in own}
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for each in typed
            for name, kind in each.__annotations__.items()
            if name not in taken
        ]
        vars(function)["__signature__"] = here.replace(parameters=[*own, *keywords])
        return function

    return named


def chosen_trigger(adapt_every: Any, when: Any) -> Trigger:
    """The one trigger that was given: as ``when``, or as the epochs of a round.

    >>> chosen_trigger(10, None)
    Every(n=10)
    """
    if (adapt_every is None) == (when is None):
        raise SettingsError(
            "give one rule for when a round begins, adapt_every=10 or when=..., got "
            f"adapt_every={shown(adapt_every)} and when={shown(when)}"
        )
    if when is None:
        return Every(require_count("adapt_every", adapt_every))
    require_trigger("when", when)
    return when  # type: ignore[no-any-return]


def require_tolerance(tolerance: object) -> float:
    """The tolerance, refused unless it is a number from 0 on."""
    rule = "be a number from 0 on"
    return require_number("tolerance", tolerance, rule, lambda number: 0 <= number < math.inf)


def _require_tries_between_rounds(when: Trigger, try_for: float) -> None:
    """Refuse tries longer than the time between two rounds, for each trigger of several."""
    for trigger in _each_of(when):
        if isinstance(trigger, Every) and try_for > trigger.n:
            raise SettingsError(
                "try_for must be at most the epochs from one round to the next, got "
                f"try_for={try_for} and {trigger!r} in {shown(when)}; make the tries shorter, or n "
                "larger"
            )


def _require_way_back(policy: Policy) -> None:
    """Refuse a way back without a limit, and a rescue without a way back."""
    if policy.start_from == "here":
        if policy.max_rescues:
            raise SettingsError(
                f"max_rescues={policy.max_rescues} needs a healthy state to go back to; give "
                "start_from='before' or start_from='best'"
            )
        return
    if policy.max_rounds is None:
        raise SettingsError(
            f"start_from={policy.start_from!r} can go back again and again; say how often with "
            "max_rounds=10 (0 leaves rescues alone)"
        )
    from dynhp.criteria.combined import changes_with_progress  # few runs go back

    if policy.start_from == "best" and changes_with_progress(policy.criterion):
        raise SettingsError(
            "start_from='best' compares all epochs by one rule, but "
            f"{shown(policy.criterion)} changes it on the way; use start_from='before'"
        )


def _require_no_planned_end(policy: Policy) -> None:
    """Refuse a schedule that leads to an end, where none is known beforehand."""
    if policy.course is not None and getattr(policy.course, "needs_end", True):
        raise SettingsError(
            f"course={shown(policy.course)} leads to an end that must be known beforehand, and "
            f"until={shown(policy.until)} decides it on the way; leave one of the two out, or take "
            "averaged weights, which need no end"
        )


def _require_one_direction(when: Trigger | None, criterion: Criterion) -> None:
    """Refuse a trigger that calls worse what the criterion calls better."""
    direction = direction_of(criterion)
    for trigger in _each_of(when):
        sign = {"lower": -1, "higher": 1}.get(getattr(trigger, "better", ""), 0)
        same = set(looks_at(trigger)) & set(metrics_of(criterion))
        if same and sign * direction < 0:
            better = "higher" if direction > 0 else "lower"
            raise SettingsError(
                f"{trigger!r} and the criterion {shown(criterion)} must agree which is better; "
                f"give the trigger better={better!r}"
            )


def _require_randomness_of(proposer: Proposer, randomness: str | None) -> None:
    """Refuse random numbers with which the proposer makes no sense."""
    needed = getattr(proposer, "randomness", randomness)
    if needed != randomness:
        raise SettingsError(
            f"{shown(proposer)} makes sense only with randomness={shown(needed)}, got "
            f"{shown(randomness)}; leave the argument out"
        )


def _with_alarm(policy: Policy) -> Trigger:
    when = policy.when
    if not policy.max_rescues:
        return when
    from dynhp.triggers import any_of  # few runs rescue
    from dynhp.triggers.spike import NotFinite

    names = (*metrics_of(policy.criterion), *policy.watched)
    return any_of(when, NotFinite(tuple(dict.fromkeys(names))))


def _each_of(trigger: object) -> Iterator[Any]:
    """A trigger, and those that it is made of, however deep."""
    yield trigger
    for each in getattr(trigger, "triggers", ()):
        yield from _each_of(each)


def _shortest_period(trigger: object) -> int | None:
    """The epochs from one round to the next of the most frequent ``Every`` in it, however deep."""
    periods = [each.n for each in _each_of(trigger) if isinstance(each, Every)]
    return min(periods, default=None)
