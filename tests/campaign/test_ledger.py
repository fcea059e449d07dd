"""The folder of a campaign: torn lines are cut off, damage is refused, a bad disk loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dynhp.campaign import campaign_so_far, product, run_campaign
from dynhp.campaign.results import CampaignResults
from dynhp.errors import CheckpointError, DamagedFile
from tests.support.campaigning import bulky, noted, picky, scored, serial
from tests.support.disks import ROOT, held_by_another_process, mounted, readonly, remount
from tests.support.messages import raises

RUNS = [{"seed": 0}, {"seed": 1, "bad": True}, {"seed": 2, "name": "é"}]


def campaign(folder: Path, runs: Any = RUNS, function: Any = picky) -> CampaignResults:
    return run_campaign(function, runs, folder=folder, executor=serial)


def written(folder: Path) -> bytes:
    return (folder / "results.jsonl").read_bytes()


def holding(folder: Path, data: bytes) -> Path:
    folder.mkdir()
    (folder / "results.jsonl").write_bytes(data)
    return folder


def without_times(data: bytes) -> list[Any]:
    return [{**json.loads(line), "seconds": 0} for line in data.splitlines()]


def test_the_lines(tmp_path: Path) -> None:
    campaign(tmp_path)
    header, *lines = written(tmp_path).splitlines()
    assert (
        header == b'{"event":"campaign","version":1,"function":"tests.support.campaigning:picky"}'
    )
    runs = without_times(b"\n".join(lines))
    details = runs[1].pop("details")
    assert details.startswith("Traceback (most recent call last):\n")
    assert details.endswith("ValueError: seed 1 is a bad one,\nas was said\n")
    assert "in picky\n" in details
    assert "in train_k\n" not in details  # nothing of this library
    assert runs == [
        {
            "event": "run",
            "settings": {"seed": 0},
            "result": {"seen": 0, "others": {}},
            "seconds": 0,
        },
        {
            "event": "run",
            "settings": {"seed": 1, "bad": True},
            "error": "ValueError: seed 1 is a bad one,\nas was said",
            "seconds": 0,
        },
        {
            "event": "run",
            "settings": {"seed": 2, "name": "é"},
            "result": {"seen": 2, "others": {"name": "é"}, "name_too": "é"},
            "seconds": 0,
        },
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"lock", "results.csv", "results.jsonl"}


def test_a_file_that_was_written_before_this_was(tmp_path: Path) -> None:
    """Lines as they were in the first campaigns: they can be read for ever."""
    holding(
        tmp_path / "old",
        b'{"event":"campaign","version":1,"function":"tests.support.campaigning:scored"}\n'
        b'{"event":"run","settings":{"seed":0},"result":{"auc":0.5,"curve":[[10,{"r":0.9}]]},'
        b'"seconds":18.25}\n'
        b'{"event":"run","settings":{"seed":1},"error":"ValueError: no","details":null,'
        b'"seconds":0.5}\n',
    )
    results = campaign(tmp_path / "old", product(seed=[0, 1]), scored)
    assert results[0].result == {"auc": 0.5, "curve": [[10, {"r": 0.9}]]}
    assert results[0].seconds == 18.25
    assert results[1].result == scored(seed=1)


# Torn, damaged, of something else


@pytest.mark.many
@pytest.mark.usefixtures("_fast_disk")
def test_every_part_of_a_file_is_mended(notes: Path, tmp_path: Path) -> None:
    campaign(tmp_path / "undisturbed")
    whole, table = (
        written(tmp_path / "undisturbed"),
        (tmp_path / "undisturbed" / "results.csv").read_bytes(),
    )
    ends = [place for place, byte in enumerate(whole, start=1) if byte == ord("\n")]
    notes.unlink()
    for size in range(len(whole)):
        folder = holding(tmp_path / str(size), whole[:size])
        campaign(folder)
        assert (folder / "results.csv").read_bytes() == table
        missing = [str(seed) for seed, end in zip(range(3), ends[1:], strict=True) if size < end]
        failed = ["1"] if size >= ends[2] else []  # tried once more
        assert noted(notes) == sorted(missing + failed)
        notes.unlink()
        assert written(folder).startswith(whole[: max([0, *(end for end in ends if end <= size)])])
        assert len(without_times(written(folder))) == 4 + len(failed)  # and all can be read


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[:-4],
        lambda line: line.replace(b'"run"', b'"walk"'),
        lambda line: line.replace(b'"seconds"', b'"minutes"'),
        lambda line: line.replace(b'"result"', b'"outcome"'),
        lambda line: line.replace(b'{"seed":0}', b"7"),
        lambda line: line.replace(b'"seen":0', b'"seen":NaN'),
        lambda line: b"[1,2]",
        lambda line: b"\0" * 40,
        lambda line: b"",
        lambda line: "é".encode(),
    ],
)
@pytest.mark.usefixtures("ticking")  # the message shows how long the run took
def test_a_damaged_line_is_refused_and_nothing_touched(
    damage: Any, notes: Path, tmp_path: Path
) -> None:
    campaign(tmp_path / "undisturbed")
    lines = written(tmp_path / "undisturbed").split(b"\n")
    lines[1] = damage(lines[1])
    folder = holding(tmp_path / "damaged", b"\n".join(lines) + b"torn")
    notes.unlink()
    with raises(DamagedFile):
        campaign(folder)
    assert written(folder) == b"\n".join(lines) + b"torn"
    assert not (folder / "results.csv").exists()
    (folder / "results.jsonl").write_bytes(b"\n".join(lines[:1] + lines[2:]))  # as it says
    campaign(folder)
    assert noted(notes) == ["0", "1"]


HEADER = b'{"event":"campaign","version":1,"function":"tests.support.campaigning:picky"}'


@pytest.mark.parametrize(
    "data",
    [
        b"seed,auc\n0,0.9\n",
        b"a word without an end",
        b"\n",
        b'{"event":"journal","version":1}\n',
        HEADER.replace(b"picky", b"scored") + b"\n",
        HEADER.replace(b":1,", b":2,") + b"\n",
        HEADER + b" and more",
        HEADER[:-1],
        b"\xff\xfe\x00",
    ],
)
def test_whatever_else_is_refused_and_not_touched(data: bytes, tmp_path: Path) -> None:
    folder = holding(tmp_path / "else", data)
    if data == HEADER[:-1]:  # that is what a kill leaves
        assert len(campaign(folder)) == 3
        return
    with raises(CheckpointError):
        campaign(folder)
    assert written(folder) == data
    assert not (folder / "results.csv").exists()


def test_line_ends_that_others_have_made(tmp_path: Path) -> None:
    campaign(tmp_path)
    whole = written(tmp_path).replace(b"\n", b"\r\n")
    (tmp_path / "results.jsonl").write_bytes(whole)
    assert campaign(tmp_path)[0].result == {"seen": 0, "others": {}}


def test_of_two_lines_for_a_run_the_last_counts(tmp_path: Path) -> None:
    campaign(tmp_path)
    _, first, *_ = written(tmp_path).splitlines(keepends=True)
    with open(tmp_path / "results.jsonl", "ab") as file:
        file.write(first.replace(b'"seen":0', b'"seen":5'))
    assert campaign(tmp_path)[0].result == {"seen": 5, "others": {}}


# Disks that fail, and folders that are in use


@pytest.mark.skipif(os.name == "nt", reason="nothing is locked there")
def test_a_folder_is_for_one_process(tmp_path: Path) -> None:
    with (
        held_by_another_process(tmp_path),
        raises(CheckpointError),
    ):
        campaign(tmp_path)
    assert len(campaign(tmp_path)) == 3


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with raises(CheckpointError):
        campaign(tmp_path / "file" / "campaign")


def test_a_disk_that_becomes_read_only() -> None:
    with mounted("size=1m") as folder:
        campaign(folder, RUNS[:1])
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        remount(folder, "ro")
        assert readonly(folder)
        with raises(CheckpointError):
            campaign(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        remount(folder, "rw")
        assert len(campaign(folder)) == 3


def test_a_full_disk(notes: Path) -> None:
    runs = product(seed=range(9))
    function = partial(bulky, size=30_000)
    with mounted("size=128k") as folder:
        with raises(CheckpointError):
            campaign(folder, runs, function)
        reached = written(folder).count(b"\n") - 1
        assert 0 < reached < 9
        assert written(folder).endswith(b"\n")
        assert noted(notes) == [str(seed) for seed in range(reached + 1)]
        notes.unlink()
        remount(folder, "size=2m")
        assert len(campaign(folder, runs, function).failed) == 0
        assert noted(notes) == [str(seed) for seed in range(reached, 9)]


def test_a_table_that_cannot_be_written_loses_nothing(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "campaign" / "results.csv").mkdir(parents=True)
    with raises(CheckpointError):
        campaign(tmp_path / "campaign")
    assert not list((tmp_path / "campaign").glob("*.part"))
    (tmp_path / "campaign" / "results.csv").rmdir()
    notes.unlink()
    assert len(campaign(tmp_path / "campaign")) == 3
    assert noted(notes) == ["1"]  # which had failed


LIMITED = """
import os, resource, signal, sys
from pathlib import Path
from dynhp.campaign import product, run_campaign
from dynhp.errors import CheckpointError
from tests.support.campaigning import bulky, serial

