"""Boosters of LightGBM that train round by round, and that undo rounds where this is exact."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import lightgbm as lgb
import numpy as np

from dynhp.errors import SettingsError, nearest, shown
from dynhp.records import Metrics, Value
from dynhp_lightgbm.parameters import asked_for, in_force

__all__ = ["BoosterModel", "HeldOut", "LightGBMTask", "UndoableModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LightGBMTask:
    """What stays the same all through a run of boosting."""

    params: Mapping[str, Any]  # as LightGBM has them
    data: lgb.Dataset
    valid_sets: Mapping[str, lgb.Dataset]  # by their names, in the order in which they are measured
    names: tuple[str, ...]  # of the parameters under adaptation
    begin: int  # the rounds of the model that the training goes on from
    rounds: int  # those that are planned beyond it
    feval: Any = None
    fobj: Callable[..., Any] | None = None
    schedules: Sequence[Callable[..., None]] = ()

    def booster(self) -> lgb.Booster:
        """A booster without trees, as ``lightgbm.train`` makes it, with its validation data."""
        booster = lgb.Booster(dict(self.params), self.data)
        self.add_valid_sets(booster)
        return booster

    def add_valid_sets(self, booster: lgb.Booster) -> None:
        """Let a booster measure the validation data."""
        for name, data in self.valid_sets.items():
            if data is self.data:
                booster.set_train_data_name(name)
            else:
                booster.add_valid(data, name)

    def measure(self, booster: lgb.Booster) -> list[Any]:
        """What LightGBM measures on the validation data, in its own form."""
        on_training = any(data is self.data for data in self.valid_sets.values())
        return [
            *(booster.eval_train(self.feval) if on_training else ()),
            *booster.eval_valid(self.feval),
        ]

    def schedule(self, booster: lgb.Booster, params: dict[str, Any], place: int) -> None:
        """Set what schedules say of a round; ``params`` has what they have set so far."""
        for schedule in self.schedules:
            schedule(
                lgb.callback.CallbackEnv(
                    model=booster,
                    params=params,
                    iteration=self.begin + min(place, self.rounds - 1),
                    begin_iteration=self.begin,
                    end_iteration=self.begin + self.rounds,
                    evaluation_result_list=None,
                )
            )


class HeldOut:
    """Validation data whose scores are kept outside of any booster.

    Args:
        name: how metrics call it.
        data: as LightGBM has it.
        raw: as it was given, to predict with.
    """

    def __init__(self, name: str, data: lgb.Dataset, raw: Any) -> None:
        self._name = name
        self._raw = raw
        self._copy = data.subset(list(range(data.num_data()))).construct()
        self._before: Any = data.get_init_score()

    def scores(self, booster: lgb.Booster, rounds: int, *, begin: int) -> Any:
        """The sum of the trees of the first ``rounds``, in the order in which they were added.

        Those before ``begin`` are in the scores to begin with.
        """
        if self._before is None and rounds:  # in one call, which adds them in the same order
            return booster.predict(self._raw, raw_score=True, num_iteration=rounds)
        shape = (self._copy.num_data(), booster.num_model_per_iteration())
        zero = np.zeros(shape[0] if shape[1] == 1 else shape)
        scores = zero if self._before is None else zero + self._before
        for place in range(begin, rounds):
            scores = scores + self.added(booster, place)
        return scores

    def added(self, booster: lgb.Booster, place: int) -> Any:
        """What one round of trees adds."""
        return booster.predict(self._raw, raw_score=True, start_iteration=place, num_iteration=1)

    def measured(self, task: LightGBMTask, scores: Any) -> list[Any]:
        """What LightGBM measures on these data where their scores are these."""
        self._copy.set_init_score(scores)
        booster = lgb.Booster({**task.params, "verbosity": -1}, self._copy)
        booster.set_train_data_name(self._name)
        return list(booster.eval_train(task.feval))


class BoosterModel:
    """A booster that is only ever trained on, so that its hidden generators go on as they would."""

    def __init__(self, task: LightGBMTask) -> None:
        self.task = task
        self.booster = task.booster()
        self._trees = [
            task.begin
        ]  # the rounds of the booster after each round of ours: it may add none
        self._values = asked_for(task.params, task.names)  # all digits, of which few are shown
        self._values = self.hyperparameters()
        self._scheduled = dict(task.params)
        task.schedule(self.booster, self._scheduled, 0)

    def train_k(self, k: int, hyperparameters: Mapping[str, Value]) -> None:
        """Add ``k`` rounds of trees."""
        for name in hyperparameters:
            if name not in self.task.names:
                raise SettingsError(
                    f"unknown hyperparameter {shown(name)}{nearest(name, self.task.names)}"
                )
        # Only what changes is set: to set anything at all makes LightGBM draw columns anew.
        new = {name: v for name, v in hyperparameters.items() if v != self._values[name]}
        if new:
            self.booster.reset_parameter(new)
            self._values |= new
        for _ in range(k):
            self.task.schedule(self.booster, self._scheduled, len(self._trees) - 1)
            self._update()
            self._trees.append(self.booster.current_iteration())

    def _update(self) -> None:
        self.booster.update(fobj=self.task.fobj)

    def metrics(self) -> Metrics:
        """What LightGBM measures on the validation data, such as ``val-binary_logloss``."""
        return {f"{result[0]}-{result[1]}": float(result[2]) for result in self.results()}

    def results(self) -> list[Any]:
        """The same as LightGBM has it: names, value, whether higher is better."""
        return self.task.measure(self.booster)

    def handed_out(self) -> lgb.Booster:
        """The booster, with all its validation data."""
        return self.booster

    def text_after(self, rounds: int) -> str:
        """The model as it was after that many rounds."""
        return self.booster.model_to_string(num_iteration=self._trees[rounds])

    def hyperparameters(self) -> dict[str, Value]:
        """What the booster's own configuration says."""
        known = in_force(self.booster, self._values)
        return {name: known[name] for name in self.task.names}

    def digest(self) -> str:
        """A digest of the trees."""
        trees, _, _ = self.booster.model_to_string().partition("\nparameters:")
        return hashlib.sha256(trees.encode()).hexdigest()


