"""Runs that are checked and killed: each process checks once, and the end is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynhp import spent
from tests.support.killing import Killed
from tests.support.resuming import CASES, EPOCHS, adapter_of, mortal, run_on


@pytest.mark.many
@pytest.mark.parametrize(
    "name", ["grid", "racing", "waves", "racing waves", "value", "placebo", "tail", "ladder"]
)
@pytest.mark.parametrize("check", ["first", "every"])
def test_a_checked_run_that_is_killed_anywhere_ends_the_same(
    name: str, check: str, tmp_path: Path
) -> None:
    case = {**CASES[name], "check": check}
    whole = mortal(case)
    wanted = adapter_of(whole, case).run(EPOCHS)
    assert spent(wanted).total == sum(k for k, _ in whole.asked)
    for calls in range(1, whole.calls, 2):
        folder = tmp_path / str(calls)
        folder.mkdir()
        with pytest.raises(Killed):
            run_on(folder, case, calls)
        _, history = run_on(folder, case)
        assert history == wanted


def test_a_process_that_has_only_replayed_tries_checks_them_all_the_same(tmp_path: Path) -> None:
    case = {**CASES["grid"], "check": "first"}
    with pytest.raises(Killed):
        run_on(tmp_path, case, 8 + 4)  # all tries, and the repeats, but not the stretch
    trainer, history = run_on(tmp_path, case)
    assert [k for k, _ in trainer.asked[:5]] == [1] * 4 + [2]  # the repeats again, and the stretch
    assert [round_.checked for round_ in history] == [4, 0, 0, 0]