def run(folder, limit=None, deadly=False):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        run_campaign(bulky, product(seed=range(3), size=[700]), folder=folder, executor=serial)
    except CheckpointError as error:
        os._exit(7 if "File too large" in str(error) else 8)
    os._exit(0)

folder = Path(sys.argv[1])
assert run(folder / "undisturbed") == 0
size = (folder / "undisturbed" / "results.jsonl").stat().st_size
torn = 0
for limit in range(0, size, 97):
    for deadly in (True, False):
        place = folder / f"{limit}-{deadly}"
        status = run(place, limit, deadly)
        data = (place / "results.jsonl").read_bytes()
        if deadly:  # the kernel kills it in the middle of the line: as with SIGKILL, no last words
            assert status & 0x7F == signal.SIGXFSZ, status
            assert len(data) == limit, (len(data), limit)
            torn += not data.endswith(b"\\n")
        else:
            assert os.waitstatus_to_exitcode(status) == 7, status
            assert not data or data.endswith(b"\\n")
        assert run(place) == run(place) == 0  # twice: it must be able to read what it has cut off
        table = (place / "results.csv").read_bytes()
        assert table == (folder / "undisturbed" / "results.csv").read_bytes()
print("torn", torn)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes work on Linux")
def test_death_and_failure_in_the_middle_of_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 10


