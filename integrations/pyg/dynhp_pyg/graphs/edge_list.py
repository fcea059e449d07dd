"""Edge lists as text: two ids a line, separated by blanks or a comma; `#` begins a comment."""

from __future__ import annotations

import warnings
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynhp_pyg.graphs.archive import MAX_BYTES, read_bytes
from dynhp_pyg.graphs.errors import DataError
from dynhp_pyg.graphs.graph import Directed, Graph, graph_from_edges


def load_edge_list(
    path: str | Path,
    num_nodes: int | None = None,
    *,
    directed: Directed | None = None,
    max_bytes: int = MAX_BYTES,
) -> Graph:
    """A graph from a text file; its nodes are the ids that occur, numbered in rising order.

    The numbering keeps sparse ids, such as account numbers, from becoming millions of isolated
    nodes. With `num_nodes` the ids are used as they are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.txt")
    ...     _ = path.write_text("# a path\\n10 20\\n20, 30\\n")
    ...     load_edge_list(path).edges.tolist()
    [[0, 1], [1, 2]]
    """
    path = Path(path)
    ids = _parsed(_text(path, max_bytes), path.name)
    if num_nodes is not None:
        return graph_from_edges(ids, num_nodes, name=path.stem, directed=directed)
    if ids.min() < 0:
        raise DataError(f"{path.name}: node ids must not be negative, got {int(ids.min())!r}")
    kept, renumbered = np.unique(ids, return_inverse=True)
    edges = renumbered.reshape(ids.shape)
    return graph_from_edges(edges, len(kept), name=path.stem, directed=directed)


def _text(path: Path, max_bytes: int) -> str:
    try:
        return read_bytes(path, max_bytes=max_bytes).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path.name} must be text, got bytes that are not UTF-8") from None


def _parsed(text: str, name: str) -> NDArray[Any]:
    try:
        with warnings.catch_warnings():
            # numpy only warns about an empty file, or about 1.5 read as an integer.
            warnings.simplefilter("error")
            lines = StringIO(text.replace(",", " "), newline=None)  # lines may end in any way
            table = np.loadtxt(lines, dtype=np.int64, ndmin=2)
        if table.shape[1] == 2:
            return table.T
    except (ValueError, OverflowError, Warning):
        pass
    raise _first_mistake(text, name)


def _first_mistake(text: str, name: str) -> DataError:
    """The error that names the first bad line; only a file that failed is read line by line."""
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.partition("#")[0].replace(",", " ").split()
        if fields and (len(fields) != 2 or not all(_is_id(field) for field in fields)):
            return DataError(
                f"{name}: each line must hold two integer ids, got {line[:60]!r} in line {number}; "
                f"begin a header with '#' and drop further columns"
            )
    return DataError(f"{name} must hold at least one edge, got none; check the file")


def _is_id(field: str) -> bool:
    return field.isascii() and field.removeprefix("-").isdigit() and len(field) <= 18
