"""A zip of raw buffers, sealed by a digest: what is not whole, or was changed, is refused."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from dynhp.errors import DamagedFile, shown

if TYPE_CHECKING:
    import zipfile

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Raw bytes; a memoryview must be flat, one byte per item."""

# The digest of all that comes before it is the end of the file, as part of the zip's comment.
_COMMENT = b"dynhp sha256 "
_DIGEST = 64
_DATE = (1980, 1, 1, 0, 0, 0)  # so that bytes never depend on a clock
_CHUNK = 1 << 20
# What zipfile raises for bytes that make no sense, beside its own BadZipFile.
_DAMAGES = (EOFError, OSError, OverflowError, RuntimeError, ValueError, struct.error)


def name_of(place: int) -> str:
    """What the member at this place is called: the JSON, then the buffers it refers to."""
    return f"buffers/{place - 1}" if place else "state.json"


def write(file: BinaryIO, members: Sequence[Buffer]) -> str:
    """Write the members and give the digest of the whole, which ends the file as its comment."""
    import zipfile  # not needed to import dynhp, and slow to import

    sealed: Any = _SealedFile(file)  # of a file it has all that a zip needs to be written
    with zipfile.ZipFile(sealed, "w") as archive:
        for place, member in enumerate(members):
            # Stored, never compressed, so that no small file becomes a large one when it is read.
            info = zipfile.ZipInfo(name_of(place), _DATE)
            info.create_system = 3  # the same bytes on every system
            with archive.open(info, "w", force_zip64=True) as stream:
                stream.write(member)
        archive.comment = _COMMENT + bytes(_DIGEST)
    digest: str = sealed.seal()
    return digest


def read(file: BinaryIO) -> list[bytearray]:
    """Read the members back; memory grows with the file's real size, whatever it claims."""
    size = file.seek(0, 2)
    digest = _digest(file, size - _DIGEST)  # first of all: zipfile takes a failing disk for damage
    members: list[bytearray] = []
    with _opened(file) as archive:
        for info in archive.infolist():
            member = bytearray(info.file_size)
            view = memoryview(member)
            with archive.open(info) as stream:
                for start in range(0, len(member), _CHUNK):
                    stream.readinto(view[start : start + _CHUNK])  # type: ignore[attr-defined]
                stream.read()  # nothing; this checks the header of a member that is empty
            members.append(member)
    file.seek(size - _DIGEST)
    if file.read() != digest:
        raise DamagedFile("the digest does not fit the content")
    return members


def read_first(file: BinaryIO) -> bytes:
    """Read the first member alone; that all is as it was written is not checked by the digest."""
    with _opened(file) as archive:
        return archive.read(name_of(0))


@contextmanager
def _opened(file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    """Open a file whose members are ours; what makes no sense in it is damage."""
    import zipfile

    size = file.seek(0, 2)
    try:
        with zipfile.ZipFile(file) as archive:
            _require_ours(archive.infolist(), size)
            yield archive
    except (*_DAMAGES, zipfile.BadZipFile) as damage:
        reason = str(damage) or "it ends too early"
        raise DamagedFile(f"it is not as it was written ({reason})") from damage


def _digest(file: BinaryIO, size: int) -> bytes:
    """The digest of the first bytes of a file, as it stands at its end."""
    sha = hashlib.sha256()
    file.seek(0)
    while size > 0 and (data := file.read(min(_CHUNK, size))):
        sha.update(data)
        size -= len(data)
    return sha.hexdigest().encode()


def _require_ours(infos: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse other members than ours, and those that claim more than the file has."""
    if not infos:
        raise DamagedFile("there is nothing in it")
    for place, info in enumerate(infos):
        stored = info.compress_type == 0 and info.compress_size == info.file_size
        if info.filename != name_of(place) or not stored:
            raise DamagedFile(f"a member is not as dynhp writes it: {shown(info.filename)}")
    claimed = sum(info.file_size for info in infos)
    if claimed > size:
        raise DamagedFile(f"it claims {claimed} bytes where there are {size}")


class _SealedFile:
    """Hashes what a zip is made of on its way to the file, all but its last bytes, the digest.

    It has no ``seek``, so that a zip is written from its start to its end.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sha = hashlib.sha256()
        self._held = b""  # what may be the last bytes

    def write(self, data: Buffer, /) -> int:
        """Write what came before, and hold the last bytes back."""
        length = len(data)
        if length < _DIGEST:
            data = self._held + bytes(data)
        else:
            self._put(self._held)
        self._put(memoryview(data)[:-_DIGEST])
        self._held = bytes(data[-_DIGEST:])
        return length

    def flush(self) -> None:
        """Nothing to do: what opened the file closes it."""

    def seal(self) -> str:
        """Write the digest in place of the last bytes."""
        digest = self._sha.hexdigest()
        self._file.write(digest.encode())
        return digest

    def _put(self, data: Buffer) -> None:
        self._file.write(data)
        self._sha.update(data)