class UndoableModel(BoosterModel):
    """A booster without generators, which can undo its last rounds.

    LightGBM undoes a round by subtracting its trees, which leaves the last bits of all scores
    different (an AUC shows it, where scores were equal). So scores are computed anew: on training
    data LightGBM does it when it gets others, so a copy of them takes turns with the first; on
    validation data we do it.
    """

    def __init__(self, task: LightGBMTask, held_out: Sequence[HeldOut]) -> None:
        super().__init__(replace(task, valid_sets={}))
        self._measured = task
        self._held_out = held_out
        self._scores = self._summed(task.begin)
        self._stale = False  # whether rounds were undone since the last one was trained
        self._constant = False  # whether the first tree is a constant, which cannot be undone
        self._other: lgb.Dataset | None = None

    def _summed(self, rounds: int) -> list[Any]:
        begin = self.task.begin
        return [data.scores(self.booster, rounds, begin=begin) for data in self._held_out]

    def roll_back(self, epochs: int) -> bool:
        """Undo that many rounds."""
        if self._constant:
            return False
        del self._trees[len(self._trees) - epochs :]
        while self.booster.current_iteration() > self._trees[-1]:
            self.booster.rollback_one_iter()
        self._scores = self._summed(self._trees[-1])
        self._stale = True
        return True

    def _update(self) -> None:
        trees = self.booster.current_iteration()
        nothing_to_split = self.booster.update(
            train_set=self._turned() if self._stale else None, fobj=self.task.fobj
        )
        self._stale = False
        if self.booster.current_iteration() == trees:
            return
        self._constant |= nothing_to_split
        added = (data.added(self.booster, trees) for data in self._held_out)
        self._scores = [old + new for old, new in zip(self._scores, added, strict=True)]

    def _turned(self) -> lgb.Dataset:
        """The copy of the training data whose turn it is."""
        if self._other is None:
            self._other = self.task.data.subset(list(range(self.task.data.num_data())))
        now, self._other = self._other, self.booster.train_set
        return now

    def results(self) -> list[Any]:
        """What LightGBM measures where the scores are these."""
        return [
            result
            for data, scores in zip(self._held_out, self._scores, strict=True)
            for result in data.measured(self._measured, scores)
        ]

    def handed_out(self) -> lgb.Booster:
        """The booster, with all its validation data."""
        self._measured.add_valid_sets(self.booster)
        return self.booster
