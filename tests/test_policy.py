"""A policy: checked once, replaced field by field, and given as an object or as keywords."""

from __future__ import annotations

import inspect
import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest

from dynhp import Best, DynamicGridAdapter, FullGrid, Placebo, Policy, Racing, Space, adapt, lowest
from dynhp.criteria import highest, phased
from dynhp.errors import SettingsError
from dynhp.policy import PolicyFields, chosen_trigger, named_fields, policy_from
from dynhp.proposers import Ladder, Neighbors
from dynhp.snapshots import Snapshots
from dynhp.tails import annealed, scale
from dynhp.testing import NoisyQuadratic, Quadratic
from dynhp.triggers import At, Every, OnPlateau, any_of
from tests.support.messages import raises

GIVEN: dict[str, Any] = {
    "space": {"lr": [0.1, 0.2]},
    "criterion": lowest("loss"),
    "when": Every(5),
    "try_for": 1,
}
BACK: dict[str, Any] = {"start_from": "best", "max_rounds": 3}


def policy(**changes: Any) -> Policy:
    return Policy(**(GIVEN | changes))


def test_what_is_not_given_is_the_default() -> None:
    usual = policy()
    assert usual.space == Space({"lr": [0.1, 0.2]})
    assert (usual.proposer, usual.selection, usual.snapshots) == (FullGrid(), Best(), Snapshots())
    assert (usual.keep, usual.start_from, usual.check) == ("winner", "here", "first")
    assert (usual.randomness, usual.seed, usual.dry_run) == ("common", 0, False)
    assert (usual.max_rescues, usual.trigger) == (0, usual.when)
    for name in ("tail", "then", "max_rounds", "record_every", "initial", "tolerance"):
        assert getattr(usual, name) is None


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"space": {}}, "space"),
    ({"criterion": "loss"}, "criterion"),
    ({"when": 5}, "when"),
    ({"try_for": 0}, "try_for"),
    ({"try_for": 6}, "try_for must be at most adapt_every, got try_for=6, adapt_every=5"),
    ({"try_for": 1.5}, "try_for"),
    ({"proposer": FullGrid}, "proposer must be a Proposer such as FullGrid"),
    ({"selection": 3}, "selection must be a Selection such as Best"),
    ({"keep": "best"}, "keep must be 'winner' or 'value', got 'best'"),
    ({"start_from": "there"}, "start_from must be 'here' or 'best' or 'before', got 'there'"),
    ({"snapshots": 3}, "snapshots must be Snapshots"),
    ({"max_rounds": -1}, "max_rounds must be a whole number of 0 or more, got -1"),
    ({"max_rescues": 0.5}, "max_rescues must be a whole number of 0 or more, got 0.5"),
    ({"record_every": 0}, "record_every must be a whole number above 0, got 0"),
    ({"randomness": "same"}, "randomness must be 'common' or 'independent', got 'same'"),
    ({"seed": -1}, "seed must be a whole number of 0 or more, got -1"),
    ({"check": "never"}, "check must be 'first' or 'every' or 'off', got 'never'"),
    ({"tolerance": -0.1}, "tolerance must be a number from 0 on, got -0.1"),
    ({"tolerance": math.nan}, "tolerance must be a number from 0 on, got nan"),
    ({"dry_run": "yes"}, "dry_run must be True or False, got 'yes'"),
    ({"when": any_of(Every(9), Every(2)), "try_for": 3}, "try_for must be at most the epochs from"),
    ({"max_rescues": 1}, "max_rescues=1 needs a healthy state to go back to"),
    ({"start_from": "best"}, "start_from='best' can go back again and again"),
    (
        {**BACK, "criterion": phased(lowest("loss"), highest("loss"))},
        "start_from='best' compares all epochs by one rule",
    ),
    (
        {"when": OnPlateau("loss", patience=2, better="higher")},
        "must agree which is better; give the trigger better='lower'",
    ),
    (
        {"when": OnPlateau("auc", patience=2), "criterion": highest("auc")},
        "must agree which is better; give the trigger better='higher'",
    ),
    ({"proposer": Placebo(3), "randomness": "common"}, "makes sense only with randomness='indep"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=lambda each: str(each)[:40])
