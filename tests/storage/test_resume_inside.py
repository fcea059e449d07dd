"""Resumed in the middle of a round from the best state: what is inside of a try is not lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynhp.executors import Serial
from dynhp.records import Round
from dynhp.saved import SavedHeld
from dynhp.storage.checkpoint import run_with_checkpoints
from dynhp.storage.folder import CheckpointFolder, TryPlace
from tests.support.killing import Killed
from tests.support.losses import starts, starts_inside, table_adapter, trainer_of
from tests.support.reference import without_times
from tests.support.resuming import CASES, adapter_of, mortal

pytestmark = pytest.mark.usefixtures("_fast_disk")


def test_the_case_of_the_tests_that_kill_is_one() -> None:
    assert starts_inside(adapter_of(mortal({}), CASES["inside"]).run(13)) > 0


class Dies:
    """Serial, which is killed before it gives so many outcomes."""

    def __init__(self, outcomes: int) -> None:
        self.left = outcomes

    def run(self, trainer: Any, jobs: Any, *, at: Any) -> Any:
        for outcome in Serial().run(trainer, jobs, at=at):
            if not self.left:
                raise Killed
            self.left -= 1
            yield outcome


def test_a_try_is_stored_with_the_best_state_inside_of_it(tmp_path: Path) -> None:
    adapter = table_adapter(callbacks=[killed_after_tries])
    with pytest.raises(Killed):
        run_with_checkpoints(adapter, 8, checkpoint=tmp_path)
    folder = CheckpointFolder(tmp_path)
    round_ = len(adapter.history)
    done = [folder.get_try(TryPlace(round_, 0, place))["done"] for place in (0, 1)]
    assert [each.state for each in done] == [(1, 1, 1, 1, 1), (1, 1, 2, 2, 2)]
    assert done[0].inner is None
    assert done[1].inner == SavedHeld(epoch=3, score=-1.0, state=(1, 1, 2))
    again = table_adapter()
    run_with_checkpoints(again, 8, checkpoint=tmp_path)
    assert starts(again.history) == [(2, 0), (3, 3)]
    assert trainer_of(again).trained == 1 + 6 + 2  # the tries of the first round are not


def killed_after_tries(event: Any) -> None:
    """A callback that kills the run when the round with its first tries is over."""
    if isinstance(event, Round) and event.tries:
        raise Killed


@pytest.mark.parametrize("outcomes", range(4))
def test_killed_after_any_try(outcomes: int, tmp_path: Path) -> None:
    whole = table_adapter()
    expected = whole.run(8)
    with pytest.raises(Killed):
        run_with_checkpoints(table_adapter(executor=Dies(outcomes)), 8, checkpoint=tmp_path)
    again = table_adapter()
    history = run_with_checkpoints(again, 8, checkpoint=tmp_path)
    assert without_times(history) == without_times(expected)
    assert starts(history) == [(2, 0), (3, 3)]
    assert trainer_of(again).diary == trainer_of(whole).diary
