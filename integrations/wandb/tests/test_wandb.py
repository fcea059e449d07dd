"""What is in the files of offline runs: every epoch once, two axes, also after a kill -9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import wandb
from wandb.proto import wandb_internal_pb2 as internal

import dynhp_wandb
from dynhp.errors import CheckpointError, SettingsError
from dynhp.storage import checkpoints
from dynhp_wandb import WandB
from dynhp_wandb.offline import _records, rows_in
from tests.support.loggers import Series, adapter_with, check_series, expected_series, loop_with
from tests.support.messages import raises, warns
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
QUIET = wandb.Settings(silent=True, console="off", x_disable_stats=True)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    """An offline run."""
    with wandb.init(mode="offline", project="tests", dir=tmp_path, settings=QUIET) as run:
        yield run


def kinds_in(path: Path) -> list[str]:
    """The kinds of the records in a file."""
    kinds = []
    for data in _records(path.read_bytes()):
        record: Any = internal.Record()  # type: ignore[attr-defined]
        record.ParseFromString(data)
        kinds.append(record.WhichOneof("record_type"))
    return kinds


def file_of(run: Any) -> Path:
    """The file of a run that has ended, once W&B's own process has written all of it."""
    path = Path(run.settings.sync_file)
    wait_until(lambda: kinds_in(path)[-1:] == ["exit"])
    return path


def series_of(*paths: Path) -> Series:
    """All series in the files, by the axis that each row says."""
    series: dict[str, list[tuple[int, float]]] = {}
    rows = [json_row(row) for path in paths for row in rows_in(path)]
    for row in rows:
        [step] = [row[name] for name in ("dynhp/epoch", "dynhp/try_epoch") if name in row]
        for name, value in row.items():
            if not name.startswith(("_", "dynhp/")):
                series.setdefault(name, []).append((step, float(value)))
    numbers = [row["dynhp/row"] for row in rows]
    assert numbers == list(range(len(rows)))
    return series


def json_row(row: dict[str, str]) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in row.items()}


def test_a_loop_has_every_epoch_of_the_main_line_once_and_in_order(run: Any) -> None:
    run.log({"mine": 1.0})  # W&B's own step is left alone
    history = loop_with(WandB(run))
    run.log({"mine": 2.0})
    summary = dict(run.summary)  # which is what a resumed run is given by the server
    run.finish()
    path = file_of(run)
    rows = [row for row in rows_in(path) if "dynhp/row" in row]
    assert len(rows_in(path)) == len(rows) + 2
    main = [json_row(row) for row in rows if "main/loss" in row]
    assert [row["dynhp/epoch"] for row in main] == list(range(12))
    assert [row["main/loss"] for row in main] == [each["loss"] for _, each in history.measured]
    assert summary["dynhp/row"] == len(rows) - 1
    assert not any("dynhp/epoch" in row and "dynhp/try_epoch" in row for row in rows)


def test_the_file_says_which_series_is_drawn_over_which_axis(run: Any) -> None:
    loop_with(WandB(run))
    run.finish()
    path = file_of(run)
    series = {name.partition("/")[0] for name in series_of(path)}
    metrics = []
    for data in _records(path.read_bytes()):
        record: Any = internal.Record()  # type: ignore[attr-defined]
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "metric":
            metrics.append(record.metric)
    axes = {metric.glob_name: metric.step_metric for metric in metrics if metric.glob_name}
    assert axes == {
        **{f"{name}/*": "dynhp/epoch" for name in ("main", "schedule", "cost")},
        **{f"{name}/*": "dynhp/try_epoch" for name in ("tries", "values", "try")},
    }
    assert {f"{name}/*" for name in series} == set(axes)


def test_the_run_that_is_active_and_no_tries(run: Any) -> None:
    assert wandb.run is run
    history = adapter_with(WandB(tries=False)).run(10)
    run.finish()
    series = series_of(file_of(run))
    assert {name.partition("/")[0] for name in series} == {"main", "schedule", "cost"}
    assert len(series["cost/spent"]) == len(history)


