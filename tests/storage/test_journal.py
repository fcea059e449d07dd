"""The journal: a run written line by line, and read back exactly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynhp import History
from dynhp.errors import AllTriesFailed, DamagedFile
from dynhp.records import Candidate, Round, RoundStarted, Try
from dynhp.storage.journal import Journal, history_from_journal, read_journal
from tests.support.messages import raises
from tests.support.resuming import (
    CASES,
    EPOCHS,
    adapter_of,
    journaled,
    lines_of,
    mortal,
    without_times,
)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seconds", [True, False])
def test_the_history_comes_back_exactly(name: str, seconds: bool, tmp_path: Path) -> None:
    history = journaled(tmp_path / "journal", CASES[name], seconds=seconds)
    read_back = history_from_journal(tmp_path / "journal")
    assert read_back == history
    assert without_times(read_back) == without_times(history)
    times = [try_.seconds for round_ in history for try_ in (round_, *round_.tries)]
    back = [try_.seconds for round_ in read_back for try_ in (round_, *round_.tries)]
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
    header, run, started, *rest = lines_of(tmp_path / "journal")
    assert header == {"event": "journal", "version": 1}
    assert list(run) == ["event", "epochs", "settings", "versions", "command"]
    assert (run["event"], run["epochs"], run["settings"]["seed"]) == ("run", 8, "0")
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
    journal(round_)  # of a driver that does not report tries
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
        part = read_journal(tmp_path / "part")
        assert without_times(part.history) == without_times(history)[: len(part.history)]
        assert part.torn == (data[:length][-1:] not in (b"", b"\n"))
        lengths.add((len(part.history), len(part.unfinished)))
    assert {(0, 0), (0, 2), (1, 3)} <= lengths


def line(**more: Any) -> bytes:
    return json.dumps(more).encode() + b"\n"


HEADER = line(event="journal", version=1)
START = line(event="round_started", round=0, start=0, epochs=2)


@pytest.mark.parametrize(
    "data",
    [
        b"hello\n",
        START,
        line(event="journal", version=2),
        b"[]\n",
        HEADER + b"{}\n",
        HEADER + b"\n",
        HEADER + b"3\n",
        HEADER + HEADER,
        HEADER + line(event="party"),
        HEADER + line(event=[1]),
        HEADER + line(event="try", candidate=3),
        HEADER + START + line(event="round", round=0, start=0),
        HEADER + START + b'{"event":"try","score":NaN}\n',
    ],
)
def test_lines_that_no_journal_has(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(data)
    with raises(DamagedFile):
        read_journal(tmp_path / "journal")


@pytest.mark.parametrize(
    "change",
    [
        {"tries": [0, 0, 1, 2]},
        {"tries": [0]},
        {"chosen": 4},
        {"chosen": -1},
        {"epochs": -1},
        {"round": 5},
        {"start": 3},
    ],
)
def test_rounds_that_do_not_follow(change: dict[str, Any], tmp_path: Path) -> None:
    journaled(tmp_path / "journal", {}, 8)
    lines = lines_of(tmp_path / "journal")
    lines[-1].update(change)
    (tmp_path / "journal").write_bytes(b"".join(line(**each) for each in lines))
    with raises(DamagedFile):
        read_journal(tmp_path / "journal")


def test_a_round_that_failed_and_was_begun_again(tmp_path: Path) -> None:
    trainer = mortal({"bad": {0.01, 0.03, 0.1, 0.3}})
    adapter = adapter_of(trainer, {}, (Journal(tmp_path / "journal"),))
    with pytest.raises(AllTriesFailed):
        adapter.run(4)
    assert len(read_journal(tmp_path / "journal").unfinished) == 4
    trainer.inner.bad = ()
    assert adapter.run(4) == history_from_journal(tmp_path / "journal")
