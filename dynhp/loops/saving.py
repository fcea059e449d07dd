"""A loop's state for the user's own checkpoint: saved on the main line, also within a round."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dynhp._checks import is_number, is_whole
from dynhp.adapter import DynamicGridAdapter
from dynhp.best import BestEpoch, BestKeeper
from dynhp.engine.commands import RoundSoFar
from dynhp.errors import SettingsError, shown
from dynhp.loops.parts import GeneratorsBefore
from dynhp.read_back import plain_metrics
from dynhp.records import Round
from dynhp.records.plain import round_from_plain, round_to_plain
from dynhp.saved import held_states, parse_state
from dynhp.start import hint_at_length
from dynhp.trainer import trained_unit


def saved_loop(
    adapter: DynamicGridAdapter,
    under_way: RoundSoFar | None,
    keeper: BestKeeper | None,
    generators: GeneratorsBefore | None,
) -> dict[str, Any]:
    """All that decides a loop's own future, as plain data; the best epoch's state stays as it is.

    ``under_way`` is a round whose tries are over. The states that later rounds may start from, and
    the random generator, are then those of this moment.
    """
    saved = adapter.state_dict()
    begun = None
    if under_way is not None:
        begun = round_to_plain(under_way.round)
        saved["held"] = held_states(under_way.held, adapter.table)
        saved["generator"] = dict(under_way.generator)
    best = None
    if keeper is not None and keeper.best is not None:
        best = {
            "epoch": keeper.best.epoch,
            "metrics": dict(keeper.best.metrics),
            "score": keeper.best.score,
            "state": keeper.best.state,
        }
    return {
        "adapter": saved,
        "round": begun,
        "best": best,
        "generators": {} if generators is None else generators.to_plain(),
    }


def load_loop(
    adapter: DynamicGridAdapter,
    state: Mapping[str, Any],
    keeper: BestKeeper | None,
    generators: GeneratorsBefore | None,
) -> Round | None:
    """Load a loop's state, and return the round that was under way, if there was one.

    All of it is read and checked before any of it is used, except for the states of models and
    generators, which only these themselves can check.
    """
    names = {"adapter", "round", "best", "generators"}
    whole = isinstance(state, Mapping) and names <= set(state)
    if not whole or not isinstance(state["generators"], Mapping):
        raise SettingsError(
            f"not the state of a loop; give what state_dict() of one gave, got {shown(state)}"
        )
    begun, given = _parsed_round(adapter, state["adapter"], state["round"])
    best = None
    if state["best"] is not None:
        if keeper is None:
            raise SettingsError(
                "the saved loop kept its best epoch and this one does not; give the same keep_best="
            )
        best = _parsed_best(state["best"])
    planned = adapter.epochs
    adapter.load(state["adapter"], compare_start=given)
    hint_at_length(adapter.policy, adapter.epochs, planned)
    adapter.epochs = planned  # of this loop, which may be longer than the one that was saved
    if keeper is not None:
        keeper.best = best
    if generators is not None:
        generators.load_plain(state["generators"])
    return begun


def _parsed_best(plain: Any) -> BestEpoch:
    """The best epoch of a saved loop."""
    try:
        best = BestEpoch(**{**plain, "metrics": plain_metrics(plain["metrics"])})
        sound = is_number(best.score) and math.isfinite(best.score)
        if not sound or not is_whole(best.epoch, least=0):
            raise ValueError(f"no epoch {shown(best.epoch)} ever scored {shown(best.score)}")
    except Exception as damage:
        raise SettingsError(
            f"the saved best epoch is damaged ({type(damage).__name__}: {str(damage)[:200]}); use "
            "another state"
        ) from damage
    return best


def _parsed_round(adapter: DynamicGridAdapter, saved: Any, plain: Any) -> tuple[Round | None, bool]:
    """The round that was under way, and whether the start of this adapter is a setting.

    With that round, the saved run must fit this adapter.
    """
    begun = None
    whole = saved
    if plain is not None:
        try:
            begun = round_from_plain(plain)
            whole = {
                **saved,
                "history": [*saved["history"], plain],
                "current": dict(begun.candidate),
            }
        except Exception as damage:
            raise SettingsError(
                f"the saved state is damaged ({type(damage).__name__}: {str(damage)[:200]}); use "
                "another one"
            ) from damage
    given = adapter.start_is_given(whole)
    done = parse_state(adapter.policy, whole, compare_start=given).history.epochs
    if adapter.epochs is not None and done > adapter.epochs:
        raise SettingsError(
            f"the saved loop has {done} {trained_unit(adapter.trainer)} already, more than the "
            f"{adapter.epochs} of this one; ask for at least as many"
        )
    return begun, given
