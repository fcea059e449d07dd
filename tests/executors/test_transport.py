"""A transport of one's own: the threads that the docs show, and what goes wrong on them."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dynhp.errors import SettingsError
from dynhp.executors import Processes
from dynhp.executors.contract import UNKNOWN_STATE
from dynhp.executors.pool.executor import FixedSetting, PooledExecutor
from dynhp.testing import NoisyQuadratic
from dynhp.testing.executors.check import check_executor
from tests.support.messages import raises
from tests.support.puppets import job

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"


@pytest.fixture(scope="module")
def threads() -> Callable[..., Any]:
    """The transport that the docs show."""
    (block,) = re.findall(r"```python\n([^`]*class Threads:.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block.partition("\nwith PooledExecutor")[0], names)
    transport: Callable[..., Any] = names["Threads"]
    return transport


def test_the_transport_of_the_docs_gives_what_serial_gives(threads: Callable[..., Any]) -> None:
    report = check_executor(lambda make: PooledExecutor(partial(threads, make), workers=3))
    assert len(report.verdicts) == 31


def outcomes(make_transport: Callable[[], Any], **settings: Any) -> list[Any]:
    trainer = NoisyQuadratic()
    jobs = [job(trainer.get_state(), rate) for rate in (0.01, 0.1, 0.2)]
    with PooledExecutor(make_transport, **settings) as executor:
        return list(executor.run(trainer, jobs, at=UNKNOWN_STATE))


RELEASED = threading.Event()


class LeavesOnce(NoisyQuadratic):
    """Exits with one learning rate, so often."""

    times = 0

    def train_k(self, k: int, hyperparameters: Any) -> None:
        super().train_k(k, hyperparameters)
        if hyperparameters["lr"] == 0.1 and LeavesOnce.times > 0:
            LeavesOnce.times -= 1
            sys.exit(3)
        if hyperparameters["lr"] == 0.2 and LeavesOnce.times < 0:
            RELEASED.wait()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_is_gone_is_replaced(
    threads: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeavesOnce, "times", 1)
    expected = outcomes(partial(threads, NoisyQuadratic))
    seen = outcomes(partial(threads, LeavesOnce), retries=1)
    assert LeavesOnce.times == 0
    assert [each.series for each in seen] == [each.series for each in expected]
    monkeypatch.setattr(LeavesOnce, "times", 1)
    lost = outcomes(partial(threads, LeavesOnce), retries=0)[1]
    assert lost.error == (
        "WorkerLost: its worker was lost 1 times, last in epoch 1: its thread has ended"
    )


def test_a_try_that_takes_too_long_fails(
    threads: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeavesOnce, "times", -1)
    slow = outcomes(partial(threads, LeavesOnce), retries=0, time_limit=0.3)[2]
    RELEASED.set()  # a thread cannot be killed
    assert slow.error.endswith("it took longer than time_limit=0.3 s")


def test_errors_begin_with_the_name_of_the_transport(threads: Callable[..., Any]) -> None:
    with raises(SettingsError):
        outcomes(partial(threads, lambda: {}["data"]))


def test_a_transport_that_cannot_be_opened_says_so_each_time() -> None:
    def closed() -> Any:
        raise ConnectionRefusedError("no cluster")

    executor = PooledExecutor(closed)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError, match="no cluster"):
            list(executor.as_completed([job(0)]))
    executor.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"workers": 0},
        {"retries": -1},
        {"time_limit": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with raises(SettingsError):
        PooledExecutor(lambda: None, **settings)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("executor", "name", "value"),
    [
        (PooledExecutor(lambda: None), "workers", 3),  # type: ignore[arg-type, return-value]
        (Processes(NoisyQuadratic), "make_trainer", LeavesOnce),
        (Processes(NoisyQuadratic), "workers", 3),
        (Processes(NoisyQuadratic), "time_limit", 1.0),
        (Processes(NoisyQuadratic), "retries", "3" * 999),
    ],
)
def test_a_setting_is_given_once(executor: Any, name: str, value: Any) -> None:
    """Assigned later it would have no effect, because the workers know nothing of it."""
    before, shown = getattr(executor, name), repr(executor)
    with pytest.raises(SettingsError) as caught:
        setattr(executor, name, value)
    kind = type(executor).__name__
    assert str(caught.value).startswith(f"{kind}: {name} is given when it is made, and cannot be ")
    assert str(caught.value).endswith(f"; make another: {kind}(..., {name}=...)")
    assert len(str(caught.value)) < 300
    assert getattr(executor, name) is before
    assert repr(executor) == shown
    assert isinstance(getattr(type(executor), name), FixedSetting)
