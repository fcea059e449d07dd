"""States on their way: taken apart without copies, put together again, in shared memory."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp.errors import SettingsError
from dynhp.executors.pool import packing
from dynhp.executors.pool.packing import pieces_of, register_reducer
from dynhp.executors.pool.shared_memory import SPARE, Segments, WorkerSegments, load, pack
from dynhp.testing import difference
from tests.support.messages import raises


def test_a_state_put_together_again_is_ones_own() -> None:
    segments = Segments()
    state = {"large": np.arange(20_000.0), "small": np.arange(3), "frozen": np.arange(9_000.0)}
    state["frozen"].flags.writeable = False
    packed = pack(state, segments)
    loaded = load(packed, segments)
    assert difference(state, loaded) is None
    loaded["large"][0] = loaded["small"][0] = 7
    assert not loaded["frozen"].flags.writeable
    assert load(packed, segments)["large"][0] == 0
    segments.clear()


def test_segments_serve_again_where_they_fit() -> None:
    segments = Segments()
    first = segments.make([100_000])
    segments.release(first)
    assert segments.make([100_000]) == first
    assert segments.make([100_000]) != first
    segments.release_all()
    assert segments.make([1_000]) != first  # far too large for that
    assert len({segments.make([1_000_000]) for _ in range(3)}) == 3
    segments.release_all()
    assert len(segments._spare) == SPARE
    segments.release(None)
    segments.release("unknown")
    segments.clear()
    assert (segments._spare, segments._used) == ([], {})


def test_a_worker_keeps_the_last_segments_open() -> None:
    segments, openings = Segments(), WorkerSegments(lambda sizes: None)
    names = [segments.make([50_000]) for _ in range(3)]
    for name in [names[0], names[1], names[0], names[2]]:
        openings.buffer(name or "")[:1] = b"x"
    assert list(openings._open) == [names[0], names[2]]
    assert all(bytes(segments.buffer(name or "")[:1]) == b"x" for name in names)
    openings.close()
    segments.clear()


def full(*args: Any, **settings: Any) -> None:
    raise OSError(errno.ENOSPC, "no space left")


@pytest.mark.parametrize(
    "where", ["dynhp.executors.pool.shared_memory.SharedMemory", "os.posix_fallocate"]
)
def test_without_room_a_state_travels_in_messages(
    monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    segments = Segments()
    before = set(Path("/dev/shm").glob(f"dynhp-{os.getpid()}-*"))
    monkeypatch.setattr(where, full, raising=False)
    state = np.arange(20_000.0)
    packed = pack(state, segments)
    assert packed.segment is None
    assert difference(state, load(packed, segments)) is None
    assert (segments._used, segments._spare) == ({}, [])
    assert set(Path("/dev/shm").glob(f"dynhp-{os.getpid()}-*")) == before


def test_where_memory_cannot_be_reserved_it_is_taken_as_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    segments = Segments()
    assert segments.make([10]) is not None
    segments.clear()


def test_pieces_are_no_copies() -> None:
    array = np.zeros(10_000)
    _, piece = pieces_of(array)
    array[0] = 1.0
    assert bytes(piece[:8]) == array[:1].tobytes()


class RawWeights:
    """Memory that pickle knows nothing of, as tensors are."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw


class DerivedWeights(RawWeights):
    """Not of exactly the type that was registered."""


def test_a_type_can_say_how_it_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_reducers", {})
    large = bytearray(100_000)
    assert [len(pieces_of(RawWeights(large)))] == [1]  # all in the pickle
    register_reducer(RawWeights, lambda it: (RawWeights, (pickle.PickleBuffer(it.raw),)))
    stream, piece = pieces_of({"w": RawWeights(large), "also": DerivedWeights(b"x"), "z": 1j})
    assert stream.nbytes < 500
    large[0] = 7
    assert piece[0] == 7  # no copy
    segments = Segments()
    loaded = load(pack({"w": RawWeights(large)}, segments), segments)["w"]
    loaded.raw[0] += 1  # its own, and may be written to
    assert (bytes(loaded.raw[:2]), large[0]) == (b"\x08\x00", 7)
    segments.clear()


@pytest.mark.parametrize(
    "wrong", [("RawWeights", len), (RawWeights, None)], ids=["type", "function"]
)
def test_what_is_no_reducer_is_refused(wrong: Any) -> None:
    with raises(SettingsError):
        register_reducer(*wrong)
