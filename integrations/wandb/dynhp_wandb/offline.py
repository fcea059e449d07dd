"""What is in the file of an offline run: the rows that a killed process had written."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2 as internal

__all__ = ["rows_in"]

# The format of LevelDB's log, after a header of seven bytes: blocks of 32 KiB, in each of them
# pieces of records with a checksum, a length and a kind (1 whole, 2 first, 3 middle, 4 last).
HEADER, BLOCK, PIECE = 7, 32768, struct.Struct("<IHB")
WHOLE, FIRST, LAST = 1, 2, 4


def rows_in(path: Path) -> list[dict[str, str]]:
    """The rows of an offline run's file, each as JSON by name; what is torn at the end is left out.

    >>> rows_in(Path("no-such-file.wandb"))
    []
    """
    data = path.read_bytes() if path.exists() else b""
    return [row for record in _records(data) if (row := _row(record))]


def _records(data: bytes) -> Iterator[bytes]:
    at, record = HEADER, b""
    while at + PIECE.size <= len(data):
        room = BLOCK - at % BLOCK
        if room < PIECE.size:  # too little for another piece: the next block begins
            at += room
            continue
        _, length, kind = PIECE.unpack_from(data, at)
        piece = data[at + PIECE.size : at + PIECE.size + length]
        at += PIECE.size + length
        if len(piece) < length:
            return  # torn
        record = piece if kind in (WHOLE, FIRST) else record + piece
        if kind in (WHOLE, LAST):
            yield record


def _row(data: bytes) -> dict[str, str]:
    record: Any = internal.Record()  # type: ignore[attr-defined]
    record.ParseFromString(data)
    if record.WhichOneof("record_type") != "history":
        return {}
    items = record.history.item
    return {item.key or "/".join(item.nested_key): item.value_json for item in items}
