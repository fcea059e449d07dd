"""The journal tells a run line by line, survives what happens to files, and gives it all back."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import History
from dynhp.cli.main import journal as command
from dynhp.errors import AllTriesFailed, CheckpointError, DamagedFile, SettingsError
from dynhp.records import Candidate, Round, RoundStarted, Try
from dynhp.storage.journal import Journal, history_from_journal, read_journal
from tests.support.resuming import CASES, EPOCHS, adapter_of, mortal, without_times


def journaled(path: Path, case: Any, epochs: int = EPOCHS, **settings: Any) -> History:
    return adapter_of(mortal(case), case, (Journal(path, **settings),)).run(epochs)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seconds", [True, False])
def test_the_history_comes_back_exactly(name: str, seconds: bool, tmp_path: Path) -> None:
    history = journaled(tmp_path / "journal", CASES[name], seconds=seconds)
    found = history_from_journal(tmp_path / "journal")
    assert found == history
    assert without_times(found) == without_times(history)
    times = [try_.seconds for round_ in history for try_ in (round_, *round_.tries)]
    back = [try_.seconds for round_ in found for try_ in (round_, *round_.tries)]
    assert back == (times if seconds else [0.0] * len(times))
    read = read_journal(tmp_path / "journal")
    assert (read.unfinished, read.torn) == ((), False)


def test_a_history_can_be_asked_for_by_its_own_name(tmp_path: Path) -> None:
    history = journaled(tmp_path / "journal", CASES["grid"])
    assert history_from_journal(tmp_path / "journal") == history
    assert history_from_journal(str(tmp_path / "journal")).epochs == EPOCHS


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        journaled(tmp_path / name, CASES["racing waves"], seconds=False)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert b"seconds" not in (tmp_path / "a").read_bytes()


def test_what_the_lines_say(tmp_path: Path) -> None:
    history = journaled(tmp_path / "journal", {}, 8)
    header, started, *rest = lines_of(tmp_path / "journal")
    assert header == {"event": "journal", "version": 1}
    assert started == {"event": "round_started", "round": 0, "start": 0, "epochs": 4}
    tries, ended = rest[:4], rest[4]
    assert [line["event"] for line in tries] == ["try"] * 4
    first = history[0].tries[0]
    assert tries[0] == {
        "event": "try",
        "round": 0,
        "candidate": {"lr": 0.03},
        "series": [dict(metrics) for metrics in first.series],
        "epochs": 2,
        "score": first.score,
        "error": None,
        "seed": None,
        "seconds": first.seconds,
    }
    scores = [try_.score for try_ in history[0].tries]
    best, second = sorted(scores, reverse=True)[:2]
    assert ended == {
        "event": "round",
        "round": 0,
        "end": 4,
        "candidate": dict(history[0].candidate),
        "start": 0,
        "epochs": 4,
        "previous": {"lr": 0.03},
        "tries": [0, 1, 2, 3],
        "chosen": history[0].chosen,
        "reason": history[0].reason,
        "metrics": dict(history[0].metrics),
        "seed": None,
        "restarted": False,
        "seconds": history[0].seconds,
        "overhead": 6,
        "spread": max(scores) - min(scores),
        "margin": best - second,
        "gain": best - scores[0],
    }
    ends = [line["end"] for line in lines_of(tmp_path / "journal") if line["event"] == "round"]
    assert ends == [4, 8]


def a_round(*tries: Try, chosen: int = 0, previous: float = 0.1) -> Round:
    return Round(
        index=0,
        start=0,
        epochs=2,
        previous=Candidate({"lr": previous}),
        tries=tries,
        chosen=chosen,
        reason="so",
        metrics={"loss": 1.0},
    )


def a_try(lr: float, score: float, **more: Any) -> Try:
    candidate = Candidate({"lr": lr})
    return Try(candidate=candidate, series=({"loss": 1.0},), epochs=1, score=score, **more)


nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("round_", "spread", "margin", "gain"),
    [
        (a_round(a_try(0.1, 3.0)), 0.0, None, 0.0),
        (a_round(a_try(0.1, 3.0), a_try(0.2, 5.0), chosen=1), 2.0, 2.0, 2.0),
        (a_round(a_try(0.1, 3.0), a_try(0.2, 5.0)), 2.0, -2.0, 0.0),
        (a_round(a_try(0.3, 3.0), a_try(0.2, 5.0), chosen=1), 2.0, 2.0, None),
        (a_round(a_try(0.1, nan, error="bad"), a_try(0.2, 5.0), chosen=1), 0.0, None, None),
        (a_round(a_try(0.1, nan), a_try(0.2, 5.0), chosen=1), None, None, None),
        (a_round(a_try(0.1, nan, error="bad")), None, None, None),
        (a_round(a_try(0.1, inf), a_try(0.2, nan)), None, None, None),
        (a_round(a_try(0.1, 1e308), a_try(0.2, -1e308)), None, None, 0.0),
    ],
)
def test_how_scores_compare(
    round_: Round, spread: Any, margin: Any, gain: Any, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "journal")
    journal(RoundStarted(index=0, start=0, epochs=2))
    journal(round_)  # of a driver that does not tell of tries
    line = lines_of(tmp_path / "journal")[-1]
    assert (line["spread"], line["margin"], line["gain"]) == (spread, margin, gain)
    assert without_times(history_from_journal(tmp_path / "journal")) == without_times(
        History((round_,))
    )


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), texts
).filter(lambda value: value not in (inf, -inf))
metrics = st.dictionaries(texts, st.floats(), max_size=2)


@st.composite
def tries(draw: st.DrawFn) -> Try:
    return Try(
        candidate=Candidate(draw(st.dictionaries(texts, values, max_size=2))),
        series=tuple(draw(st.lists(metrics, max_size=2))),
        epochs=draw(st.integers(0, 5)),
        score=draw(st.floats()),
        error=draw(st.none() | texts),
        seed=draw(st.none() | st.integers(0, 2**63)),
        seconds=draw(st.floats(0, 1e6)),
    )


@given(st.data())
@settings(max_examples=30)
def test_any_history_comes_back(tmp_path_factory: Any, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal"
    journal, rounds, start = Journal(path), [], 0
    for index in range(data.draw(st.integers(0, 3))):
        tried = data.draw(st.lists(tries(), min_size=1, max_size=3))
        epochs = data.draw(st.integers(0, 9))
        journal(RoundStarted(index=index, start=start, epochs=epochs))
        for try_ in data.draw(st.permutations(tried)):
            journal(try_)
        round_ = Round(
            index=index,
            start=start,
            epochs=epochs,
            previous=data.draw(tries()).candidate,
            tries=tuple(tried),
            chosen=data.draw(st.integers(0, len(tried) - 1)),
            reason=data.draw(texts),
            metrics=data.draw(metrics),
            seed=data.draw(st.none() | st.integers(0, 2**63)),
            restarted=data.draw(st.booleans()),
            seconds=data.draw(st.floats(0, 1e6)),
        )
        journal(round_)
        rounds.append(round_)
        start += epochs
    if rounds:
        assert without_times(history_from_journal(path)) == without_times(History(tuple(rounds)))
    else:
        assert not path.exists()


def test_every_truncation_reads_as_a_shorter_run(tmp_path: Path) -> None:
    history = journaled(tmp_path / "whole", CASES["racing"], 8)
    data = (tmp_path / "whole").read_bytes()
    lengths = set()
    for length in range(0, len(data), 31):
        (tmp_path / "part").write_bytes(data[:length])
        found = read_journal(tmp_path / "part")
        assert without_times(found.history) == without_times(history)[: len(found.history)]
        assert found.torn == (data[:length][-1:] not in (b"", b"\n"))
        lengths.add((len(found.history), len(found.unfinished)))
    assert {(0, 0), (0, 2), (1, 3)} <= lengths


def line(**more: Any) -> bytes:
    return json.dumps(more).encode() + b"\n"


HEAD = line(event="journal", version=1)
START = line(event="round_started", round=0, start=0, epochs=2)


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (b"hello\n", 1),
        (START, 1),
        (line(event="journal", version=2), 1),
        (b"[]\n", 1),
        (HEAD + b"{}\n", 2),
        (HEAD + b"\n", 2),
        (HEAD + b"3\n", 2),
        (HEAD + HEAD, 2),
        (HEAD + line(event="party"), 2),
        (HEAD + line(event=[1]), 2),
        (HEAD + line(event="try", candidate=3), 2),
        (HEAD + START + line(event="round", round=0, start=0), 3),
        (HEAD + START + b'{"event":"try","score":NaN}\n', 3),
    ],
)
def test_lines_that_no_journal_has(data: bytes, number: int, tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(data)
    with pytest.raises(DamagedFile, match=rf"line {number} of '.*journal' is not a line of a"):
        read_journal(tmp_path / "journal")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tries": [0, 0, 1, 2]}, "4 tries were told"),
        ({"tries": [0]}, "4 tries were told"),
        ({"chosen": 4}, "no such try"),
        ({"chosen": -1}, "no such try"),
        ({"epochs": -1}, "epochs that go back"),
        ({"round": 5}, r"should be \(1, 4\)"),
        ({"start": 3}, r"should be \(1, 4\)"),
    ],
)
def test_rounds_that_do_not_follow(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    journaled(tmp_path / "journal", {}, 8)
    lines = lines_of(tmp_path / "journal")
    lines[-1].update(change)
    (tmp_path / "journal").write_bytes(b"".join(line(**each) for each in lines))
    with pytest.raises(DamagedFile, match=rf"line {len(lines)} .*{why}"):
        read_journal(tmp_path / "journal")


def test_a_round_that_failed_and_was_begun_again(tmp_path: Path) -> None:
    trainer = mortal({"bad": {0.01, 0.03, 0.1, 0.3}})
    adapter = adapter_of(trainer, {}, (Journal(tmp_path / "journal"),))
    with pytest.raises(AllTriesFailed):
        adapter.run(4)
    assert len(read_journal(tmp_path / "journal").unfinished) == 4
    trainer.inner.bad = ()
    assert adapter.run(4) == history_from_journal(tmp_path / "journal")


def test_a_file_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    journaled(tmp_path / "journal", {}, 4)
    before = (tmp_path / "journal").read_bytes()
    with pytest.raises(CheckpointError, match="holds something already; choose another file"):
        journaled(tmp_path / "journal", {}, 4)
    assert (tmp_path / "journal").read_bytes() == before


def test_what_a_kill_before_the_first_checkpoint_leaves_is_no_journal(tmp_path: Path) -> None:
    for length in range(len(HEAD)):
        path = tmp_path / str(length)
        path.write_bytes(line(event="journal", version=1).replace(b" ", b"")[:length])
        assert history_from_journal(path) == History(())
        assert journaled(path, {}, 4) == history_from_journal(path)


def test_going_back_and_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", seconds=False)
    adapter = adapter_of(mortal({}), {}, (journal,))
    adapter.run(4)
    position = journal.position()
    state = adapter.state_dict(), adapter.trainer.get_state()
    adapter.run(8)
    whole = (tmp_path / "journal").read_bytes()
    for torn in (b"", b'{"event":"tr'):
        (tmp_path / "journal").write_bytes(whole + torn)
        again = Journal(tmp_path / "journal", seconds=False)
        again.rewind(position)
        assert (tmp_path / "journal").stat().st_size == position["bytes"]
        other = adapter_of(mortal({}), {}, (again,))
        other.load_state_dict(state[0])
        other.trainer.set_state(state[1])
        other.run(8)
        assert (tmp_path / "journal").read_bytes() == whole


@pytest.mark.parametrize("content", [None, b"", b"short", b"x" * 10_000])
def test_another_journal_is_not_cut(content: bytes | None, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    adapter_of(mortal({}), {}, (journal,)).run(4)
    position = journal.position()
    (tmp_path / "journal").unlink()
    if content is not None:
        (tmp_path / "journal").write_bytes(content)
    for place in (position, {}, None, {"bytes": "3"}, {"bytes": -3, "sha256": ""}, {"bytes": 0}):
        with pytest.raises(CheckpointError, match="is not the journal of this run"):
            Journal(tmp_path / "journal").rewind(place)
    if content is not None:
        assert (tmp_path / "journal").read_bytes() == content


def test_somebody_else_writes_into_it(tmp_path: Path) -> None:
    adapter = adapter_of(mortal({}), {}, (Journal(tmp_path / "journal"),))
    adapter.run(4)
    with open(tmp_path / "journal", "ab") as file:
        file.write(b"hello")
    with pytest.raises(CheckpointError, match="somebody else has written into"):
        adapter.run(8)


@pytest.mark.parametrize("left", [None, 0, 40])
def test_a_journal_that_is_removed_or_cut_in_mid_run(left: int | None, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path, on_error="warn", seconds=False)
    adapter = adapter_of(mortal({}), {}, (journal,))
    adapter.run(4)
    whole = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(whole[:left])
    message = rf"only {left or 0} of {len(whole)} bytes are left: somebody has removed or cut it"
    with pytest.warns(RuntimeWarning, match=message + "; its lines are kept for later"):
        adapter.run(8)
    assert path.exists() == (left is not None)  # nothing is put in its place
    assert left is None or path.read_bytes() == whole[:left]
    assert journal.position() is None
    path.write_bytes(whole)  # and put back
    assert adapter.run(12) == history_from_journal(path)
    strict = Journal(path)
    strict.rewind(journal.position())
    path.unlink()
    with pytest.raises(CheckpointError, match=r"are left: .* put the file back or choose"):
        strict(RoundStarted(index=3, start=12, epochs=4))
    with pytest.raises(OSError, match="are left"):
        strict.position()


def test_a_journal_that_cannot_be_written(tmp_path: Path) -> None:
    nowhere = tmp_path / "no folder" / "journal"
    adapter = adapter_of(mortal({}), {}, (Journal(nowhere),))
    with pytest.raises(CheckpointError, match=r"cannot be written.*make room"):
        adapter.run(4)
    assert adapter.trainer.asked == []
    later = Journal(nowhere, on_error="warn")
    adapter = adapter_of(mortal({}), {}, (later,))
    with pytest.warns(RuntimeWarning, match="its lines are kept for later"):
        adapter.run(4)
    with pytest.raises(OSError, match="No such file"):
        later.position()
    nowhere.parent.mkdir()
    history = adapter.run(8)
    assert history_from_journal(nowhere) == history


def test_half_a_line_on_a_full_disk_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal", on_error="warn")
    adapter = adapter_of(mortal({}), {}, (journal,))
    adapter.run(4)
    before = (tmp_path / "journal").read_bytes()

    class Full:
        def __init__(self, *arguments: Any) -> None:
            self.file = real(*arguments)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def tell(self) -> int:
            return int(self.file.tell())

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            raise OSError("No space left on device")

    real = open
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", Full)
        with pytest.warns(RuntimeWarning, match="No space left"):
            journal(RoundStarted(index=1, start=4, epochs=4))
    assert (tmp_path / "journal").read_bytes() == before
    history = adapter.run(8)
    assert history_from_journal(tmp_path / "journal") == history


def test_settings_that_cannot_work(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="on_error must be 'stop' or 'warn', got 'ignore'"):
        Journal(tmp_path / "journal", on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match="the journal cannot be read"):
        read_journal(tmp_path / "journal")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    parsed = parser.parse_args(["journal", *arguments])
    assert parsed.func(parsed) == 0
    return capsys.readouterr().out


def test_the_command_shows_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "journal"
    history = journaled(path, {"bad": {0.1}}, 8)
    with open(path, "ab") as file:
        file.write(line(event="round_started", round=2, start=8, epochs=4))
        file.write(lines_of(path)[2] and line(**lines_of(path)[2]) + b'{"torn')
    headings, first, second, unfinished, torn = shown(capsys, str(path)).splitlines()
    assert headings.split() == list(command.HEADINGS)
    assert first.split()[:3] == ["0", "0-4", f"lr={history[0].candidate['lr']}"]
    assert "4 (1 failed)" in first
    assert history[1].reason in second
    assert unfinished == "A round is not finished; tried so far: lr=0.03."
    assert torn == "The last line is torn."


def test_the_command_gives_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = journaled(tmp_path / "journal", {"bad": {0.03}}, 4)
    found = json.loads(shown(capsys, str(tmp_path / "journal"), "--json"))
    assert [round_["chosen"] for round_ in found] == [history[0].chosen]
    assert " -  " in shown(capsys, str(tmp_path / "journal"))  # no gain over what failed
