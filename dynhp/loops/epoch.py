"""One pass through the body of a loop: the values it gets, and the metrics it reports."""

from __future__ import annotations

from types import TracebackType

from dynhp.errors import DynhpError, LoopError, nearest
from dynhp.records import Candidate, Metrics, Value
from dynhp.rounds.read_back import plain_metrics

__all__ = ["Epoch"]


class Epoch:
    """One pass through the loop's body: its values, and the place to report what was measured.

    Used as a context (``with epoch:``), an exception in a try fails that try and the run goes on;
    on the main line it is raised as usual.

    >>> epoch = Epoch(Candidate({"lr": 0.1}), number=3, trying=True)
    >>> epoch["lr"]; epoch.report(loss=0.5); epoch
    0.1
    Epoch(3, {'lr': 0.1}, a try)
    """

    def __init__(self, values: Candidate, *, number: int, trying: bool) -> None:
        self.values = values
        self.number = number
        self.trying = trying
        self.metrics: Metrics | None = None
        self.failure: Exception | None = None
        self._open = True

    def __repr__(self) -> str:
        kind = "a try" if self.trying else "main line"
        return f"Epoch({self.number}, {dict(self.values)}, {kind})"

    def __getitem__(self, name: str) -> Value:
        try:
            return self.values[name]
        except KeyError:
            raise LoopError(f"no hyperparameter {name!r}{nearest(name, self.values)}") from None

    def report(self, **metrics: float) -> None:
        """Say what was measured after this epoch; every epoch of a try needs it, once."""
        if not self._open:
            raise LoopError(f"{self!r} is over; report inside the body of its own pass")
        if self.metrics is not None:
            raise LoopError(f"{self!r} was reported already; report all metrics in one call")
        if not metrics:
            raise LoopError("report() needs at least one metric, as in report(val_loss=0.3)")
        self.metrics = plain_metrics(metrics)

    def required(self) -> Metrics:
        """The metrics of a try's epoch, or an error where the body went on without a report."""
        if self.metrics is None:
            raise LoopError(
                f"{self!r} was not reported; call epoch.report(...) in every pass through the "
                "body, also before a continue"
            )
        return self.metrics

    def close(self) -> None:
        """The body has gone on to the next pass, or has left the loop."""
        self._open = False

    def __enter__(self) -> Epoch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        # A broken contract ends the run, as KeyboardInterrupt does: no other value would help.
        if self.trying and isinstance(error, Exception) and not isinstance(error, DynhpError):
            self.failure = error
            return True
        return False