def processes_in(folder: Path) -> list[int]:
    """The processes that work in a folder, on Linux."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if Path(os.readlink(path / "cwd")) == folder:
                pids.append(int(path.name))
    return pids


def test_killed_by_the_system_and_resumed_nothing_is_missing_or_twice(tmp_path: Path) -> None:
    sources = [ROOT, *ROOT.glob("integrations/*")]
    # A process of its own, with W&B's service of its own.
    environment = {name: value for name, value in os.environ.items() if name[:6] != "WANDB_"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "killed_run.py"), str(tmp_path / "run"), "14"],
        env={**environment, "PYTHONPATH": os.pathsep.join(map(str, sources))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == -9, done.stderr
    [killed] = tmp_path.glob("wandb/offline-run-*/*.wandb")
    wait_until(lambda: not processes_in(tmp_path))  # W&B's own, which outlives ours
    # W&B had the last rows in its hands, also some of before the checkpoint: how many is luck.
    os.truncate(killed, killed.stat().st_size * 2 // 3)
    assert len(rows_in(killed)) > 0
    with (
        wandb.init(mode="offline", dir=tmp_path, id="killed", settings=QUIET) as run,
        checkpoints(tmp_path / "run", adapter_with(WandB(run))) as adapter,
    ):
        history = adapter.run(100)
    resumed = file_of(run)
    series = series_of(killed, resumed)
    expected = expected_series(history)
    costs = {name: expected[name] for name in ("cost/spent", "cost/overhead")}
    for name, points in costs.items():  # a resumed run checks itself once more
        assert [step for step, _ in series[name]] == [step for step, _ in points]
    check_series({**series, **costs}, history)


def test_an_error_stops_the_run_or_warns_and_no_row_is_logged_twice() -> None:
    for on_error in ("stop", "warn"):
        run = wandb.init(mode="disabled")
        rows: list[dict[str, Any]] = []
        broken = [False]

        def log(row: dict[str, Any], rows: Any = rows, broken: Any = broken) -> None:
            if broken[0] and len(rows) % 7 == 6:  # in the middle of a round
                raise wandb.errors.CommError("the server does not answer")
            rows.append(row)

        run.finish()
        run.log = log  # type: ignore[method-assign, assignment]
        adapter = adapter_with(WandB(run, on_error=on_error))  # type: ignore[arg-type]
        adapter.run(5)
        broken[0] = True
        if on_error == "stop":
            with raises(CheckpointError):
                adapter.run(10)
            assert adapter.epoch == 5
        else:
            with warns(RuntimeWarning):
                adapter.run(10)
        broken[0] = False
        history = adapter.run(15)
        assert [row["dynhp/row"] for row in rows] == list(range(len(rows)))
        main = [row["dynhp/epoch"] for row in rows if "main/loss" in row]
        assert main == [number for number, _ in history.measured]


def test_online_the_summary_says_what_is_there() -> None:
    whole = rows_of_a_run(15)
    position, half = saved_after(10)
    for there in (len(half) - 4, len(half), len(half) + 6):  # some lost, none, some beyond
        rows = rows_of_a_run(15, position=position, there=there)
        assert [*whole[:there], *rows] == whole


def rows_of_a_run(
    epochs: int, *, position: Any = None, there: int | None = None
) -> list[dict[str, Any]]:
    """The rows of a run, or of one that goes on where the server has so many rows."""
    run, rows = recording_run()
    logger = WandB(run)
    adapter = adapter_with(logger, check="off")
    if position is None:
        adapter.run(epochs)
        return rows
    run.summary["dynhp/row"] = there - 1  # type: ignore[operator]
    logger.rewind(position)
    done = adapter_with(check="off")
    for round_ in done.run(epochs)[2:]:
        logger(round_)
    return rows


def saved_after(epochs: int) -> tuple[Any, list[dict[str, Any]]]:
    run, rows = recording_run()
    logger = WandB(run)
    adapter_with(logger, check="off").run(epochs)
    return logger.position(), rows


def recording_run() -> tuple[Any, list[dict[str, Any]]]:
    """A disabled run, which is not offline, with a list of what it was given."""
    run: Any = wandb.init(mode="disabled")
    run.finish()
    rows: list[dict[str, Any]] = []
    run.log = rows.append
    return run, rows


def test_where_the_files_of_an_offline_run_are_gone_nothing_is_repeated(tmp_path: Path) -> None:
    position, half = saved_after(10)
    with wandb.init(mode="offline", dir=tmp_path, settings=QUIET) as run:
        logger = WandB(run)
        logger.rewind({**position, "files": ["no-such-file.wandb"]})
        for round_ in adapter_with(check="off").run(15)[2:]:
            logger(round_)
    first = json_row(rows_in(file_of(run))[0])
    assert first["dynhp/row"] == len(half)


def test_only_so_many_rows_go_into_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynhp_wandb.logger.TAIL", 1000)
    position, rows = saved_after(15)
    assert 3 < len(position["last"]) < len(rows)
    assert position["last"] == rows[-len(position["last"]) :]


def test_without_a_run_nothing_is_started() -> None:
    with raises(SettingsError):
        adapter_with(WandB(on_error="warn")).run(5)


def test_bad_input() -> None:
    wrong: Any = "my-project"
    with raises(SettingsError):
        WandB(wrong)
    with raises(CheckpointError):
        WandB().rewind(3)


def test_without_wandb_the_import_says_what_to_install() -> None:
    line = "dynhp_wandb needs wandb: pip install 'dynhp[wandb]'"
    check_says_what_to_install("dynhp_wandb", "wandb", line)


def test_importing_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_wandb") == {"dynhp_wandb", "wandb"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_wandb)
