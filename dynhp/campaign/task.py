"""A run of a campaign in the clothes of a trainer, so that every executor can carry it out."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from dynhp.campaign.data import plain
from dynhp.campaign.request import Function, Settings
from dynhp.campaign.results import Finished
from dynhp.errors import ContractError
from dynhp.rounds.jobs import Outcome
from dynhp.storage.codecs.decoder import MOST_JSON
from dynhp.trainer import State

__all__ = ["Runs", "finished"]

_MOST = MOST_JSON // 2  # the settings are on the same line, which must be readable
_LONGEST = 2000  # characters of an error, in a table for people


class Runs:
    """A trainer whose state is first the settings of a run and then what came of it.

    >>> from dynhp.testing.toys.quadratic import divided
    >>> trainer = Runs(divided)
    >>> trainer.set_state({"a": 6, "b": 3})
    >>> trainer.train_k(1, {})
    >>> trainer.get_state()
    {'result': {'quotient': 2.0}}
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._state: State = None

    def set_state(self, state: State) -> None:
        """Take the settings; they are the run's own, and it may write into them."""
        self._state = deepcopy(state)

    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None:
        """Carry out the run; what it raises is told, not raised: the others are to go on."""
        try:
            self._state = {"result": _checked(self._function(**self._state))}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also sys.exit, which would end the others with it
            self._state = {"error": _told(error), "details": _details(error)}

    def get_state(self) -> State:
        """Hand out what came of it."""
        return self._state

    def metrics(self) -> dict[str, float]:
        """None that anybody asks for."""
        return {}


def finished(outcome: Outcome, settings: Settings) -> Finished:
    """Read from an outcome what came of a run."""
    told: Mapping[str, Any]
    try:
        told = {"error": outcome.error} if outcome.error is not None else outcome.keep()
    except ContractError as lost:  # its worker was lost after the run had ended
        told = {"error": str(lost)}
    return Finished(
        settings=settings,
        result=told.get("result"),
        error=told.get("error"),
        details=told.get("details"),
        seconds=outcome.seconds,
    )


def _checked(result: Any) -> Any:
    if not isinstance(result, Mapping):
        raise TypeError(
            f"a run must return a mapping of names to plain data, got {result!r:.200}; return "
            "{'name': value}"
        )
    found = plain(result, "result")
    size = len(json.dumps(found))
    if size > _MOST:
        raise ValueError(
            f"a result must take at most {_MOST} bytes of JSON, got {size}; write what is large "
            "into a file of its own and return its name"
        )
    return found


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")[:_LONGEST]


def _details(error: BaseException) -> str:
    trace = error.__traceback__
    inside = trace.tb_next if trace is not None else None  # without our own call
    return "".join(traceback.format_exception(type(error), error, inside))[-50 * _LONGEST :]
