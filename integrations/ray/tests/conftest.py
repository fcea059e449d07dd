"""One Ray for all tests and the docs after them, in a home of its own: Ray keeps a token there."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import ray

from dynhp.trainer import Trainer
from dynhp_ray import RayExecutor


@pytest.fixture(scope="session")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for Ray's token and sockets, here and in all processes started from here."""
    # Not pytest's own: the names of sockets must be short.
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("HOME", str(home))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield home


@pytest.fixture(scope="session")
def local_ray(own_home: Path) -> Iterator[None]:
    """A Ray on this machine; starting one takes ten seconds."""
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


Make = Callable[..., RayExecutor]


@pytest.fixture
def executor(local_ray: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes executors and closes them."""
    monkeypatch.setattr(
        "dynhp.executors.pool.starts.SLOW", 120.0
    )  # a busy machine is no cluster without room
    made: list[RayExecutor] = []

    def make(make_trainer: Callable[[], Trainer], **settings: object) -> RayExecutor:
        made.append(RayExecutor(make_trainer, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def wait_until_gone() -> Callable[[Path], None]:
    """Waits for the processes that have left a file ``pid-...`` in a folder to end."""

    def gone(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()

    def wait(folder: Path) -> None:
        processes = [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]
        assert processes
        deadline = time.monotonic() + 60
        while not all(map(gone, processes)):
            assert time.monotonic() < deadline, "an actor's process is still there"
            time.sleep(0.05)

    return wait
