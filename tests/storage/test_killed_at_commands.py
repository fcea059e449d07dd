"""Killed before or after any command of any round, a run ends as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynhp.storage import checkpoints, run_with_checkpoints
from dynhp.storage.codecs import encode
from tests.support.killing import Killed, KilledAtCommand
from tests.support.resuming import CASES, EPOCHS, adapter_of, mortal, without_times

pytestmark = [pytest.mark.usefixtures("_fast_disk"), pytest.mark.many]


def run(folder: Path, case: Any, killed: KilledAtCommand | None = None) -> tuple[Any, Any]:
    trainer = mortal(case)
    adapter = adapter_of(trainer, {"check": "every", **case})
    every = case.get("every", 1)
    if killed is None:
        return trainer, run_with_checkpoints(adapter, EPOCHS, checkpoint=folder, every=every)
    adapter.epochs = EPOCHS
    saving = checkpoints(folder, adapter, every=every)
    with saving, adapter.through(killed.middleware):
        return trainer, adapter.run(EPOCHS)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_killed_once_and_killed_twice(name: str, after: bool, tmp_path: Path) -> None:
    case = CASES[name]
    counted = KilledAtCommand()
    whole, wanted = run(tmp_path / "counted", case, counted)
    assert counted.commands > 40
    for fatal in range(1 + after, counted.commands + 1, 11):
        folder = tmp_path / str(fatal)
        with pytest.raises(Killed):
            run(folder, case, KilledAtCommand(fatal, after=after))
        again = KilledAtCommand(1 + fatal % 11, after=not after)
        try:
            trainer, history = run(folder, case, again)
        except Killed:
            trainer, history = run(folder, case)
        assert without_times(history) == without_times(wanted)
        assert encode(trainer.get_state()) == encode(whole.get_state())
