"""A run of a campaign in the form of a trainer, so that every executor can carry it out."""

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
from dynhp.storage.codecs.json_text import MOST_JSON
from dynhp.trainer import State

__all__ = ["RunTrainer", "finished"]

_MOST_BYTES = MOST_JSON // 2  # the settings are on the same line, which must be readable
_MOST_CHARACTERS = 2000  # of an error, in a table for people


class RunTrainer:
    """A trainer whose state is first the settings of a run and then its result or error.

    >>> from dynhp.testing.toys.quadratic import divided
    >>> trainer = RunTrainer(divided)
    >>> trainer.set_state({"a": 6, "b": 3})
    >>> trainer.train_k(1, {})
    >>> trainer.get_state()
    {'result': {'quotient': 2.0}}
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._state: State = None

    def set_state(self, state: State) -> None:
        """Take the settings, as a copy: the run may write into them."""
        self._state = deepcopy(state)

    def train_k(self, k: int, hyperparameters: Mapping[str, object]) -> None:
        """Carry out the run; what it raises becomes its error, so that the other runs go on."""
        try:
            self._state = {"result": _checked(self._function(**self._state))}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also sys.exit, which would end the others with it
            self._state = {"error": _text(error), "details": _details(error)}

    def get_state(self) -> State:
        """Hand out the result or the error."""
        return self._state

    def metrics(self) -> dict[str, float]:
        """None are needed."""
        return {}


def finished(outcome: Outcome, settings: Settings) -> Finished:
    """Read from an outcome how a run ended."""
    end: Mapping[str, Any]
    try:
        end = {"error": outcome.error} if outcome.error is not None else outcome.keep()
    except ContractError as lost:  # its worker was lost after the run had ended
        end = {"error": str(lost)}
    return Finished(
        settings=settings,
        result=end.get("result"),
        error=end.get("error"),
        details=end.get("details"),
        seconds=outcome.seconds,
    )


def _checked(result: Any) -> Any:
    if not isinstance(result, Mapping):
        raise TypeError(
            f"a run must return a mapping of names to plain data, got {result!r:.200}; return "
            "{'name': value}"
        )
    checked = plain(result, "result")
    size = len(json.dumps(checked))
    if size > _MOST_BYTES:
        raise ValueError(
            f"a result must take at most {_MOST_BYTES} bytes of JSON, got {size}; write what is "
            "large into a file of its own and return its name"
        )
    return checked


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")[:_MOST_CHARACTERS]


def _details(error: BaseException) -> str:
    trace = error.__traceback__
    inside = trace.tb_next if trace is not None else None  # without the call in train_k
    lines = traceback.format_exception(type(error), error, inside)
    return "".join(lines)[-50 * _MOST_CHARACTERS :]
