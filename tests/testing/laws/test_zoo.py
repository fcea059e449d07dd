"""Broken trainers of all kinds are refused by their law, and sound ones are never accused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynhp.errors import LawBroken
from dynhp.testing import check_trainer, trainer_checks
from dynhp.testing.laws import purity
from tests.support.messages import raises
from tests.support.zoo.base import LR
from tests.support.zoo.broken import BROKEN_ZOO, SPACES
from tests.support.zoo.forgets import GoesOn
from tests.support.zoo.habits import HABITS
from tests.support.zoo.states import STATES

OTHER_PROCESS = {
    "keeps gradients by epoch in its module",
    "looks at the clock rarely",
    "takes the hash of a text",
    "takes the number of its process",
}
"""What can be seen in another process only."""


@pytest.mark.usefixtures("hurrying")  # one of them looks at the clock
@pytest.mark.parametrize("name", BROKEN_ZOO)
def test_a_broken_trainer_is_refused_by_its_law(name: str) -> None:
    make, law = BROKEN_ZOO[name]
    space = SPACES.get(name, LR)
    checks = dict(trainer_checks(make, space, another_process=name in OTHER_PROCESS))
    with pytest.raises(LawBroken) as caught:
        checks[law]()
    message = str(caught.value)
    assert message.startswith(f"{law}: ")
    assert ". Usual cause: " in message
    assert ". Way out: " in message
    assert len(message) < 800
    assert "\n" not in message


SOUND_ZOO: dict[str, tuple[Callable[[], Any], Any]] = {
    **{name: (make, LR) for name, make in STATES.items()},
    **HABITS,
}


@pytest.mark.parametrize("name", SOUND_ZOO)
def test_a_sound_trainer_is_never_accused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity, "WAIT", 0.0)
    make, space = SOUND_ZOO[name]
    check_trainer(make, space, another_process=False)


@pytest.mark.parametrize(
    "name",
    ["a deep copy with keys by identity", "a pickled trainer with other shared texts", "a partial"],
)
def test_nor_in_another_process(name: str) -> None:
    checks = dict(trainer_checks(STATES[name], LR))
    assert checks["restore"]() == ()


def test_what_goes_on_behind_train_k_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purity.time, "sleep", GoesOn.wait)
    with raises(LawBroken):
        check_trainer(GoesOn, LR, another_process=False)


def test_the_zoo_is_large() -> None:
    assert len(BROKEN_ZOO) >= 90
    assert len(SOUND_ZOO) >= 60
