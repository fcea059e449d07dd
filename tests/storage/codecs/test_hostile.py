"""Files that are torn, tampered with or made to harm: refused, without code run or memory lost."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynhp.errors import CodecError, DamagedFile
from dynhp.storage.codecs import archive, decode, encode
from dynhp.storage.codecs.decoder import MOST_STATE
from dynhp.storage.codecs.encoder import Encoder
from dynhp.storage.codecs.state_file import read_parts, read_state
from tests.support.messages import raises

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"w": np.arange(3.0), "n": (1, None, float("nan")), "raw": b"bytes", "t": "text"}


def sealed(state: Any, *buffers: bytes, **document: Any) -> bytes:
    """A file that is sound outside, whatever its JSON says."""
    text = {"format": "dynhp state", "version": 2, "state": state, **document}
    return sealed_json(json.dumps(text), *buffers)


def sealed_json(text: str, *buffers: bytes) -> bytes:
    file = io.BytesIO()
    archive.write(file, [text.encode("latin-1"), *buffers])
    return file.getvalue()


def test_every_single_bit_counts() -> None:
    data = encode(SMALL)
    assert len(data) < 2000
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            with pytest.raises(DamagedFile):
                decode(bytes(flipped))


def test_every_truncation_and_every_addition_is_seen() -> None:
    data = encode(SMALL)
    for length in range(len(data)):
        with pytest.raises(DamagedFile):
            decode(data[:length])
    for extra in (b"\0", b"PK\3\4", data):
        for longer in (data + extra, extra + data):
            with pytest.raises(DamagedFile):
                decode(longer)


def test_no_flipped_bit_makes_another_state_even_where_the_digest_is_made_to_fit() -> None:
    data = encode(SMALL)
    read = 0
    for place in range(len(data) - 64):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            try:
                state = decode(resealed(bytes(flipped)))
            except DamagedFile:
                continue
            read += 1  # a date, or a version, that nobody looks at
            assert encode(state) == data
    assert read


def resealed(data: bytes) -> bytes:
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def test_a_file_that_shrinks_while_it_is_read() -> None:
    class Shrinking(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return b"" if size == 8000 else super().read(size)

    with raises(DamagedFile):
        read_state(Shrinking(encode(np.zeros(1000))))


def test_a_failing_disk_is_not_called_damage() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        read_state(Failing(encode(SMALL)))


@pytest.mark.parametrize("offset", [0, 1, 2**31, 2**32 - 2])
def test_a_directory_elsewhere_in_a_file_on_disk(offset: int, tmp_path: Path) -> None:
    data = bytearray(encode(SMALL))
    place = data.rindex(b"PK\5\6") + 16
    data[place : place + 4] = offset.to_bytes(4, "little")
    (tmp_path / "state").write_bytes(data)
    with open(tmp_path / "state", "rb") as file, pytest.raises(DamagedFile):
        read_state(file)


class Evil:
    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch owned",)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


STATE_JSON = b'{"format":"dynhp state","version":2,"state":1}'


def lying(**claims: int) -> bytes:
    """A file in which the first member claims this."""
    file = io.BytesIO()
    sealed = archive._SealedFile(file)
    with zipfile.ZipFile(sealed, "w") as made:
        made.writestr("state.json", STATE_JSON)
        for name, value in claims.items():
            setattr(made.filelist[0], name, value)
        made.comment = archive._COMMENT + bytes(64)
    sealed.seal()
    return file.getvalue()


def lying_size(size: int) -> bytes:
    return lying(file_size=size, compress_size=size)


FOREIGN = {
    "nothing": b"",
    "text": b"hello",
    "a pickle": pickle.dumps(Evil()),
    "a pickled array": (lambda f: (np.save(f, np.array([Evil()]), allow_pickle=True), f))(
        io.BytesIO()
    )[1].getvalue(),
    "an empty zip": zipped({}),
    "somebody's zip": zipped({"state.json": STATE_JSON}),
    "a zip bomb": zipped({"state.json": b"0" * 10_000_000}, zipfile.ZIP_DEFLATED),
    "a path that leaves": zipped({"../../state.json": STATE_JSON}),
    "an absolute path": zipped({"/etc/state.json": STATE_JSON}),
    "a size of 8 exabytes": lying_size(2**63),
    "a size of 1 terabyte": lying_size(2**40),
    "a size one too large": lying_size(10**4),
    "a size that ends in the directory": lying_size(len(STATE_JSON) + 1),
    "a size of nothing": lying_size(0),
    "a size that differs when compressed": lying(compress_size=10),
    "a size that is smaller than what is there": lying(file_size=10),
    "a member that is compressed": lying(compress_type=zipfile.ZIP_DEFLATED),
    "a member that is encrypted": lying(flag_bits=1),
    "a member that lies elsewhere": lying(header_offset=20),
    "a member that lies behind": lying(header_offset=2**40),
    "another checksum": lying(CRC=1),
    "no members": (lambda f: (archive.write(f, []), f))(io.BytesIO())[1].getvalue(),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_refused(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with raises(DamagedFile):
        decode(FOREIGN[name])
    assert list(tmp_path.iterdir()) == []


def test_the_pickle_would_have_harmed(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(FOREIGN["a pickle"])
    assert [path.name for path in tmp_path.iterdir()] == ["owned"]


EIGHT = bytes(8)
LIES: dict[str, bytes] = {
    "an array too large": sealed({"$array": ["<f8", [2**40], "C", 0]}, EIGHT),
    "an array too small": sealed({"$array": ["<f8", [], "C", 0]}, EIGHT * 2),
    "a shape that overflows": sealed({"$array": ["<f8", [2**62, 4], "C", 0]}, b""),
    "a shape of nothing that overflows": sealed({"$array": ["<f8", [2**70, 0], "C", 0]}, b""),
    "too many dimensions": sealed({"$array": ["<f8", [1] * 1000, "C", 0]}, EIGHT),
    "a negative shape": sealed({"$array": ["<f8", [-1, -1], "C", 0]}, EIGHT),
    "a shape of booleans": sealed({"$array": ["<f8", [True], "C", 0]}, EIGHT),
    "a shape of floats": sealed({"$array": ["<f8", [1.0], "C", 0]}, EIGHT),
    "no shape": sealed({"$array": ["<f8", 1, "C", 0]}, EIGHT),
    "another order": sealed({"$array": ["<f8", [1], "K", 0]}, EIGHT),
    "objects": sealed({"$array": ["|O", [1], "C", 0]}, EIGHT),
    "fields": sealed({"$array": ["i4,f4", [1], "C", 0]}, EIGHT),
    "a long type": sealed({"$array": ["i4," * 10_000, [1], "C", 0]}, EIGHT),
    "a strange type": sealed({"$array": ["no", [1], "C", 0]}, EIGHT),
    "a type that is none": sealed({"$array": [8, [1], "C", 0]}, EIGHT),
    "items of no size": sealed({"$array": ["|V0", [10**15], "C", 0]}, b""),
    "too few parts": sealed({"$array": ["<f8", [1], "C"]}, EIGHT),
    "a huge scalar": sealed({"$scalar": ["<U1000000000", ""]}),
    "a scalar too short": sealed({"$scalar": ["<f8", "00"]}),
    "a scalar of objects": sealed({"$scalar": ["|O", "00" * 8]}),
    "a scalar in no hex": sealed({"$scalar": ["<f8", "zz" * 8]}),
    "a buffer twice": sealed([{"$bytes": 0}, {"$bytes": 0}], EIGHT),
    "buffers in disorder": sealed([{"$bytes": 1}, {"$bytes": 0}], EIGHT, EIGHT),
    "a buffer that is not there": sealed({"$bytes": 0}),
    "a buffer from behind": sealed({"$bytes": -1}, EIGHT),
    "a buffer by a truth": sealed({"$bytes": False}, EIGHT),
    "a buffer left over": sealed(1, EIGHT),
    "axes twice": sealed({"$array": ["<f8", [1, 1], [0, 0], 0]}, EIGHT),
    "axes of texts": sealed({"$array": ["<f8", [1, 1], ["0", "1"], 0]}, EIGHT),
    "too many axes": sealed({"$array": ["<f8", [1], [0, 1], 0]}, EIGHT),
    "the same as nothing": sealed({"$same": 0}),
    "the same as itself": sealed([{"$same": 0}]),
    "the same as what comes later": sealed([[], {"$same": 1}, []]),
    "the same from behind": sealed([[], {"$same": -1}]),
    "the same by a truth": sealed([[], {"$same": False}]),
    "the same as a tuple": sealed([{"$tuple": []}, {"$same": 0}]),
    "a tower of the same": sealed(
        json.loads("[" * 60 + '["text"]' + "".join(f',{{"$same":{i}}}]' for i in range(60)))
    ),
    "a key that cannot be one": sealed({"$dict": [[[1], 2]]}),
    "a key twice": sealed({"$dict": [["a", 1], ["a", 2]]}),
    "half a pair": sealed({"$dict": [["a"]]}),
    "pairs that are none": sealed({"$dict": {"a": 1}}),
    "two tags": sealed({"$tuple": [], "$bytes": 0}, EIGHT),
    "a tag among names": sealed({"a": 1, "$tuple": []}),
    "an unknown tag": sealed({"$import": "os"}),
    "a tuple of no list": sealed({"$tuple": "abc"}),
    "a complex of texts": sealed({"$complex": ["1", "2"]}),
    "half a complex": sealed({"$complex": [1.0, "2"]}),
    "a float of no bits": sealed({"$float": "00"}),
    "an int in another way": sealed({"$int": "ff"}),
    "an int that is none": sealed({"$int": 3}),
    "a text that is none": sealed({"$str": "ff"}),
    "nan": sealed_json('{"format":"dynhp state","version":2,"state":NaN}'),
    "infinity": sealed_json('{"format":"dynhp state","version":2,"state":-Infinity}'),
    "a float that overflows": sealed_json('{"format":"dynhp state","version":2,"state":1e999}'),
    "a million digits": sealed_json(
        '{"format":"dynhp state","version":2,"state":' + "9" * 1_000_000 + "}"
    ),
    "a name twice": sealed_json('{"format":"dynhp state","version":2,"state":1,"state":2}'),
    "a tower": sealed_json(
        '{"format":"dynhp state","version":2,"state":' + "[" * 100_000 + "]" * 100_000 + "}"
    ),
    "a tower to climb": sealed_json(
        '{"format":"dynhp state","version":2,"state":' + "[" * 400 + "]" * 400 + "}"
    ),
    "letters beyond ASCII": sealed_json('{"format":"dynhp state","version":2,"state":"\xff"}'),
    "no JSON": sealed_json("{"),
    "no document": sealed_json("[]"),
    "another format": sealed(1, format="a picture"),
    "a name too many": sealed(1, more=1),
    "no state": sealed_json('{"format":"dynhp state","version":2}'),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_inside_a_sound_file_are_refused(name: str) -> None:
    with raises(DamagedFile):
        decode(LIES[name])


def test_the_corpus_is_refused_for_what_it_says_and_not_for_how_it_is_sealed() -> None:
    assert decode(sealed({"$array": ["<f8", [1], "C", 0]}, EIGHT)).tolist() == [0.0]
    assert decode(sealed({"$dict": [["a", {"$bytes": 0}]]}, EIGHT)) == {"a": EIGHT}


@pytest.mark.parametrize(
    "data",
    [
        sealed({"$codec": [["a"], 1]}),
        sealed({"$codec": ["numpy.generator", {"bit_generator": "seed"}]}),
        sealed({"$codec": ["numpy.PCG64", {"bit_generator": "seed"}]}),
        sealed({"$codec": ["default", ["exec", {}]]}),
        sealed({"$codec": ["candidate", 3]}),
        sealed({"$codec": ["set", [[1]]]}),
        sealed(1, version=1),
        sealed(1, version="9" * 1000),
    ],
)
def test_what_this_version_cannot_read_is_refused(data: bytes) -> None:
    with raises((CodecError, DamagedFile)):
        decode(data)


UNSEEN_IN_PARTS = ("somebody's zip", "a buffer left over")  # for these all must be read


@pytest.mark.parametrize("name", sorted((FOREIGN | LIES).keys() - UNSEEN_IN_PARTS))
def test_a_part_of_a_damaged_file_is_refused(name: str) -> None:
    with pytest.raises(DamagedFile):
        read_parts(io.BytesIO((FOREIGN | LIES)[name]), ())


def test_a_part_that_is_not_there_and_one_of_another_version_are_refused() -> None:
    with raises(DamagedFile):
        read_parts(io.BytesIO(sealed({"a": 1})), ("a",), ("a", "b"))
    with raises(CodecError):
        read_parts(io.BytesIO(sealed({"a": 1}, version=3)), ("a",))


def test_only_what_is_registered_is_made() -> None:
    # Not with the whole text, which lists what the packages imported so far have registered.
    with pytest.raises(CodecError, match=r"'os\.system', which is not registered"):
        decode(sealed({"$codec": ["os.system", "touch owned"]}))


def lying_generator(kind: str, *way: str, value: Any) -> bytes:
    """A generator of which one number, or one array, is not what numpy would ever have."""
    plain = getattr(np.random, kind)(3).state
    part = plain
    for name in way[:-1]:
        part = part[name]
    part[way[-1]] = value
    encoder = Encoder()
    node = {"$codec": ["numpy.generator", {"$codec": [f"numpy.{kind}", encoder.node(plain)]}]}
    return sealed(node, *map(bytes, encoder.buffers))


LONGS = np.zeros(3, np.uint64)


@pytest.mark.parametrize(
    ("kind", "way", "value"),
    [
        ("MT19937", ("state", "pos"), 625),
        ("MT19937", ("state", "pos"), -1),
        ("MT19937", ("state", "pos"), 10**6),
        ("MT19937", ("state", "pos"), True),
        ("MT19937", ("state", "pos"), 3.0),
        ("MT19937", ("state", "key"), np.zeros(623, np.uint32)),
        ("MT19937", ("state", "key"), np.zeros(624, np.int64)),
        ("MT19937", ("state",), None),
        ("MT19937", ("more",), 1),
        ("Philox", ("buffer_pos",), 5),
        ("Philox", ("buffer_pos",), -1000),
        ("Philox", ("buffer",), LONGS),
        ("Philox", ("state", "counter"), LONGS),
        ("Philox", ("state", "key"), LONGS),
        ("Philox", ("has_uint32",), 2),
        ("SFC64", ("state", "state"), LONGS),
        ("SFC64", ("uinteger",), 2**32),
        ("PCG64", ("state", "state"), 2**128),
        ("PCG64", ("state", "inc"), -1),
        ("PCG64DXSM", ("uinteger",), "1"),
        ("PCG64", ("bit_generator",), "MT19937"),
    ],
)
def test_a_generator_that_would_read_foreign_memory_is_refused(
    kind: str, way: tuple[str, ...], value: Any
) -> None:
    with raises(CodecError):
        decode(lying_generator(kind, *way, value=value))


def test_fields_that_a_dataclass_does_not_have() -> None:
    import dynhp.storage.jobs  # noqa: F401 - registers dynhp.asked

    with raises(CodecError):
        decode(sealed({"$codec": ["dynhp.asked", {"candidate": 1}]}))


def test_too_much_json_is_refused_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode([0.5] * 999)
    monkeypatch.setattr("dynhp.storage.codecs.state_file.MOST_STATE", 1000)
    with raises(DamagedFile):
        decode(data)


@pytest.mark.parametrize("unit", ["[]", "{}", '{"":1}', "1.5", '"a"'])
def test_the_memory_that_json_takes_is_bounded(unit: str) -> None:
    text = "[" + ",".join([unit] * (200_000 // len(unit))) + "]"
    data = sealed_json('{"format":"dynhp state","version":2,"state":' + text + "}")
    tracemalloc.start()
    try:
        decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 75 * len(data)  # as MOST_STATE says, and a little more: 72 with Python 3.10
    assert 70 * MOST_STATE < 1.2e9


def test_running_out_of_memory_is_not_called_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise MemoryError

    data = encode(np.ones(3))
    monkeypatch.setattr("dynhp.storage.codecs.decoder.np.ndarray", no_memory)
    with pytest.raises(MemoryError):
        decode(data)


MEASURE = """
import resource, sys
from dynhp.storage.codecs.state_file import read_state
from dynhp.errors import DynhpError
limit = 400 << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[1:]:
    try:
        with open(path, "rb") as file:
            read_state(file)
    except DynhpError as error:
        print(type(error).__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory work on Linux")
def test_the_whole_corpus_is_refused_in_little_memory(tmp_path: Path) -> None:
    paths = []
    for number, data in enumerate([*FOREIGN.values(), *LIES.values()]):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, paths)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["DamagedFile"] * len(paths)
