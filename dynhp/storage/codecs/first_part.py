"""The first entries of a state in a file, read without the rest, which may be large or foreign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from dynhp.errors import DamagedFile
from dynhp.storage.codecs.archive import name_of
from dynhp.storage.codecs.decoder import MOST_STATE, Decoder
from dynhp.storage.codecs.json_text import strict_json

if TYPE_CHECKING:
    import zipfile

__all__ = ["read_first"]


class _Buffers:
    """The buffers of an archive, each read when it is asked for."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def __getitem__(self, place: int) -> bytearray:
        return bytearray(self._archive.read(name_of(place + 1)))


def read_first(file: BinaryIO, names: Sequence[str]) -> dict[str, Any]:
    """Read the entries of these names, which must be the first ones of a state, in this order.

    Nothing is executed, what is read is checked; of the rest nothing is known.

    >>> import io
    >>> from dynhp.storage.codecs import encode
    >>> read_first(io.BytesIO(encode({"a": b"raw", "b": [1], "c": 0})), ("a", "b"))
    {'a': b'raw', 'b': [1]}
    """
    import zipfile  # slow to import, and needed by reports alone

    try:
        with zipfile.ZipFile(file) as archive:
            document = strict_json(archive.read(name_of(0)), most=MOST_STATE)
            state = document["state"]
            if list(state)[: len(names)] != list(names):
                raise DamagedFile("it is a state, but not a checkpoint")
            buffers: Any = _Buffers(archive)  # all that is asked of them
            decoder = Decoder(buffers)
            return {name: decoder.node(state[name]) for name in names}
    except (zipfile.BadZipFile, LookupError, TypeError, ValueError, EOFError) as damage:
        raise DamagedFile(f"it is not as it was written ({damage})") from damage
