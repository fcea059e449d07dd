"""The results of a campaign, as records and as a table."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, overload

__all__ = ["CampaignResults", "Finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One run: its settings and what it returned, or the error it failed with and the details.

    Attributes:
        settings: what the function was called with.
        result: what it returned, None if it failed.
        error: the last line of the error, None if it did not fail.
        details: the traceback, if there is one; not compared.
        seconds: how long it took; not compared.

    >>> Finished(settings={"seed": 0}, result={"auc": 0.9}).error is None
    True
    """

    settings: Mapping[str, Any]
    result: Mapping[str, Any] | None
    error: str | None = None
    details: str | None = field(default=None, compare=False)
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class CampaignResults(Sequence[Finished]):
    """The runs of a campaign, in the order in which they were asked for.

    >>> done = Finished(settings={"seed": 0}, result={"auc": 0.9, "curve": [0.5, 0.9]})
    >>> CampaignResults((done,)).csv()
    'seed,auc,error\\n0,0.9,\\n'
    """

    runs: tuple[Finished, ...]

    @property
    def failed(self) -> tuple[Finished, ...]:
        """The runs that have no result."""
        return tuple(run for run in self.runs if run.error is not None)

    def rows(self) -> list[dict[str, Any]]:
        """Give settings, results and error of each run, side by side.

        A result with the name of a setting, or ``error``, is called ``result.<name>`` here.
        """
        taken = {*self._settings(), "error"}
        return [
            {
                **run.settings,
                **{
                    f"result.{name}" if name in taken else name: value
                    for name, value in (run.result or {}).items()
                },
                "error": run.error,
            }
            for run in self.runs
        ]

    def csv(self) -> str:
        """Write a row for each run; lists and mappings among the results are left out.

        The seconds are left out, too: equal campaigns give equal bytes.
        """
        rows = self.rows()
        columns = self._settings()
        for row in rows:
            columns |= {name: None for name, value in row.items() if _is_cell(value)}
        columns.pop("error", None)
        columns["error"] = None  # comes last
        lines: list[str] = []
        writer = csv.writer(SimpleNamespace(write=lines.append))
        writer.writerow(columns)
        writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
        # csv.writer quotes cells that hold characters of its line end. So it writes with "\r\n",
        # and the ends are shortened to "\n" afterwards.
        return "".join(f"{line[:-2]}\n" for line in lines)

    def _settings(self) -> dict[str, None]:
        return {name: None for run in self.runs for name in run.settings}

    @overload
    def __getitem__(self, index: int) -> Finished: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finished, ...]: ...
    def __getitem__(self, index: int | slice) -> Finished | tuple[Finished, ...]:
        return self.runs[index]

    def __len__(self) -> int:
        return len(self.runs)


def _is_cell(value: Any) -> bool:
    return not isinstance(value, list | dict)


def _cell(value: Any) -> Any:
    """A list among the settings is written, as JSON, because runs may differ in nothing else."""
    return value if _is_cell(value) else json.dumps(value)
