"""The logger of MLflow: metrics by epoch, each point once, also after a kill."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import mlflow
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient

from dynhp.errors import CheckpointError, SettingsError, advise, shown
from dynhp.records import Event
from dynhp.report import Scalar, ScalarLog
from dynhp_mlflow.names import Names

__all__ = ["MLflow"]

AT_ONCE = 500
"""MLflow takes up to 1000 points in a call."""


class MLflow:
    """A callback that logs a run to MLflow, into the run that is active or the one that is named.

    ``main/<metric>``, ``schedule/<name>`` and ``cost/...`` have the epoch of the main line as their
    step; ``tries/<metric>``, ``values/<name>`` and ``try/...`` the epochs trained in tries so far.
    A run that goes on from a checkpoint goes on in the MLflow run that it was logged to.

    Args:
        run_id: of an MLflow run; the run that is active when training starts by default.
        tracking_uri: of the store, such as ``"sqlite:///mlflow.db"``; the one in force by default.
        tries: whether the tries are logged too.
        on_error: ``"stop"`` where points cannot be logged, or ``"warn"`` and log them later.

    >>> callbacks = [MLflow()]  # of an adapter or a loop, inside ``with mlflow.start_run():``
    >>> MLflow(run_id=3)
    Traceback (most recent call last):
    dynhp.errors.SettingsError: MLflow: run_id must be the id of a run, got 3
    """

    def __init__(
        self,
        run_id: str | None = None,
        *,
        tracking_uri: str | None = None,
        tries: bool = True,
        on_error: Literal["stop", "warn"] = "stop",
    ) -> None:
        if not (run_id is None or (isinstance(run_id, str) and run_id)):
            raise SettingsError(f"MLflow: run_id must be the id of a run, got {shown(run_id)}")
        self.run_id = run_id
        self._uri = tracking_uri
        self._axes = ("main", "tries") if tries else ("main",)
        self._log = ScalarLog(self._write, name="MLflow", on_error=on_error)
        self._names = Names()
        self._client: Any = None
        self._resumed = False
        # Where it is not known what is in the store, the steps of each series that are there.
        self._there: dict[str, set[int]] | None = None

    def __call__(self, event: Event) -> None:
        """Log what a round came to, when it is over."""
        self._begin()
        self._log(event)

    def position(self) -> dict[str, Any]:
        """What has been logged, and to which run."""
        self._begin()
        return {"log": self._log.position(), "run_id": self.run_id}

    def rewind(self, position: Any) -> None:
        """Go on after a position, in its run; points that are there already are not repeated."""
        match position:
            case {"log": log, "run_id": str(run_id)}:
                pass
            case _:
                raise CheckpointError(
                    f"MLflow: not a position of this logger, got {shown(position)}; go on without "
                    "it, or from another checkpoint"
                )
        if self.run_id not in (None, run_id):
            raise CheckpointError(
                f"MLflow: this run was logged to the MLflow run {run_id!r}, got run_id="
                f"{self.run_id!r}; leave run_id out, and it goes on there"
            )
        self._log.rewind(log)
        self.run_id, self._resumed, self._there = run_id, True, {}

    def _begin(self) -> None:
        if self._client is not None:
            return
        active = mlflow.active_run()
        if self.run_id is None:
            if active is None:
                raise SettingsError(
                    "MLflow: no run is active; train inside `with mlflow.start_run():`, or give "
                    "the id of a run: MLflow(run_id=...)"
                )
            self.run_id = active.info.run_id
        client = MlflowClient(tracking_uri=self._uri)
        before = client.get_run(self.run_id).data.metrics
        if not self._resumed and "cost/spent" in before:
            raise CheckpointError(
                f"MLflow: the run {self.run_id!r} holds a run of dynhp already; start another one, "
                "or go on from a checkpoint"
            )
        if self._resumed and active is not None and active.info.run_id != self.run_id:
            advise(
                f"MLflow: this goes on in the MLflow run {self.run_id!r}, not in the active one; "
                f"start it again by mlflow.start_run(run_id={self.run_id!r})"
            )
        self._client = client

    def _write(self, scalars: Sequence[Scalar]) -> None:
        now = int(time.time() * 1000)
        points = [
            Metric(key=name, value=scalar.value, timestamp=now, step=scalar.step)
            for name, scalar in self._named(scalars)
            if self._there is None or scalar.step not in self._steps(name, self._there)
        ]
        try:
            for start in range(0, len(points), AT_ONCE):
                batch = points[start : start + AT_ONCE]
                self._client.log_batch(self.run_id, metrics=batch, synchronous=True)
        except BaseException:
            self._there = {}  # some may be there now
            raise

    def _named(self, scalars: Sequence[Scalar]) -> Iterator[tuple[str, Scalar]]:
        for scalar in scalars:
            if scalar.axis in self._axes:
                yield self._names[scalar.series], scalar

    def _steps(self, name: str, there: dict[str, set[int]]) -> set[int]:
        if name not in there:
            history = self._client.get_metric_history(self.run_id, name)
            there[name] = {metric.step for metric in history}
        return there[name]
