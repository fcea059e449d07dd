"""A loop in a checkpoint of the user's: saved on the main line, also in the middle of a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from dynhp.adapter import DynamicGridAdapter
from dynhp.errors import LoopError, SettingsError, shown
from dynhp.loops.best import BestEpoch, BestKeeper
from dynhp.loops.epoch import Epoch
from dynhp.records import Round
from dynhp.rounds.plain import round_from_plain, round_to_plain
from dynhp.rounds.saved import parse_state
from dynhp.rounds.steps import Step, TrainStretch
from dynhp.trainer import trained_unit

__all__ = ["load_loop", "saved_loop"]


def saved_loop(
    adapter: DynamicGridAdapter,
    work: Step | None,
    epoch: Epoch | None,
    keeper: BestKeeper | None,
) -> dict[str, Any]:
    """All that decides a loop's own future, as plain data; the state of ``keep_best`` as it is."""
    begun = None if work is None else round_to_plain(_begun_round(work, epoch))
    best = None if keeper is None else keeper.best
    return {
        "adapter": adapter.state_dict(),
        "round": begun,
        "best": best and {each.name: getattr(best, each.name) for each in fields(best)},
    }


def _begun_round(work: Step, epoch: Epoch | None) -> Round:
    """The round as it would be recorded if the loop were left now."""
    if not isinstance(work, TrainStretch):
        raise LoopError(
            "a try is undone, so a loop is not saved in one; save it under `if epoch.main:`"
        )
    if epoch is None:  # between two epochs
        return work.record()
    if epoch.metrics is None:
        raise LoopError(
            f"{shown(epoch)} counts as done once it is reported; call report(...) first, and save "
            "the loop after it"
        )
    return replace(work, epochs=work.epochs + 1, metrics=epoch.metrics).record()


def load_loop(
    adapter: DynamicGridAdapter, state: Mapping[str, Any], keeper: BestKeeper | None
) -> Round | None:
    """Take a loop's state back; the round that was under way is given, if there was one.

    All of it is read and checked before any of it is used.
    """
    if not isinstance(state, Mapping) or not {"adapter", "round", "best"} <= set(state):
        raise SettingsError(
            f"not the state of a loop; give what state_dict() of one gave, got {shown(state)}"
        )
    begun = _parsed_round(adapter, state["adapter"], state["round"])
    best = _parsed_best(state["best"], keeper)
    planned = adapter.epochs
    adapter.load_state_dict(state["adapter"])
    adapter.epochs = planned  # of this loop, which may be longer than the one that was saved
    if keeper is not None:
        keeper.best = best
    return begun


def _parsed_round(adapter: DynamicGridAdapter, saved: Any, plain: Any) -> Round | None:
    history = saved.get("history", []) if isinstance(saved, Mapping) else []
    try:
        begun = None if plain is None else round_from_plain(plain)
        rounds = history if begun is None else [*history, plain]
        current = saved["current"] if begun is None else dict(begun.candidate)
        whole = {**saved, "history": rounds, "current": current}
    except Exception as damage:
        raise SettingsError(
            f"the saved state is damaged ({type(damage).__name__}: {str(damage)[:200]}); use "
            "another one"
        ) from damage
    done = parse_state(adapter, whole).history.epochs
    if adapter.epochs is not None and done > adapter.epochs:
        raise SettingsError(
            f"the saved loop has {done} {trained_unit(adapter.trainer)} already, more than the "
            f"{adapter.epochs} of this "
            "one; ask for at least as many"
        )
    return begun


def _parsed_best(plain: Any, keeper: BestKeeper | None) -> BestEpoch | None:
    if plain is None:
        return None
    if keeper is None:
        raise SettingsError(
            "the saved loop kept its best epoch and this one does not; give the same keep_best="
        )
    try:
        return BestEpoch(**plain)
    except TypeError as damage:
        raise SettingsError(f"the saved best epoch is damaged ({damage}); use another") from damage
