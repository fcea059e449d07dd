"""The raw Planetoid files of Cora, CiteSeer and PubMed, read without running code in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.checks import one_of
from dynhp_pyg.graphs.archive import missing, read_bytes
from dynhp_pyg.graphs.arrays import Ints
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.features import SparseFeatures, features_from_coo
from dynhp_pyg.graphs.graph import Graph, graph_from_edges
from dynhp_pyg.graphs.unpickle import read_pickle

_NAMES = ("Cora", "CiteSeer", "PubMed")
T = TypeVar("T")


def load_planetoid(name: str, root: str | Path) -> Graph:
    """A Planetoid graph from the folder in which PyG's `Planetoid(root, name)` stores it.

    Nothing is downloaded or written. The raw files `ind.*` may be in `root/NAME/raw`,
    `root/raw` or `root`; nodes are numbered as in PyG.

    >>> load_planetoid("Corra", ".")
    Traceback (most recent call last):
    dynhp_pyg.graphs.errors.DataError: Planetoid graph must be one of the known ones, got \
'Corra'; did you mean 'Cora'? Known: 'CiteSeer', 'Cora', 'PubMed'
    """
    known = {each.lower(): each for each in _NAMES}
    prefix = str(name).lower()
    one_of("Planetoid graph", known.get(prefix, name), _NAMES, error=DataError)
    folder = _folder(Path(root), known[prefix], prefix)
    return read_planetoid(prefix, lambda part: read_bytes(folder / f"ind.{prefix}.{part}"))


def read_planetoid(name: str, read: Callable[[str], bytes]) -> Graph:
    """The graph made of the parts `allx`, `tx`, `ally`, `ty`, `graph` and `test.index`."""
    allx, tx = (_part(read, part, SparseFeatures) for part in ("allx", "tx"))
    ally, ty = (_part(read, part, np.ndarray) for part in ("ally", "ty"))
    adjacency = _part(read, "graph", dict)
    places = _test_places(read("test.index"), allx, tx, len(adjacency))
    try:
        return graph_from_edges(
            _arcs(adjacency),
            len(adjacency),
            features=_features(allx, tx, places, len(adjacency)),
            labels=_labels(ally, ty, places, len(adjacency)),
            name=name,
        )
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise DataError(f"the {name} files must fit together, got {str(error)!r}") from None


def _folder(root: Path, name: str, prefix: str) -> Path:
    places = (root / name / "raw", root / prefix / "raw", root / "raw", root)
    for place in places:
        if (place / f"ind.{prefix}.graph").is_file():
            return place
    raise missing(places[0] / f"ind.{prefix}.graph")


def _part(read: Callable[[str], bytes], part: str, kind: type[T]) -> T:
    try:
        value = read_pickle(read(part))
    except DataError as error:
        raise DataError(f"planetoid part {part!r}: {error}") from None
    if not isinstance(value, kind):
        raise DataError(f"planetoid part {part!r}: must be {kind.__name__}, got {type(value)!r}")
    return value


def _test_places(text: bytes, allx: SparseFeatures, tx: SparseFeatures, num_nodes: int) -> Ints:
    """Where each row of `tx` belongs; CiteSeer has gaps here: nodes without features."""
    try:
        places = np.array(text.split(), dtype=np.int64)
    except (ValueError, OverflowError):
        raise DataError("planetoid part 'test.index': must hold one integer a line") from None
    distinct = len(np.unique(places)) == len(places) == tx.shape[0]
    if not (distinct and len(places) and allx.shape[0] <= places.min() <= places.max() < num_nodes):
        raise DataError(
            f"planetoid part 'test.index': must name {tx.shape[0]} different nodes in "
            f"{allx.shape[0]}..{num_nodes - 1}, got {len(places)} entries; fetch the files again"
        )
    return places


def _arcs(adjacency: dict[Any, Any]) -> Ints:
    tails = np.repeat(list(adjacency), [len(heads) for heads in adjacency.values()])
    heads = [head for row in adjacency.values() for head in row]
    return np.array([tails, heads], dtype=np.int64)


def _features(
    allx: SparseFeatures, tx: SparseFeatures, places: Ints, num_nodes: int
) -> SparseFeatures:
    early = np.repeat(np.arange(allx.shape[0]), np.diff(allx.indptr))
    late = np.repeat(places, np.diff(tx.indptr))
    return features_from_coo(
        np.concatenate([early, late]),
        np.concatenate([allx.indices, tx.indices]),
        np.concatenate([allx.data, tx.data]),
        shape=(num_nodes, allx.shape[1]),
    )


def _labels(ally: NDArray[Any], ty: NDArray[Any], places: Ints, num_nodes: int) -> Ints:
    labels = np.zeros(num_nodes, np.int64)  # nodes without a label get class 0, as in PyG
    labels[: len(ally)] = ally.argmax(axis=1)
    labels[places] = ty.argmax(axis=1)
    return labels