def test_each_field_is_checked_when_it_is_made(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        policy(**changes)
    assert message in str(caught.value)
    with pytest.raises(SettingsError):
        replace(policy(), **changes)


def test_it_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        policy().seed = 3  # type: ignore[misc]


def test_numbers_of_numpy_become_plain() -> None:
    made = policy(
        try_for=np.int64(2), seed=np.int64(3), max_rounds=np.int64(4), record_every=np.int64(5)
    )
    for number in (made.try_for, made.seed, made.max_rounds, made.record_every):
        assert type(number) is int


def test_equal_ones_are_equal_and_their_text_has_all_fields() -> None:
    assert policy() == policy()
    assert policy() != policy(seed=1)
    text = repr(policy(seed=7))
    assert "seed=7" in text
    assert "trigger=" not in text
    for each in fields(Policy):
        assert not each.init or f"{each.name}=" in text


def test_a_field_is_replaced_and_all_are_checked_again() -> None:
    changed = replace(policy(), try_for=3)
    assert (changed.try_for, changed.when) == (3, Every(5))
    with raises(SettingsError):
        replace(changed, when=Every(2))


def test_another_trigger_or_number_of_rescues_has_another_alarm() -> None:
    looking = policy(when=OnPlateau("loss", patience=2), **BACK)
    assert looking.trigger is looking.when
    rescued = replace(looking, max_rescues=1)
    assert rescued.trigger is not rescued.when
    assert rescued.when == looking.when


@pytest.mark.parametrize(
    ("changes", "restarts", "keeps"),
    [
        ({}, False, True),
        ({"dry_run": True}, True, True),
        ({"keep": "value"}, False, True),  # the way back leads through the winner's copy again
        ({"keep": "value", "randomness": "independent"}, True, True),
        ({"keep": "value", "then": scale(0.5, "lr")}, True, True),
        ({"tail": annealed("lr", epochs=2)}, False, True),
        ({"tail": annealed("lr", epochs=2), "try_for": 0}, True, False),
    ],
)
def test_where_the_main_line_goes_on(changes: dict[str, Any], restarts: bool, keeps: bool) -> None:
    assert (policy(**changes).restarts, policy(**changes).keeps_tries) == (restarts, keeps)


def test_lengths() -> None:
    assert policy().adapt_every == 5
    assert policy(when=At([3])).adapt_every is None
    assert [policy(when=At([3])).longest_round(planned) for planned in (None, 40, 41)] == [10, 2, 3]
    assert policy().longest_round(100) == 5
    assert policy(record_every=3).longest_round(100) == 3
    assert policy(try_for=0.05).try_epochs(100) == 5
    with raises(SettingsError):
        policy(try_for=0.1).try_epochs(100)
    mixed = policy(try_for=0.1, when=any_of(Every(4), OnPlateau("loss", patience=2)))
    assert mixed.try_epochs(40) == 4
    with raises(SettingsError):
        mixed.try_epochs(100)
    assert policy(try_for=0.1, when=OnPlateau("loss", patience=2)).try_epochs(100) == 10
    assert policy().tail_epochs(100) == 0
    assert policy(tail=annealed("lr", epochs=0.05)).tail_epochs(100) == 5


def test_a_tail_judges_once() -> None:
    assert len(policy(selection=Racing()).stages(4, 2)) == 2
    with raises(SettingsError):
        policy(selection=Racing(), tail=annealed("lr", epochs=2)).stages(4, 2)


def test_a_rescue_is_an_alarm_where_there_may_be_any() -> None:
    rescued = policy(when=OnPlateau("loss", patience=2), max_rescues=1, **BACK)
    assert rescued.is_rescue(alarm=True)
    assert not rescued.is_rescue(alarm=False)
    assert not policy().is_rescue(alarm=True)


@pytest.mark.parametrize(
    ("changes", "whole"),
    [({}, True), ({"when": At([3])}, False), ({"record_every": 2}, False), (BACK, False)],
)
def test_whether_anything_looks_inside_of_a_round(changes: dict[str, Any], whole: bool) -> None:
    assert policy(**changes).in_whole_rounds is whole


# ---- as keywords ----------------------------------------------------------------------------
def test_keywords_describe_a_policy() -> None:
    given = {"space": {"lr": [0.1, 0.2]}, "minimize": "loss", "adapt_every": 5, "try_for": 1}
    assert policy_from(None, given, caller="adapt") == policy()


def test_keywords_beside_a_policy_replace_its_fields() -> None:
    before = policy(seed=3, selection=Racing())
    after = policy_from(
        before, {"maximize": "auc", "adapt_every": 7, "check": "off"}, caller="adapt"
    )
    assert after == replace(before, criterion=highest("auc"), when=Every(7), check="off")
    assert policy_from(before, {}, caller="adapt") == before
    assert policy_from(before, {"when": At([2])}, caller="adapt").when == At([2])
    assert policy_from(before, {"criterion": None, "when": None}, caller="adapt") == before


def test_none_means_the_default() -> None:
    names = [name for name in policy().keys() if name not in GIVEN]  # noqa: SIM118
    nothing: dict[str, Any] = dict.fromkeys(names)
    assert policy_from(None, GIVEN | nothing, caller="adapt") == policy()
    unusual = policy(seed=3, selection=Racing(), tolerance=0.5, max_rounds=2, check="off")
    assert policy_from(unusual, nothing, caller="adapt") == policy()


def test_another_proposer_brings_its_own_randomness() -> None:
    placebo = policy_from(policy(), {"proposer": Placebo(3)}, caller="adapt")
    assert placebo.randomness == "independent"
    assert policy_from(placebo, {"proposer": Ladder()}, caller="adapt").randomness == "common"
    with raises(SettingsError):
        policy_from(placebo, {"randomness": "common"}, caller="adapt")


@pytest.mark.parametrize("missing", ["space", "try_for"])
@pytest.mark.parametrize("none", [True, False])
def test_what_has_no_default_is_needed(missing: str, none: bool) -> None:
    given = {name: value for name, value in GIVEN.items() if name != missing}
    if none:
        given[missing] = None
    with raises(TypeError):
        policy_from(None, given, caller="adapt")


def test_an_unknown_keyword_is_refused_with_the_nearest_name() -> None:
    with raises(TypeError):
        policy_from(None, {"try_fo": 1}, caller="adapt")
    for make in (
        lambda: DynamicGridAdapter(Quadratic(), policy=policy(), adapt_ever=3),  # type: ignore[call-arg]
        lambda: adapt(5, state=[Quadratic()], policy=policy(), adapt_ever=3),  # type: ignore[call-arg]
    ):
        with raises(TypeError):
            make()


@pytest.mark.parametrize("given", [3, {"lr": [0.1]}, Policy])
def test_what_is_no_policy_is_refused(given: Any) -> None:
    with raises(SettingsError):
        policy_from(given, {}, caller="adapt")


@pytest.mark.parametrize(
    ("adapt_every", "when"), [(None, None), (3, At([3])), (0, None), (None, 3)]
)
def test_when_a_round_begins_is_said_once(adapt_every: Any, when: Any) -> None:
    with pytest.raises(SettingsError):
        chosen_trigger(adapt_every, when)


def test_it_unpacks_into_keywords() -> None:
    whole = policy(seed=4, selection=Racing())
    assert Policy(**whole) == whole
    assert whole["seed"] == 4
    assert "trigger" not in whole.keys()  # noqa: SIM118
    with raises(KeyError):
        whole["sead"]


def test_all_ways_to_give_it_are_the_same_run() -> None:
    whole = policy(seed=4)
    runs = [
        DynamicGridAdapter(NoisyQuadratic(), **given).run(10)
        for given in (
            {"policy": whole},
            {**whole},
            {**GIVEN, "seed": 4},
            {"policy": policy(), "seed": 4},
            {"space": GIVEN["space"], "policy": whole},
        )
    ]
    assert all(run == runs[0] for run in runs)


def test_signatures_show_the_fields_by_name() -> None:
    names = list(inspect.signature(DynamicGridAdapter).parameters)
    assert names[:3] == ["trainer", "space", "policy"]
    assert {"try_for", "minimize", "tolerance"} <= set(names)
    assert len(names) == len(set(names))
    assert set(policy().keys()) - {"space"} <= set(PolicyFields.__annotations__)

    def plain(seed: int, **more: Any) -> None: ...

    assert list(inspect.signature(named_fields(PolicyFields)(plain)).parameters).count("seed") == 1


def test_a_selection_without_a_stage_is_refused() -> None:
    class NoStage:
        def stages(self, tries: int, epochs: int) -> list[Any]:
            return []

        def ranking(self, history: Any, current: Any) -> Any:
            return None

    with raises(SettingsError):
        DynamicGridAdapter(
            Quadratic(),
            {"lr": [0.1]},
            minimize="loss",
            adapt_every=2,
            try_for=1,
            selection=NoStage(),
        )


def test_another_proposer_leaves_random_numbers_that_were_asked_for() -> None:
    independent = policy(randomness="independent")
    assert policy_from(independent, {"proposer": Neighbors()}, caller="adapt") == replace(
        independent, proposer=Neighbors()
    )
    placebo = policy_from(policy(), {"proposer": Placebo(2)}, caller="adapt")
    assert placebo.randomness == "independent"  # which it needs
