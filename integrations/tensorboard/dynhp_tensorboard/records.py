"""Numbers as the records of TensorBoard's event files."""

from __future__ import annotations

import io
from collections.abc import Iterable

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from dynhp.report import Scalar

__all__ = ["first_record", "records_of"]


def first_record(now: float) -> bytes:
    """What every event file begins with.

    >>> b"brain.Event:2" in first_record(0.0)
    True
    """
    return _framed([Event(wall_time=now, file_version="brain.Event:2")])


def records_of(scalars: Iterable[Scalar], now: float) -> bytes:
    """A record for each number.

    >>> b"main/loss" in records_of([Scalar("main", "main/loss", 0, 0.5)], 0.0)
    True
    """
    return _framed(
        Event(
            wall_time=now,
            step=scalar.step,
            summary=Summary(value=[Summary.Value(tag=scalar.series, simple_value=scalar.value)]),
        )
        for scalar in scalars
    )


def _framed(events: Iterable[Event]) -> bytes:
    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    for event in events:
        writer.write(event.SerializeToString())
    return buffer.getvalue()
