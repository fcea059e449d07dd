"""What MLflow itself reads back from a SQLite store: every epoch once, also after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

import dynhp_mlflow
from dynhp import DynamicGridAdapter
from dynhp.errors import CheckpointError, Hint, SettingsError
from dynhp.storage import checkpoints
from dynhp.testing import Quadratic
from dynhp_mlflow import MLflow
from dynhp_mlflow.names import Names
from tests.support.killing import Killed
from tests.support.loggers import (
    Series,
    adapter_with,
    check_series,
    killed_after,
    loop_with,
)
from tests.support.messages import raises, warns
from tests.support.packages import check_examples, check_says_what_to_install, frameworks_of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One store for all tests: making its tables takes a while."""
    before, folder = mlflow.get_tracking_uri(), tmp_path_factory.mktemp("mlflow")
    uri = f"sqlite:///{folder}/mlflow.db"
    mlflow.set_tracking_uri(uri)
    MlflowClient().create_experiment("tests", artifact_location=str(folder / "artifacts"))
    mlflow.set_experiment("tests")
    yield uri
    mlflow.set_tracking_uri(before)


def read(run_id: str | None) -> Series:
    """All series of a run by their steps, with the names that MLflow could not take put back.

    MLflow orders them by their times, and a clock may be set back.
    """
    client = MlflowClient()
    assert run_id is not None
    keys = client.get_run(run_id).data.metrics
    points = {key: client.get_metric_history(run_id, key) for key in keys}
    return {
        key.replace("kind_", "kind="): sorted(
            ((metric.step, metric.value) for metric in metrics), key=itemgetter(0)
        )
        for key, metrics in points.items()
    }


def test_a_loop_has_every_epoch_of_the_main_line_once_and_in_order(store: str) -> None:
    with mlflow.start_run() as run:
        history = loop_with(MLflow())
    check_series(read(run.info.run_id), history)
    assert [step for step, _ in read(run.info.run_id)["main/loss"]] == list(range(12))


def test_a_run_that_is_named_and_no_tries(store: str) -> None:
    run = MlflowClient().create_run("1")
    logger = MLflow(run.info.run_id, tracking_uri=store, tries=False)
    history = adapter_with(logger).run(10)
    series = read(run.info.run_id)
    assert {key.partition("/")[0] for key in series} == {"main", "schedule", "cost"}
    assert len(series["cost/spent"]) == len(history)


def killed_twice(folder: Path, **settings: Any) -> tuple[Any, str]:
    """Kill a run twice after a round was logged but not saved, each in an MLflow run it started."""
    for index in (0, 2):
        adapter = adapter_with(MLflow(), killed_after(index), **settings)
        with pytest.raises(Killed), mlflow.start_run(), checkpoints(folder, adapter):
            adapter.run(23)
    logger = MLflow()
    with checkpoints(folder, adapter_with(logger, **settings)) as adapter:
        return adapter.run(23), str(logger.run_id)


@pytest.mark.filterwarnings("ignore::dynhp.errors.Hint")
def test_killed_and_resumed_it_goes_on_in_the_same_run(store: str, tmp_path: Path) -> None:
    history, run_id = killed_twice(tmp_path, check="off")
    check_series(read(run_id), history)


def test_another_active_run_is_not_gone_on_with_and_that_is_said(
    store: str, tmp_path: Path
) -> None:
    with mlflow.start_run() as first, checkpoints(tmp_path, adapter_with(MLflow())) as adapter:
        adapter.run(5)
    other = mlflow.start_run()
    with (
        warns(Hint) as caught,
        checkpoints(tmp_path, adapter_with(MLflow())) as adapter,
    ):
        adapter.run(10)
    mlflow.end_run()
    assert any(first.info.run_id in str(each.message) for each in caught)
    assert read(other.info.run_id) == {}
    assert len(read(first.info.run_id)["cost/spent"]) == 2
    with (
        raises(CheckpointError),
        checkpoints(tmp_path, adapter_with(MLflow(other.info.run_id))),
    ):
        pass


def test_a_run_that_holds_a_run_already_is_refused(store: str) -> None:
    with mlflow.start_run() as run:
        adapter_with(MLflow()).run(5)
        with raises(CheckpointError):
            adapter_with(MLflow()).run(5)
    assert len(read(run.info.run_id)["cost/spent"]) == 1


def test_without_a_run_nothing_is_started(store: str) -> None:
    with raises(SettingsError):
        adapter_with(MLflow(on_error="warn")).run(5)


class Unreachable:
    """A client whose server answers only so many calls."""

    def __init__(self, client: MlflowClient) -> None:
        self._client = client
        self.left = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def log_batch(self, *arguments: Any, **more: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise MlflowException("the server does not answer")
        self._client.log_batch(*arguments, **more)


def test_an_error_stops_the_run_or_warns_and_nothing_is_logged_twice(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynhp_mlflow.logger.AT_ONCE", 20)  # so that a round takes several calls
    for on_error in ("stop", "warn"):
        with mlflow.start_run() as run:
            logger = MLflow(on_error=on_error)  # type: ignore[arg-type]
            adapter = adapter_with(logger)
            adapter.run(5)
            server = logger._client = Unreachable(logger._client)
            server.left = 1  # a part of the round arrives
            if on_error == "stop":
                with raises(CheckpointError):
                    adapter.run(10)
                assert adapter.epoch == 5
            else:
                with warns(RuntimeWarning):
                    adapter.run(10)
            server.left = 1000
            history = adapter.run(15)
        check_series(read(run.info.run_id), history)


def test_names_that_mlflow_does_not_take() -> None:
    names = Names()
    for series in ("main/hits@10", "main//loss", "main/../loss", "main/.", "main/" + "x" * 300):
        name = names[series]
        mlflow.utils.validation._validate_metric_name(name)
        assert names[series] == name
    with raises(SettingsError):
        names["main/hits_10"]


def test_not_finite_values_are_logged(store: str) -> None:
    class Diverges(Quadratic):
        def metrics(self) -> dict[str, float]:
            return {**super().metrics(), "gap": float("nan")}

    with mlflow.start_run() as run:
        DynamicGridAdapter(
            Diverges(), {"lr": [0.1, 0.5]}, minimize="loss", adapt_every=3, try_for=1,
            callbacks=[MLflow()],
        ).run(3)  # fmt: skip
    [(_, first), *_] = read(run.info.run_id)["main/gap"]
    assert first != first


def test_a_run_is_the_same_with_and_without_it(store: str) -> None:
    with mlflow.start_run():
        assert adapter_with(MLflow()).run(15) == adapter_with().run(15)


def test_bad_input() -> None:
    wrong: Any = 3
    with raises(SettingsError):
        MLflow(wrong)
    with raises(CheckpointError):
        MLflow().rewind(3)


def test_without_mlflow_the_import_says_what_to_install() -> None:
    line = "dynhp_mlflow needs MLflow: pip install 'dynhp[mlflow]'"
    check_says_what_to_install("dynhp_mlflow", "mlflow", line)


def test_importing_it_imports_no_other_framework() -> None:
    assert frameworks_of("dynhp_mlflow") == {"dynhp_mlflow", "mlflow"}


def test_every_public_name_has_an_example() -> None:
    check_examples(dynhp_mlflow)
