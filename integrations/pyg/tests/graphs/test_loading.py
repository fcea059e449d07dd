"""Files: what loads, and that anything else is one clear error."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynhp_pyg import DataError, load_graph
from dynhp_pyg.graphs.edge_list import load_edge_list
from dynhp_pyg.graphs.files import load_npz
from tests.support.messages import raises

EDGES = np.array([[0, 1], [1, 2]], np.int32)


def saved(path: Path, **arrays: Any) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def features(**changes: Any) -> dict[str, Any]:
    arrays = {
        "x_data": np.array([1.0, 2.0], np.float32),
        "x_indices": np.array([4, 0]),
        "x_indptr": np.array([0, 1, 1, 2]),
        "x_shape": np.array([3, 5]),
    }
    return {**arrays, **changes}


def test_an_npz_with_everything_loads(tmp_path: Path) -> None:
    path = saved(tmp_path / "all.npz", edge_index=EDGES, num_nodes=3, y=[0, 1, 0], **features())
    graph = load_graph(path)
    assert (graph.name, graph.num_nodes, graph.edges.tolist()) == ("all", 3, EDGES.tolist())
    assert graph.features is not None
    assert graph.features.indices.tolist() == [4, 0]
    assert graph.labels is not None


@pytest.mark.parametrize(
    ("name", "edges"), [("USAir", 2126), ("CoauthorCS", 81_894), ("gowalla_user_item", 810_128)]
)
def test_the_files_at_hand_load(name: str, edges: int) -> None:
    folder = os.environ.get("DYNHP_DATA")
    if not folder:
        pytest.skip("DYNHP_DATA does not name a folder with graphs/*.npz")
    graph = load_npz(Path(folder, "graphs", f"{name}.npz"))
    assert (graph.num_edges, graph.notices) == (edges, ())


def test_features_without_values_are_ones(tmp_path: Path) -> None:
    arrays = features()
    del arrays["x_data"]
    graph = load_npz(saved(tmp_path / "ones.npz", edge_index=EDGES, **arrays))
    assert graph.features is not None
    assert graph.features.data.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "arrays",
    [
        {"nodes": [1]},
        {"edge_index": np.array([["a"], ["b"]])},
        {"edge_index": np.array([[{}], [1]], object)},
        {"edge_index": [[0], [9]], "num_nodes": 3},
        {"edge_index": EDGES, "num_nodes": [3, 3]},
        {"edge_index": EDGES, "num_nodes": -3},
        {"edge_index": EDGES, "num_nodes": 10**9},
        {"edge_index": [[0], [10**9]]},
        {"edge_index": EDGES, "num_nodes": 10**12},
        {"edge_index": EDGES, **features(x_shape=[3, 10**12])},
        {"edge_index": EDGES, **features(x_shape=[3])},
        {"edge_index": EDGES, **features(x_shape=[3, 4])},
        {"edge_index": EDGES, **features(x_indptr=[0, 2, 1, 2])},
        {"edge_index": EDGES, **features(x_indptr=[0, 1, 1, 9])},
        {"edge_index": EDGES, **features(x_indptr=[0.0, 1, 1, 2])},
        {"edge_index": EDGES, **features(x_data=[1.0, np.nan])},
        {"edge_index": EDGES, **features(x_data=[[1.0, 2.0]])},
        {"edge_index": EDGES, "x_indices": [1]},
        {"edge_index": EDGES, "num_nodes": 3, "y": [0, 1]},
    ],
)
def test_bad_arrays_are_refused(tmp_path: Path, arrays: dict[str, Any]) -> None:
    path = saved(tmp_path / "bad.npz", **arrays)
    with raises(DataError) as caught:
        load_npz(path)
    assert "bad.npz" in str(caught.value)


def lying(shape: str, body: bytes = b"\0" * 16) -> bytes:
    """An archive whose one array claims a shape that its bytes do not fill."""
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("edge_index.npy", member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "shape",
    [
        "(2, 1000000000000)",
        "(2, 2)",
        "(-1, -2)",
        "(2, 10**3)",
        "2",
    ],
)
def test_an_array_cannot_lie_about_its_size(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "lie.npz"
    path.write_bytes(lying(shape))
    with raises(DataError):
        load_npz(path)
    path.write_bytes(lying("(2, 1)", b"\0" * 8 + b"\1" + b"\0" * 7))
    assert load_npz(path).num_edges == 1


def test_a_file_cannot_unpack_to_more_than_allowed(tmp_path: Path) -> None:
    path = saved(tmp_path / "bomb.npz", edge_index=np.zeros((2, 200_000), np.int64))
    assert path.stat().st_size < 10_000
    with raises(DataError):
        load_npz(path, max_bytes=10**6)


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_damaged_file_is_one_clear_error_or_a_graph(tmp_path: Path, data: st.DataObject) -> None:
    path = saved(tmp_path / "whole.npz", edge_index=EDGES, num_nodes=3, **features())
    raw = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=3)):
        raw[place] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    try:
        load_npz(path)
    except DataError as error:
        assert "whole.npz" in str(error)  # noqa: PT017 - a damaged file may still load


@pytest.mark.parametrize("text", ["0 1\n1 2\n", "# two\n0,1\r\n1, 2 # end\n\n", "0\t1\n1\t2"])
def test_edge_lists_load_in_any_style(tmp_path: Path, text: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(text)
    graph = load_graph(path)
    assert (graph.num_nodes, graph.edges.tolist()) == (3, [[0, 1], [1, 2]])


def test_sparse_ids_are_numbered_and_given_ones_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("5000000000,7\n7,90\n")
    assert load_edge_list(path).edges.tolist() == [[0, 0], [1, 2]]
    path.write_text("3 4\n")
    assert load_edge_list(path, 10).edges.tolist() == [[3], [4]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n\n",
        "0 1\n1 2 0.5\n",
        "0 1 2\n",
        "source target\n0 1\n",
        "0 1\n1 2.5\n",
        "0 1\n99999999999999999999 2\n",
        "0 1\n-4 2\n",
        "0 1\n1 0\n1 2\n",
    ],
)
def test_bad_edge_lists_name_the_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "list.edges"
    path.write_text(text)
    with raises(DataError):
        load_edge_list(path)


@pytest.mark.parametrize("name", ["none.npz", "none.txt"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with raises(DataError):
        load_graph(tmp_path / name)


@pytest.mark.parametrize("name", ["folder.npz", "folder.txt"])
def test_a_folder_is_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with raises(DataError):
        load_graph(tmp_path / name)


def test_binary_files_are_not_text_and_other_suffixes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with raises(DataError):
        load_graph(path)
    with raises(DataError):
        load_edge_list(path, max_bytes=2)
    with raises(DataError):
        load_graph("x.pkl")
