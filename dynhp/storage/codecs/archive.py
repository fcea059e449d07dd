"""A zip of raw buffers with one canonical form: what is not byte for byte that form is refused."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from typing import BinaryIO, TypeAlias

from dynhp.errors import DamagedFile

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Raw bytes; a memoryview must be flat, one byte per item."""

# Members are stored, never compressed, so that no small file becomes a large one when it is read.
# Sizes are always in zip64 fields, so that small and large files have one form and one reader.
_LOCAL = struct.Struct("<4s5HL2L2H2H2Q")
_CENTRAL = struct.Struct("<4s6HL2L5H2L2H3Q")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_VERSION = 45  # the first with zip64
_DATE = 0x21  # the first of January 1980, so that bytes never depend on a clock
_MANY, _HUGE = 0xFFFF, 0xFFFFFFFF  # "see the zip64 field"
_COMMENT = b"dynhp sha256 "
_DIGEST = 64  # hexadecimal digits at the very end of the file
_CHUNK = 1 << 20


def name_of(place: int) -> str:
    """What the member at this place is called: the JSON, then the buffers it refers to."""
    return f"buffers/{place - 1}" if place else "state.json"


def write(file: BinaryIO, members: Sequence[Buffer]) -> str:
    """Write the members and give the digest of the whole, which ends the file as its comment."""
    sha = hashlib.sha256()

    def put(part: Buffer) -> None:
        file.write(part)
        sha.update(part)

    facts = [(zlib.crc32(member), len(member)) for member in members]
    for place, member in enumerate(members):
        put(_local(place, *facts[place]))
        put(member)
    put(_directory(facts))
    digest = sha.hexdigest()
    file.write(digest.encode())
    return digest


def read(file: BinaryIO) -> list[bytearray]:
    """Read the members back; memory grows with the file's real size, whatever it claims."""
    reader = _ArchiveReader(file)
    members: list[bytearray] = []
    facts: list[tuple[int, int]] = []
    while (signature := reader.take(4)) == b"PK\3\4":
        place = len(members)
        header = signature + reader.take(_LOCAL.size + len(name_of(place)) - 4)
        size = int.from_bytes(header[-16:-8], "little")
        member = reader.take(size)
        facts.append((zlib.crc32(member), size))
        if header != _local(place, *facts[place]):
            raise DamagedFile(f"the header of {name_of(place)} is not as it was written")
        members.append(member)
    directory = _directory(facts)
    if len(signature) + reader.left != len(directory) + _DIGEST:
        raise DamagedFile("the file does not end where it should")
    if signature + reader.take(len(directory) - len(signature)) != directory:
        raise DamagedFile("the zip's directory is not as it was written")
    digest = reader.digest()
    if file.read(_DIGEST) != digest.encode():
        raise DamagedFile("the digest does not fit the content")
    return members


class _ArchiveReader:
    """Reads a file whose real size is known, and counts what is left of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sha = hashlib.sha256()
        self.left = file.seek(0, 2) - file.seek(0)

    def take(self, size: int) -> bytearray:
        """The next bytes, or an error where there are not so many."""
        if size > self.left:
            raise DamagedFile(f"it claims {size} more bytes where {self.left} are left")
        taken = bytearray(size)
        view = memoryview(taken)
        for start in range(0, size, _CHUNK):
            part = view[start : start + _CHUNK]
            if self._file.readinto(part) != len(part):  # type: ignore[attr-defined]
                raise DamagedFile("it became shorter while it was read")
            self._sha.update(part)
        self.left -= size
        return taken

    def digest(self) -> str:
        """The digest of all that was taken."""
        return self._sha.hexdigest()


def _local(place: int, crc: int, size: int) -> bytes:
    name = name_of(place).encode()
    header = _LOCAL.pack(
        *(b"PK\3\4", _VERSION, 0, 0, 0, _DATE, crc, _HUGE, _HUGE, len(name), 20),
        *(1, 16, size, size),
    )
    return header[:-20] + name + header[-20:]


def _central(place: int, crc: int, size: int, offset: int) -> bytes:
    name = name_of(place).encode()
    header = _CENTRAL.pack(
        *(b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _DATE, crc, _HUGE, _HUGE),
        *(len(name), 28, 0, 0, 0, 0, _HUGE),
        *(1, 24, size, size, offset),
    )
    return header[:-28] + name + header[-28:]


def _directory(facts: Sequence[tuple[int, int]]) -> bytes:
    """All that follows the last member: entries, end records, the comment up to its digest."""
    entries, offset = [], 0
    for place, (crc, size) in enumerate(facts):
        entries.append(_central(place, crc, size, offset))
        offset += _LOCAL.size + len(name_of(place)) + size
    directory = b"".join(entries)
    number, length = len(facts), len(directory)
    end64 = (b"PK\6\6", _END64.size - 12, _VERSION, _VERSION, 0, 0, number, number, length, offset)
    end = (b"PK\5\6", 0, 0, _MANY, _MANY, _HUGE, _HUGE, len(_COMMENT) + _DIGEST)
    return b"".join(
        (
            directory,
            _END64.pack(*end64),
            _LOCATOR.pack(b"PK\6\7", 0, offset + length, 1),
            _END.pack(*end),
            _COMMENT,
        )
    )
