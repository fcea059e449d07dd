"""One Ray for all tests and the docs after them, in a home of its own: Ray keeps a token there."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
import ray

from dynhp.trainer import Trainer
from dynhp_ray import RayExecutor


@pytest.fixture(scope="session")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders for Ray's token and sockets, here and in all processes started from here."""
    # Not pytest's own, nor below any TMPDIR: the names of sockets must be short.
    short = "/tmp" if os.access("/tmp", os.W_OK) else None
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=short) as folder:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("HOME", str(home))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            patch.delenv(name, raising=False)
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
    # A busy machine is no cluster without room.
    monkeypatch.setattr("dynhp.executors.pool.workers.SLOW", math.inf)
    made: list[RayExecutor] = []

    def make(make_trainer: Callable[[], Trainer], **settings: object) -> RayExecutor:
        made.append(RayExecutor(make_trainer, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def wait_until_gone() -> Callable[[Path | Iterable[int]], None]:
    """Waits for processes to end: those with these ids, or with files ``pid-...`` in a folder."""

    def gone(pid: int) -> bool:
        try:
            return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True

    def wait(these: Path | Iterable[int]) -> None:
        if isinstance(these, Path):
            these = [int(path.name.removeprefix("pid-")) for path in these.glob("pid-*")]
        processes = list(these)
        assert processes
        while not all(map(gone, processes)):
            time.sleep(0.05)

    return wait