def test_lines_and_names_are_on_disk_before_anything_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("names of open files are not known here")
    synced: list[tuple[str, int]] = []
    fsync = os.fsync

    def noted_sync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced.append((path.name, path.read_bytes().count(b"\n") if path.is_file() else -1))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted_sync)
    campaign(tmp_path)
    assert synced == [
        ("results.jsonl", 1),
        (tmp_path.name, -1),
        ("results.jsonl", 2),
        ("results.jsonl", 3),
        ("results.jsonl", 4),
        ("results.csv.part", 5),  # an error of two lines
        (tmp_path.name, -1),
    ]


def test_a_campaign_can_be_looked_at_while_it_goes_on(tmp_path: Path) -> None:
    whole = campaign(tmp_path)
    data = written(tmp_path)
    for size in range(len(data) + 1):
        (tmp_path / "results.jsonl").write_bytes(data[:size])
        seen = campaign_so_far(picky, RUNS, folder=tmp_path)
        assert tuple(seen) == whole[: max(0, data[:size].count(b"\n") - 1)]
        assert written(tmp_path) == data[:size]  # the campaign that goes on may still write it


def test_nothing_so_far_is_told(tmp_path: Path) -> None:
    with raises(CheckpointError):
        campaign_so_far(picky, RUNS, folder=tmp_path / "nowhere")
    campaign(tmp_path)
    with raises(CheckpointError):
        campaign_so_far(scored, [{"seed": 0}], folder=tmp_path)
