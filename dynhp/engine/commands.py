"""The commands in which the engine speaks, and the replies that a driver sends back.

How long a state is kept follows from the commands alone:

========================  =====================================================================
``Snapshot``              gives a name to the state that the trainer is in, or the name that it has
                          already; the state is kept until ``Drop``. The first one of a round names
                          the state that an undone round goes back to: no ``Drop`` releases it
``StartFrom``             releases the state in which the round began, unless the memory refers to
                          it, and keeps this one instead
``Attempt``               gives names to the states of a job, also of one that failed; they are
                          kept until the next ``Attempt``
``Keep``                  keeps one of those until ``Drop``
``Hold``                  keeps a state beyond the round: the next ``Memory`` refers to it
``Drop``                  releases a state. The engine never sends it for one that the memory
                          from before the round refers to
the end of a round        releases all states except those that the new memory refers to
a round that is undone    releases all states except those that the old memory refers to
========================  =====================================================================

A name costs nothing: a driver copies a named state only when the trainer is about to leave it, or
at ``Hold``. A state that the trainer is in has its name, even after ``Drop``, until the next
``Attempt`` or ``Train``, also if that has no epochs.

A round of two tries in this process, the second of which wins, with three epochs of the main line
after them::

    Snapshot() -> 1               the origin
    Tell(RoundStarted)
    Announce((job, job))          both start from state 1
    Attempt(job) -> Tried(2)      the first try ends in state 2
    Keep(2)                       it is the best so far
    Tell(Try)
    Attempt(job) -> Tried(3)
    Drop(2)                       the second is better
    Keep(3)
    Tell(Try)
    Restore(3)                    the trainer is there already
    Drop(3)                       so no copy is needed
    Train(values, 3) -> Trained
    Tell(Round)

The tries of a race of three, in two stages of one epoch; the last one wins::

    Announce((job, job, job))     all start from state 1
    Attempt(job) -> Tried(2)
    Keep(2)
    Tell(Try, place=0)            scored, but not final
    Attempt(job) -> Tried(3)
    Keep(3)                       two of three go on
    Tell(Try, place=1)
    Attempt(job) -> Tried(4)
    Drop(3)                       the second has fallen behind: dropped before the next is kept
    Keep(4)
    Tell(Try, place=2)
    Tell(Try)                     the second again, now final: those that fell behind are told
                                  when the stage has ended, in their order
    Announce((job, job))          they go on from 2 and from 4
    Attempt(job) -> Tried(5)
    Drop(2)                       where this job started: no other job does
    Keep(5)
    Tell(Try, place=0)            final
    Attempt(job) -> Tried(6)
    Drop(5)
    Drop(4)
    Keep(6)
    Tell(Try, place=2)
    Restore(6)
    Drop(6)

A rescue with ``start_from="before"``: the memory refers to states 8 and 9, and the trainer broke
after 9. The round in which it broke has ended there; this is the next one::

    Snapshot() -> 10              the broken state; it is never copied
    StartFrom(9)                  if the round is undone now, the trainer goes back to 9
    Tell(RoundStarted)
    ...                           two tries from state 9, as above: 11 and 12
    Snapshot() -> 12              the end of the try that is kept
    Hold(12)                      8 and 9 stay as well, as long as the round may be undone
    Train(values, 1) -> Trained   up to the next state to hold, or the next look of the trigger
    Snapshot() -> 13
    Hold(13)
    ...                           the next one to be held is followed by Drop(12), and so on
    Tell(Round)                   the newest two stay. Also if it broke again: then the next round
                                  is a rescue or, if none is left, an error in a healthy state

An exception in ``Train`` ends the round in the same way if a rescue is left; if none is, the round
is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from dynhp.best import BestRule
from dynhp.engine.memory import Held, Memory, StateRef
from dynhp.records import Candidate, Event, Metrics, Round

Beat: TypeAlias = Callable[[int, Metrics | None], None]
"""Called after each epoch, for displays: the epochs done, and the metrics of the last, if any."""


@dataclass(slots=True)  # not frozen, because two are made for each try
class Job:
    """What to train from where: one candidate for some epochs, from one state.

    Attributes:
        origin: where it starts: the name of a state in the engine, the state itself in an executor.
        candidate: the values to train with.
        epochs: how many epochs to train with them.
        seed: what to seed the trainer's generators with first, if anything.
        watch: the metrics that must stay finite.
        repeat: whether it is run again only to compare, so that it is not a try.
        scheduled: the values of each of its epochs, if the policy has a schedule.
        tail: the values of extra epochs, trained only to judge the try.
        per_epoch: how many values of both an epoch has: more than one if they move within it.
        keeps: whether the state before the tail may be asked for.
        compared: whether the state after the tail may be asked for too.
        inner_rule: which state before its end is wanted as well, if any, for ``start_from="best"``.
        start: the number of its first epoch, as the main line counts.
        epochs_before: how many epochs its try had before this job.
        place: the place of its try among those of the round.
        beat: called after each epoch, for displays; None in a copy for another process.

    >>> Job(origin=0, candidate=Candidate({"lr": 0.1}), epochs=2, watch=("loss",)).epochs
    2
    """

    origin: Any
    candidate: Candidate
    epochs: int
    seed: int | None = None
    watch: tuple[str, ...] = ()
    repeat: bool = False
    scheduled: tuple[Candidate, ...] = ()
    tail: tuple[Candidate, ...] = ()
    per_epoch: int = 1
    keeps: bool = True
    compared: bool = False
    inner_rule: BestRule | None = None
    start: int = 0
    epochs_before: int = 0
    place: int | None = None
    beat: Beat | None = field(default=None, compare=False, repr=False)

    def from_state(self, state: Any) -> Job:
        """The same job, with the state itself in place of its name."""
        return Job(  # by position, which takes half of the time
            state,
            self.candidate,
            self.epochs,
            self.seed,
            self.watch,
            self.repeat,
            self.scheduled,
            self.tail,
            self.per_epoch,
            self.keeps,
            self.compared,
            self.inner_rule,
            self.start,
            self.epochs_before,
            self.place,
            self.beat,
        )

    @property
    def tail_epochs(self) -> int:
        """How many epochs the tail has."""
        return len(self.tail) // self.per_epoch

    @property
    def last_values(self) -> Candidate:
        """The values of its last epoch."""
        return (self.tail or self.scheduled or (self.candidate,))[-1]


# ---- replies --------------------------------------------------------------------------------
class Tried(NamedTuple):
    """The result of a job, with the names of its states.

    The states are forgotten when the next job begins, unless ``Keep`` asked to keep them.
    """

    series: tuple[Metrics, ...]
    epochs: int  # how many were begun, the one that failed included
    error: str | None
    end: StateRef  # the state after its last epoch
    kept: StateRef  # the one that the main line would go on from: before the tail, if there is one.
    # A try that was not carried out in the trainer itself has two names even without a tail.
    reported: tuple[int, ...] = ()  # the epochs, from 1, that the series belongs to; (): no gap
    seconds: float = 0.0
    elsewhere: bool = False  # in another process, into which nothing here can look


class Trained(NamedTuple):
    """The result of training a piece of the main line."""

    epochs: int  # completed, the one that failed not included
    measured: tuple[tuple[int, Metrics], ...] = ()  # with the numbers of the epochs
    failure: str | None = None  # the exception that ended it, if that may be rescued
    left: bool = False  # the loop was left here


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a look at everything that the training code can reach has found."""

    left_behind: Sequence[str] = ()  # what the tries changed outside the state
    suspects: Sequence[str] = ()  # what may be missing in the state, likely things first
    hints: Sequence[str] = ()  # what went on outside the state and did no harm
    part_names: Sequence[str] = ()  # of a state that is a sequence of parts
    in_a_loop: bool = False  # whether hints have a reader: the author of a loop


