"""One pass through the body of a loop: the values it gets, and the metrics it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex

from dynhp.errors import DynhpError, LoopError, UnknownName, nearest, shown
from dynhp.loops.named_number import NamedNumber
from dynhp.read_back import plain_metrics
from dynhp.records import Candidate, Metrics, Value

_FORMS: dict[int, Callable[[int], Any]] = {}


def pickle_epochs_as(form: Callable[[int], Any], *, protocol: int) -> None:
    """Make epochs be pickled under this protocol as another object that stands for their number.

    By default an epoch is pickled as the call ``int(3)``, since Python pickles only ``int`` itself
    as a number, never a subclass. The restricted unpicklers of some frameworks refuse that call.

    >>> import fractions, pickle
    >>> epoch = Epoch(Candidate({"lr": 0.1}), number=3, trying=True)
    >>> pickle_epochs_as(fractions.Fraction, protocol=1)
    >>> pickle.loads(pickle.dumps(epoch)), pickle.loads(pickle.dumps(epoch, protocol=1))
    (3, Fraction(3, 1))
    """
    _FORMS[protocol] = form


class Passes:
    """What the passes of one try, or of one stretch of the main line, have in common.

    >>> passes = Passes(Candidate({"lr": 0.1}), trying=False)
    >>> passes.epoch(4), passes.epoch(5)
    (Epoch(4, {'lr': 0.1}, main line), Epoch(5, {'lr': 0.1}, main line))
    """

    __slots__ = (
        "along",
        "ends_try",
        "names_read",
        "now",
        "place",
        "rescues",
        "tail",
        "trying",
        "values",
    )

    def __init__(
        self, values: Candidate, *, trying: bool, place: int | None = None, rescues: bool = False
    ) -> None:
        self.values = values
        # Those of all steps of a pass, if they move within it.
        self.along: tuple[Candidate, ...] = (values,)
        self.trying = trying
        self.place = place
        self.tail = False  # whether they are run only to judge a try, and then thrown away
        self.ends_try = False  # whether the pass under way is the last before a try is judged
        self.rescues = trying or rescues  # whether an exception ends this line, not the run
        self.names_read: set[str] = set()  # by the body
        self.now: Epoch | None = None  # the pass that the body is in

    def going_on(self, along: tuple[Candidate, ...], *, tail: bool = False) -> Passes:
        """The next passes of the same line, trained with other values, or in the tail of a try."""
        self.now = None  # a report on a pass from before comes too late
        passes = Passes(along[0], trying=self.trying, place=self.place, rescues=self.rescues)
        passes.along = along
        passes.names_read = self.names_read
        passes.tail = tail
        return passes

    def at_step(self, step: int, of: int) -> Candidate:
        """The values of a step of the pass: there may be fewer of them than steps.

        >>> low, high = Candidate({"lr": 0.1}), Candidate({"lr": 0.3})
        >>> passes = Passes(low, trying=False).going_on((low, high))
        >>> [passes.at_step(step, 4)["lr"] for step in range(5)]
        [0.1, 0.1, 0.3, 0.3, 0.3]
        """
        return self.along[min(step * len(self.along) // of, len(self.along) - 1)]

    def epoch(self, number: int, shown_as: int | None = None) -> Epoch:
        """Begin the next pass, which ends the one before. It must be cheap: it runs every step.

        A loop that does not count from 0 shows the number as another one.
        """
        epoch = int.__new__(Epoch, number if shown_as is None else shown_as)
        epoch._passes = self
        epoch.number = number
        self.now = epoch
        return epoch

    def take_metrics(self, *, required: bool) -> Metrics | None:
        """Give the metrics of the pass that has ended, or raise the exception that ended it."""
        epoch = self.now
        assert epoch is not None
        if epoch.failure is not None:
            raise epoch.failure
        if required and epoch.metrics is None:
            raise LoopError(
                f"{shown(epoch)} was not reported; call epoch.report(...) in every pass through "
                "the body, also before a continue, or use adapt(steps=...) to report now and then"
            )
        return epoch.metrics


class Epoch(NamedNumber):
    """One pass through the loop's body: a number, its values, and the place to report metrics.

    As a number it is the epoch (or step) of the main line that the pass stands for, as the loop
    counts: from 0, or like the range that it was given. ``number`` counts from 0 always. ``main``
    is false in tries: look at it before saving, logging or stopping early. If the body runs inside
    ``with epoch:``, an exception in a try fails that try and the run goes on; on the main line it
    is raised as usual, or begins a round if the run may be rescued.

    >>> epoch = Epoch(Candidate({"lr": 0.1}), number=3, trying=True)
    >>> epoch["lr"]; epoch.report(loss=0.5); epoch
    0.1
    Epoch(3, {'lr': 0.1}, a try)
    >>> print(f"epoch {epoch}, {epoch:03d}, {epoch % 2 == 1}, {epoch.main}")
    epoch 3, 003, True, False
    """

    metrics: Metrics | None = None
    failure: Exception | None = None
    number: int
    """The epoch (or step) of the main line, from 0 also if the loop counts otherwise."""
    _passes: Passes

    def __new__(cls, values: Candidate, *, number: int, trying: bool) -> Epoch:
        """Make an epoch by itself, outside a loop."""
        return Passes(values, trying=trying).epoch(number)

    def __repr__(self) -> str:
        kind = "a try" if self.trying else "main line"
        return f"Epoch({int(self)}, {dict(self._passes.values)}, {kind})"

    def __str__(self) -> str:
        return int.__repr__(self)

    def __copy__(self) -> int:
        return int(self)  # a copy, such as one in a state, is the number alone

    def __deepcopy__(self, memo: dict[int, Any]) -> int:
        return int(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        form = _FORMS.get(int(protocol))
        return (int, (int(self),)) if form is None else form(int(self)).__reduce_ex__(protocol)

    @property
    def trying(self) -> bool:
        """Whether this pass belongs to a try."""
        return self._passes.trying

    @property
    def main(self) -> bool:
        """Whether this pass is on the main line; false in tries, even in one that is kept later."""
        return not self._passes.trying

    @property
    def place(self) -> int | None:
        """The number of its try in the round, from 0; None on the main line and in repeats."""
        return self._passes.place

    @property
    def tail(self) -> bool:
        """Whether this pass only serves to judge a try: it is thrown away even if the try wins."""
        return self._passes.tail

    @property
    def ends_try(self) -> bool:
        """Whether a try is judged after this pass: measure here what it should be judged by.

        For loops over steps that measure now and then: ``if step % 100 == 0 or step.ends_try:``.
        """
        return self._passes.ends_try

    @property
    def values(self) -> Candidate:
        """All values of this pass."""
        self._passes.names_read.update(self._passes.values)
        return self._passes.values

    def __matmul__(self, name: str) -> Value:  # what epoch[name] is, see NamedNumber
        try:
            value = self._passes.values[name]
        except KeyError:
            known = self._passes.values
            raise LoopError(f"no hyperparameter {shown(name)}{nearest(name, known)}") from None
        self._passes.names_read.add(name)
        return value

    def __setitem__(self, name: str, value: Any) -> NoReturn:
        raise LoopError(
            f"the values of an epoch can only be read, as in epoch[{name!r}]; to train with "
            "others, list them in the space or give initial="
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # Python itself asks for such names
            raise AttributeError(name)
        if name in self._passes.values:
            raise UnknownName(f"values are read by name: write epoch[{name!r}], not epoch.{name}")
        raise UnknownName(
            f"an epoch has no {name!r}; it has report(...), values, number, main, trying, place, "
            "tail, ends_try, metrics and epoch['name'] for the value of a hyperparameter"
        )

    def report(
        self, metrics: Mapping[str, Any] | None = None, /, *others: NoReturn, **named: Any
    ) -> None:
        """Report what was measured after this epoch, in one call: by name, or as one mapping.

        Every epoch of a try needs a report; in a loop over steps, at least one step of each try.
        """
        if self._passes.now is not self:
            raise LoopError(f"{shown(self)} is over; report inside the body of its own pass")
        if self.metrics is not None:
            raise LoopError(f"{shown(self)} was reported already; report all metrics in one call")
        if others or not isinstance(metrics, Mapping | None):
            raise LoopError(
                "report() takes names, as in report(val_loss=0.3) or report({'val_loss': 0.3}), "
                f"got {', '.join(shown(each, 80) for each in (metrics, *others))[:200]}"
            )
        every = {**(metrics or {}), **named}
        if not every:
            raise LoopError("report() needs at least one metric, as in report(val_loss=0.3)")
        self.metrics = plain_metrics(every)

    def __enter__(self) -> Epoch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        # A broken contract ends the run, as KeyboardInterrupt does: no other value would help.
        ends_line = isinstance(error, Exception) and not isinstance(error, DynhpError)
        if ends_line and self._passes.rescues:
            self.failure = error  # type: ignore[assignment]
            return True
        return False
