"""What TensorBoard itself reads back: every epoch once, two axes, also after a kill."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import dynhp_tensorboard
from dynhp.errors import CheckpointError, SettingsError
from dynhp.storage import checkpoints
from dynhp_tensorboard import TensorBoard
from tests.support.loggers import (
    Series,
    adapter_with,
    check_series,
    expected_series,
    killed_and_resumed,
    loop_with,
)
from tests.support.messages import raises, warns
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of

SINGLE = 1e-6  # TensorBoard keeps seven digits


def read(logdir: Path) -> Series:
    """All series, of both runs."""
    series: dict[str, list[tuple[int, float]]] = {}
    for run in sorted(path for path in logdir.iterdir() if path.is_dir()):
        events = EventAccumulator(str(run), size_guidance={"scalars": 0}).Reload()
        for tag in events.Tags()["scalars"]:
            assert tag not in series, "a tag in both runs would be drawn in one picture"
            series[tag] = [(event.step, event.value) for event in events.Scalars(tag)]
    return series


def event_file(logdir: Path, axis: str = "main") -> Path:
    [path] = (logdir / axis).iterdir()
    return path


def test_a_loop_has_every_epoch_of_the_main_line_once_and_in_order(tmp_path: Path) -> None:
    history = loop_with(TensorBoard(tmp_path))
    check_series(read(tmp_path), history, rel=SINGLE)
    assert [step for step, _ in read(tmp_path)["main/loss"]] == list(range(12))


def test_main_line_and_tries_are_two_runs(tmp_path: Path) -> None:
    adapter_with(TensorBoard(tmp_path)).run(10)
    main = EventAccumulator(str(tmp_path / "main")).Reload().Tags()["scalars"]
    assert {tag.partition("/")[0] for tag in main} == {"main", "schedule", "cost"}


def test_nothing_is_written_before_the_first_round_is_over(tmp_path: Path) -> None:
    TensorBoard(tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_without_tries(tmp_path: Path) -> None:
    history = adapter_with(TensorBoard(tmp_path, tries=False)).run(10)
    assert [path.name for path in tmp_path.iterdir()] == ["main"]
    assert len(read(tmp_path)["cost/spent"]) == len(history)


def test_killed_and_resumed_it_holds_each_epoch_once(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    history = killed_and_resumed(lambda: TensorBoard(logs), tmp_path / "run")
    series = read(logs)
    check_series({**series, **costs_of(series, history)}, history, rel=SINGLE)
    assert [path.name for path in sorted(logs.iterdir())] == ["main", "tries"]


def costs_of(series: Series, history: Any) -> Series:
    """The costs as they are on the record; a resumed run checks itself once more."""
    expected = expected_series(history)
    for name in ("cost/spent", "cost/overhead"):
        assert [step for step, _ in series[name]] == [step for step, _ in expected[name]]
    return {name: expected[name] for name in ("cost/spent", "cost/overhead")}


def test_a_torn_file_is_mended_by_the_resumed_run(tmp_path: Path) -> None:
    logs, run = tmp_path / "logs", tmp_path / "run"
    with checkpoints(run, adapter_with(TensorBoard(logs))) as adapter:
        adapter.run(10)
    with event_file(logs).open("ab") as file:
        file.write(b"\x07half a record")
    with checkpoints(run, adapter_with(TensorBoard(logs))) as adapter:
        history = adapter.run(15)
    check_series(read(logs), history, rel=SINGLE)


def test_a_folder_that_holds_a_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", itertools.count(1e9).__next__)  # the same run is not refused
    adapter_with(TensorBoard(tmp_path)).run(5)
    before = event_file(tmp_path).read_bytes()
    with raises(CheckpointError):
        adapter_with(TensorBoard(tmp_path)).run(5)
    assert event_file(tmp_path).read_bytes() == before


def test_another_file_in_its_place_is_refused(tmp_path: Path) -> None:
    logs, run = tmp_path / "logs", tmp_path / "run"
    with checkpoints(run, adapter_with(TensorBoard(logs))) as adapter:
        adapter.run(5)
    event_file(logs).write_bytes(b"x" * 10_000)
    with (
        raises(CheckpointError),
        checkpoints(run, adapter_with(TensorBoard(logs))),
    ):
        pass


def test_where_it_cannot_be_written_the_run_stops_and_goes_on_later(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.write_text("a file, no folder")
    adapter = adapter_with(TensorBoard(logs))
    with raises(CheckpointError):
        adapter.run(5)
    assert adapter.epoch == 0
    logs.unlink()
    history = adapter.run(10)
    check_series(read(logs), history, rel=SINGLE)


def test_or_it_warns_and_the_numbers_are_written_later(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    adapter = adapter_with(TensorBoard(logs, on_error="warn"))
    (logs / "main").mkdir(parents=True)
    (logs / "tries").write_text("no folder")  # the main line can be written, the tries cannot
    with warns(RuntimeWarning):
        adapter.run(10)
    (logs / "tries").unlink()
    history = adapter.run(15)
    check_series(read(logs), history, rel=SINGLE)  # nothing of the main line twice


def test_what_could_be_written_in_part_is_not_repeated_after_a_kill(tmp_path: Path) -> None:
    logs, run = tmp_path / "logs", tmp_path / "run"
    (logs / "main").mkdir(parents=True)
    (logs / "tries").write_text("no folder")
    with (
        warns(RuntimeWarning),
        checkpoints(run, adapter_with(TensorBoard(logs, on_error="warn"))) as adapter,
    ):
        adapter.run(10)
    (logs / "tries").unlink()
    with checkpoints(run, adapter_with(TensorBoard(logs))) as adapter:
        history = adapter.run(15)
    check_series(read(logs), history, rel=SINGLE)


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    logger = TensorBoard(tmp_path)
    adapter = adapter_with(logger)
    adapter.run(5)
    event_file(tmp_path).unlink()
    with raises(OSError):
        logger.position()
    with raises(CheckpointError):
        adapter.run(10)
    lenient = TensorBoard(tmp_path / "other", on_error="warn")
    adapter_with(lenient).run(5)
    event_file(tmp_path / "other").unlink()
    with warns(RuntimeWarning):
        assert lenient.position() is None


def test_a_run_is_the_same_with_and_without_it(tmp_path: Path) -> None:
    assert adapter_with(TensorBoard(tmp_path)).run(15) == adapter_with().run(15)


def test_bad_input(tmp_path: Path) -> None:
    wrong: Any = 3
    with raises(SettingsError):
        TensorBoard(wrong)
    with raises(SettingsError):
        TensorBoard("")
    with raises(CheckpointError):
        TensorBoard(tmp_path).rewind(3)


def test_without_tensorboard_the_import_says_what_to_install() -> None:
    line = "dynhp_tensorboard needs TensorBoard: pip install 'dynhp[tensorboard]'"
    check_says_what_to_install("dynhp_tensorboard", "tensorboard", line)


def test_importing_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_tensorboard") == {"dynhp_tensorboard", "tensorboard"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_tensorboard)