# ---- commands -------------------------------------------------------------------------------
# They are not frozen, because that would double the time to make them, and a round makes dozens.
# Middleware passes on another command (``dataclasses.replace``) and never changes one.
@dataclass(slots=True)
class Snapshot:
    """Remember the state that the trainer is in. Reply: its name, a ``StateRef``."""


@dataclass(slots=True)
class Hold:
    """Keep this state beyond the round, where snapshots are kept: a later one may start from it."""

    ref: StateRef


@dataclass(slots=True)
class Restore:
    """Bring the trainer to a state, and seed its generators if a seed is given."""

    ref: StateRef
    seed: int | None = None


@dataclass(slots=True)
class StartFrom:
    """The round starts from an earlier state: bring the trainer there.

    If the round is undone, the trainer is brought back to this state, no longer to where it was.
    """

    ref: StateRef


@dataclass(slots=True)
class Announce:
    """The jobs that come next, one ``Attempt`` each, so that workers may begin them."""

    jobs: tuple[Job, ...]


@dataclass(slots=True)
class Attempt:
    """Carry out a job. Reply: ``Tried``."""

    job: Job


@dataclass(slots=True)
class Look:
    """After an ``Attempt`` and before the next job: a fingerprint of one of its states.

    Reply: ``Fingerprint``, or None if the try was carried out by an earlier process that did not
    look.
    """

    ref: StateRef
    tolerance: float


