"""The logger of Weights & Biases: a row for each epoch, each once, also after a kill."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import wandb

from dynhp.errors import CheckpointError, SettingsError, shown
from dynhp.records import Event
from dynhp.report import Scalar, ScalarLog
from dynhp_wandb.offline import rows_in

__all__ = ["WandB"]

NUMBER = "dynhp/row"
STEPS = {"main": "dynhp/epoch", "tries": "dynhp/try_epoch"}
SERIES = {"main": ("main", "schedule", "cost"), "tries": ("tries", "values", "try")}
TAIL = 128 << 10
"""How many bytes of the last rows a checkpoint has: a killed process may lose that many."""


class WandB:
    """A callback that logs a run to Weights & Biases, a row for each epoch.

    The main line (``main/<metric>``), the ``schedule/<name>`` and ``cost/...`` are drawn over
    ``dynhp/epoch``; ``tries/<metric>``, ``values/<name>`` and ``try/...`` over ``dynhp/try_epoch``,
    an axis of their own. W&B's own step is left alone, so you can log beside. Whether anything is
    sent anywhere is decided by ``wandb.init(mode=...)``, which you call.

    Args:
        run: what ``wandb.init`` gave; the run that is active when training starts by default.
        tries: whether the tries are logged too.
        on_error: ``"stop"`` where rows cannot be logged, or ``"warn"`` and log them later.

    >>> from dynhp import DynamicGridAdapter
    >>> from dynhp.testing import Quadratic
    >>> run = wandb.init(mode="disabled")  # or "offline", or "online"
    >>> adapter = DynamicGridAdapter(Quadratic(), {"lr": [0.1, 0.5]}, minimize="loss",
    ...                              adapt_every=5, try_for=1, callbacks=[WandB(run)])
    >>> adapter.run(10).epochs
    10
    >>> run.finish()
    """

    def __init__(
        self,
        run: wandb.Run | None = None,
        *,
        tries: bool = True,
        on_error: Literal["stop", "warn"] = "stop",
    ) -> None:
        if run is not None and not callable(getattr(run, "define_metric", None)):
            raise SettingsError(
                f"WandB: run must be what wandb.init(...) gave, got {shown(run)}; write "
                "WandB(wandb.init(project=..., mode='offline'))"
            )
        self._run: Any = run
        self._axes = ("main", "tries") if tries else ("main",)
        self._log = ScalarLog(self._write, name="WandB", on_error=on_error)
        self._begun = False
        self._count = 0  # rows of the rounds that were handed over
        self._logged = 0  # rows that are in the output, which may be more
        self._last_rows: list[dict[str, Any]] = []
        self._files: list[str] = []  # of offline runs, of this process and of those before it
        self._resumed = False

    def __call__(self, event: Event) -> None:
        """Log what a round came to, when it is over."""
        self._begin()
        self._log(event)

    def position(self) -> dict[str, Any]:
        """How many rows there are, and the last of them, which W&B may not have on disk yet."""
        self._begin()
        log = self._log.position()
        return {
            "log": log,
            "rows": self._count,
            "last": [dict(row) for row in self._last_rows],
            "files": list(self._files),
        }

    def rewind(self, position: Any) -> None:
        """Go on after the rows of a position; what is in the output beyond them is not repeated."""
        match position:
            case {"log": log, "rows": int(rows), "last": list(last), "files": list(files)}:
                self._log.rewind(log)
                self._count = rows
                self._last_rows = [dict(row) for row in last]
                self._files = list(files)
                self._resumed = True
            case _:
                raise CheckpointError(
                    f"WandB: not a position of this logger, got {shown(position)}; go on without "
                    "it, or from another checkpoint"
                )

    def _begin(self) -> None:
        if self._begun:
            return
        run = wandb.run if self._run is None else self._run
        if run is None:
            raise SettingsError(
                "WandB: no run is active; call wandb.init(...) before training starts, or give "
                "what it returned: WandB(run)"
            )
        self._run, self._begun = run, True
        for axis in self._axes:
            run.define_metric(STEPS[axis], hidden=True)
            for series in SERIES[axis]:
                run.define_metric(f"{series}/*", step_metric=STEPS[axis])
        if self._resumed:
            self._logged = self._rows_there()
            self._log_missing()
        if run.offline:
            self._files.append(str(run.settings.sync_file))

    def _rows_there(self) -> int:
        """How many rows the killed process has brought to its file, or to the server."""
        if not self._run.offline:
            return int(self._run.summary.get(NUMBER, self._count - 1)) + 1
        files = [path for path in map(Path, self._files) if path.exists()]
        numbers = [
            int(json.loads(row[NUMBER])) for path in files for row in rows_in(path) if NUMBER in row
        ]
        return max(numbers, default=-1) + 1 if files else self._count

    def _log_missing(self) -> None:
        """Log the rows before the checkpoint that a killed process had not yet brought to disk."""
        for row in self._last_rows:
            if row[NUMBER] >= self._logged:
                self._run.log(row)
        self._logged = max(self._logged, self._count)

    def _write(self, scalars: Sequence[Scalar]) -> None:
        rows = list(self._rows(scalars))
        for row in rows:
            if row[NUMBER] >= self._logged:
                self._run.log(row)
                self._logged = row[NUMBER] + 1
        self._count += len(rows)
        self._keep(rows)

    def _rows(self, scalars: Sequence[Scalar]) -> Iterator[dict[str, Any]]:
        rows: dict[tuple[str, int], dict[str, Any]] = {}
        for axis, series, step, value in scalars:
            if axis in self._axes:
                rows.setdefault((axis, step), {STEPS[axis]: step})[series] = value
        for place, row in enumerate(rows.values()):
            yield {**row, NUMBER: self._count + place}

    def _keep(self, rows: list[dict[str, Any]]) -> None:
        self._last_rows += rows
        size = 0
        for place in range(len(self._last_rows), 0, -1):
            size += len(repr(self._last_rows[place - 1]))
            if size > TAIL:
                self._last_rows = self._last_rows[place - 1 :]
                return
