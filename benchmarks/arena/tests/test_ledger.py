"""Several sittings: what is in the committed file is never carried out again."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchmarks.arena import program
from benchmarks.arena.estimate import clocked_seconds, estimated, plain_seconds
from benchmarks.arena.ledger import NAME, in_folder, kept_runs, save_runs, take_over
from benchmarks.arena.plan import pilot_runs, read_arena
from dynhp.campaign import run_campaign
from dynhp.campaign.data import canonical
from dynhp.campaign.results import Finished
from dynhp.errors import CheckpointError
from dynhp.testing.toys.quadratic import divided
from tests.support.messages import raises

HERE = Path(__file__).parent


def ran(*pairs: tuple[float, float], folder: Path) -> None:
    settings = [{"a": a, "b": b} for a, b in pairs]
    run_campaign(divided, settings, folder=folder, name=NAME, workers=1)


def quotients(runs: dict[str, Finished]) -> list[float]:
    return [run.result["quotient"] for run in runs.values() if run.result is not None]


def test_a_fresh_folder_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl.gz"
    ran((6, 3), (1, 0), folder=tmp_path / "first")
    assert save_runs(tmp_path / "first", kept) == 1, "what failed is tried again"
    fresh = tmp_path / "fresh"
    assert take_over(kept_runs(kept), fresh) == 1
    before = (fresh / "results.jsonl").read_bytes()
    assert take_over(kept_runs(kept), fresh) == 0
    assert (fresh / "results.jsonl").read_bytes() == before
    ran((6, 3), (8, 2), folder=fresh)
    lines = (fresh / "results.jsonl").read_text().splitlines()
    assert len(lines) == 3, "the header, what was taken over, and what was missing"
    assert save_runs(fresh, kept) == 2
    assert sorted(quotients(kept_runs(kept))) == [2.0, 4.0]


def test_the_file_does_not_depend_on_what_ended_first(tmp_path: Path) -> None:
    for name, pairs in (("one", [(6, 3), (8, 2)]), ("two", [(8, 2), (6, 3)])):
        ran(*pairs, folder=tmp_path / name)  # type: ignore[arg-type]
        save_runs(tmp_path / name, tmp_path / f"{name}.gz")
    one, two = (
        [line.split(b',"seconds"')[0] for line in gzip.decompress(path.read_bytes()).splitlines()]
        for path in (tmp_path / "one.gz", tmp_path / "two.gz")
    )
    assert one == two


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    assert kept_runs(None) == kept_runs(tmp_path / "none.gz") == in_folder(tmp_path) == {}
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress(b'{"event":"campaign","version":1,"function":"another"}\n'))
    with raises(CheckpointError):
        kept_runs(other)


def made(run: dict[str, object], seconds: float) -> Finished:
    return Finished(settings=run, result={"val": 1.0}, seconds=seconds)


def test_what_is_left_is_estimated_by_the_fastest_run_of_the_lowest_rate() -> None:
    arena = read_arena(HERE / "toy.toml")
    pilot = [run for run in pilot_runs(arena) if run["task"] == "links-cora"]
    pilots = [made(run, 10.0 / (1 + place)) for place, run in enumerate(pilot)]
    assert plain_seconds(pilots) == {"links-cora": 10.0}
    runs = [{**pilot[0], "arm": arm} for arm in ("constant", "pbt")]
    seconds = plain_seconds(pilots)
    text = estimated(runs, [made(runs[0], 9.0)], seconds, every_arm=True)
    assert text.startswith("1 of 2 runs are left, as long as 1 plain ones: about 0.0 CPU hours")
    assert "constant    0          1   0" in text
    assert "links-cora  1          2   0" in text
    unknown = [{**runs[0], "task": "cartpole"}]
    assert "CPU hours" not in estimated(unknown, [], seconds, every_arm=False)
    assert "?" in estimated(unknown, [], seconds, every_arm=True)


def test_the_clock_needs_no_run() -> None:
    arena = read_arena(HERE / "toy.toml")
    seconds = clocked_seconds(arena.tasks, times=2)
    assert seconds.keys() == {"links-cora", "boosting-diabetes"}
    assert all(each > 0.0 for each in seconds.values())


@pytest.mark.slow
def test_the_command_goes_on_from_the_committed_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "kept.jsonl.gz"
    options = ["--file", str(HERE / "toy.toml"), "--tasks", "boosting-diabetes", "--arms", "wsd",
               "--workers", "1", "--ledger", str(ledger), "--seeds"]  # fmt: skip
    program.main([*options, "1", "--folder", str(tmp_path / "one")])
    first = len(kept_runs(ledger))
    capsys.readouterr()
    program.main([*options, "2", "--folder", str(tmp_path / "two"), "--plan"])
    assert "11 of 22 runs are left" in capsys.readouterr().out
    assert not (tmp_path / "two").exists(), "a plan writes nothing"
    program.main([*options, "2", "--folder", str(tmp_path / "two")])
    assert f"{first} runs of {ledger} are not carried out again" in capsys.readouterr().out
    taken = in_folder(tmp_path / "two")
    assert {canonical(run.settings) for run in kept_runs(ledger).values()} == set(taken)
    assert len(taken) == first + 11