@dataclass(slots=True)
class Keep:
    """After an ``Attempt`` and before the next job: this round may need that state of it.

    Reply: the best intermediate state of the job, a ``Held``, if the job wants one and has one.
    """

    ref: StateRef


@dataclass(slots=True)
class Drop:
    """This state is needed no longer."""

    ref: StateRef


class RoundSoFar(NamedTuple):
    """A round while its stretch is being trained, and what else decides the future there."""

    round: Round  # as it is recorded if it ends here
    held: tuple[Held, ...]  # the states that later rounds may start from
    generator: Mapping[str, Any]  # the state of the run's own random generator


@dataclass(slots=True)
class Train:
    """Train the main line from where the trainer is.

    With 0 epochs, if the tries were the whole round, it only puts the values in force. Reply:
    ``Trained``. ``scheduled`` has the values of each epoch, if the policy has a schedule, or so
    many ``per_epoch`` if they move within it; ``values`` are then its height. ``from_try`` is the
    place of the try that it goes on from, None if it goes on from the origin or was begun before.
    ``may_be_rescued`` says that an exception does not end the run, ``measure_each`` that each epoch
    must be measured. ``so_far`` gives the record of the round as if it ended after the epochs so
    far: a loop saves that in the middle of a round.
    """

    values: Candidate
    epochs: int
    start: int  # the number of its first epoch
    first: int  # that of the first epoch of the whole stretch
    planned: int  # the epochs of the whole stretch, at most
    so_far: Callable[[Trained], RoundSoFar]
    scheduled: tuple[Candidate, ...] = ()
    per_epoch: int = 1
    from_try: int | None = None
    may_be_rescued: bool = False
    measure_each: bool = False
    beat: Beat | None = None  # called after each epoch, for displays


class NothingTrained(Exception):
    """A loop was left before its round had any epoch on the main line: the round is undone."""


@dataclass(slots=True)
class Tell:
    """Something happened: for callbacks, journals and displays.

    A try is told with its ``place`` each time it is scored. In a race that may be several times;
    only the last is ``final``, an event for callbacks. A try that fell behind is told once more,
    without its place, when its stage has ended: that is final.
    """

    event: Event
    place: int | None = None
    final: bool = True


@dataclass(slots=True)
class Reach:
    """Look at what the training code can reach besides the state. Reply: ``Reached``.

    Sent in a round that is checked: at its beginning, after the first try that succeeds, and for
    each repeat once at the origin and once with its result: it "differs" or is "equal". Only the
    replies to these two contain anything.
    """

    moment: Literal["begin", "first try", "back at origin", "differs", "equal"]
    tolerance: float = 0.0


@dataclass(slots=True)
class Agree:
    """Exchange this with the other ranks of the run. Reply: what each rank said, in their order."""

    said: Any


Command: TypeAlias = (
    Snapshot
    | Hold
    | Restore
    | StartFrom
    | Announce
    | Attempt
    | Look
    | Keep
    | Drop
    | Train
    | Tell
    | Reach
    | Agree
)
"""What the engine asks of a driver."""

Commands: TypeAlias = Generator[Command, Any, Memory]
"""One round: it yields commands, is sent replies, and returns the memory after it."""

Middleware: TypeAlias = Callable[[Commands, Memory], Commands]
"""Stands between engine and driver: it is given the commands of a round and the memory before it.

It passes commands on and replies back, and may look at both. It may end the run by raising between
two commands: then the round under way is undone. Before the first command of a round, nothing is
lost by that. On several ranks all must raise at the same command, or the others wait forever: yield
``Agree(whether)`` first, and go by what any rank has said.
"""
