"""How time and memory of an epoch grow with the graph; each graph is trained in its own process."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dynhp_pyg.graphs.features import features_from_coo
from dynhp_pyg.graphs.graph import Graph, graph_from_edges
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.splits.make import make_split

GRAPHS = ("ca_GrQc_lcc", "CoauthorCS", "AmazonPhoto", "gowalla_user_item")
CHANNELS, PER_NODE = 500, 20
EXPONENT, GIBIBYTES = 1.1, 3.0


def scaling(data: Path) -> bool | None:
    """Print both tables and give whether their limits hold; None where nothing was measured."""
    missing = [name for name in GRAPHS if not (data / "graphs" / f"{name}.npz").exists()]
    if missing:
        print(f"\nscaling skipped: {', '.join(missing)} not found in the folder graphs of --data")
        return None
    return all([_table(data, inputs) for inputs in ("features", "embedding")])


def _table(data: Path, inputs: str) -> bool:
    what = f"{CHANNELS} features, {PER_NODE} a node" if inputs == "features" else "learnt embedding"
    print(f"\nScaling, width 64, {what}; CPU time of an epoch, 5 epochs; each in its own process")
    columns = ("nodes", "edges", "ms/epoch", "us/edge", "peak MiB", "grown MiB", "kB/edge")
    print(f"{'graph':<20}" + "".join(f"{column:>10}" for column in columns))
    rows = [_trained_elsewhere(data, name, inputs) for name in GRAPHS]
    for row in rows:
        _print(row)
    edges = [row["edges"] for row in rows]
    time_exponent = _exponent(edges, [row["seconds"] for row in rows])
    memory_exponent = _exponent(edges, [row["grown"] for row in rows])
    peak = rows[-1]["peak"] / 2**30
    print(f"time grows as edges^{time_exponent:.2f}, memory as edges^{memory_exponent:.2f}", end="")
    print(f" (at most {EXPONENT}); gowalla: {peak:.2f} GiB at its peak (at most {GIBIBYTES})")
    return max(time_exponent, memory_exponent) <= EXPONENT and peak <= GIBIBYTES


def _print(row: dict[str, Any]) -> None:
    seconds, edges, grown = row["seconds"], row["edges"], row["grown"]
    print(
        f"{row['name']:<20}{row['nodes']:>10}{edges:>10}{1e3 * seconds:>10.1f}"
        f"{1e6 * seconds / edges:>10.2f}{row['peak'] / 2**20:>10.0f}{grown / 2**20:>10.0f}"
        f"{grown / edges / 1e3:>10.2f}"
    )


def _exponent(sizes: list[int], values: list[float]) -> float:
    """The slope of the straight line through the logarithms, and of its two ends if steeper."""
    x, y = np.log(sizes), np.log(values)
    ends = (y[-1] - y[0]) / (x[-1] - x[0])
    return float(max(np.polyfit(x, y, 1)[0], ends))


def _trained_elsewhere(data: Path, name: str, inputs: str) -> dict[str, Any]:
    command = [sys.executable, __file__, str(data), name, inputs]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def _graph(data: Path, name: str, inputs: str) -> Graph:
    with np.load(data / "graphs" / f"{name}.npz", allow_pickle=False) as stored:
        edges, nodes = stored["edge_index"].astype(np.int64), int(stored["num_nodes"])
    if inputs == "embedding":
        return graph_from_edges(edges, nodes, name=name)
    rows = np.repeat(np.arange(nodes), PER_NODE)
    columns = np.random.default_rng(0).integers(0, CHANNELS, rows.size)
    features = features_from_coo(rows, columns, np.ones(rows.size), shape=(nodes, CHANNELS))
    return graph_from_edges(edges, nodes, features=features, name=name)


def _train(data: Path, name: str, inputs: str) -> dict[str, Any]:
    torch.set_num_threads(1)
    graph = _graph(data, name, inputs)
    split = make_split(graph)
    before = _memory("VmRSS")
    trainer = LinkPredictionTrainer(split)
    seconds = math.inf
    for _ in range(5):
        began = time.process_time()
        trainer.train_k(1, {})
        seconds = min(seconds, time.process_time() - began)
    peak = _memory("VmHWM")
    return {
        "name": name,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "seconds": seconds,
        "peak": peak,
        "grown": peak - before,
    }


def _memory(field: str) -> int:
    """Bytes in use now (VmRSS) or at most so far (VmHWM); not inherited from the parent."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("name")
    parser.add_argument("inputs")
    arguments = parser.parse_args()
    print(json.dumps(_train(arguments.data, arguments.name, arguments.inputs)))
