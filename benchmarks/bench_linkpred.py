"""Link prediction against an ordinary PyTorch Geometric loop: one process, one thread, CPU time."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import sklearn
import torch
import torch_geometric
from linkpred_rival import PlainLoop
from linkpred_scaling import scaling

from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.model import measurements, trainer
from dynhp_pyg.model.engines import fast, objective, sparse
from dynhp_pyg.splits.make import Split, make_split

P = ParamSpec("P")
R = TypeVar("R")

AT_LEAST = 10.0
WIDTH, LAYERS = 64, 2

# Where an epoch's time goes: a name, and the function that spends it.
PARTS: tuple[tuple[str, Any, str], ...] = (
    ("sampling: message edges, negatives", trainer, "draw"),
    ("message matrix", sparse.MessagePassing, "of"),
    ("forward (message matrix included)", fast.FastGcn, "forward"),
    ("gradient of the pairs", objective.Objective, "gradient"),
    ("backward (gradient of the pairs included)", fast.FastGcn, "backward"),
    ("optimiser step", fast, "sgd_step"),
    ("validation forward", fast.FastGcn, "scores"),
    ("validation AUC", measurements, "roc_auc"),
)


def seconds(work: Callable[[], object], times: int) -> list[float]:
    """Give the CPU time of each call."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return taken


def machine() -> None:
    """Print on what machine and with which versions this was measured."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if "model name" in line),
        platform.processor(),
    )
    malloc = {name: value for name, value in os.environ.items() if name.startswith("MALLOC_")}
    print(f"{datetime.date.today()}, {model}, {os.cpu_count()} cores, one thread used")
    print(
        f"python {platform.python_version()}, torch {torch.__version__}, torch_geometric "
        f"{torch_geometric.__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    )
    print(f"allocator, the same for both sides: {malloc or 'as the system has it'}")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def side_by_side(name: str, rounds: int) -> float:
    """Print both epochs' times, measured alternately so that both have the same conditions."""
    split = make_split(load_dataset(name))
    plain, fast_trainer = PlainLoop(split), trainer.LinkPredictionTrainer(split)
    plain_taken, fast_taken = [], []
    for _ in range(rounds):
        plain_taken += seconds(plain.epoch, 5)
        fast_taken += seconds(lambda: fast_trainer.train_k(1, {}), 50)
    ratio = min(plain_taken) / min(fast_taken)
    middle = statistics.median(plain_taken) / statistics.median(fast_taken)
    print(f"\n{name}: an epoch (training step and validation AUC), ms of CPU time")
    print(f"{'':28}{'minimum':>9}{'median':>9}{'epochs':>8}")
    for label, taken in (("ordinary PyG loop", plain_taken), ("dynhp_pyg", fast_taken)):
        print(
            f"{label:28}{1e3 * min(taken):9.2f}{1e3 * statistics.median(taken):9.2f}{len(taken):8}"
        )
    print(f"{'times faster':28}{ratio:9.1f}{middle:9.1f}   (required: {AT_LEAST:.0f})")
    breakdown(fast_trainer, split)
    return ratio


def timed(taken: list[float], function: Callable[P, R]) -> Callable[P, R]:
    """Give a function that also records the CPU time of each call."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        began = time.process_time()
        result = function(*args, **kwargs)
        taken.append(time.process_time() - began)
        return result

    return call


@contextmanager
def watched() -> Iterator[dict[str, list[float]]]:
    """Time every call of the parts."""
    taken: dict[str, list[float]] = {name: [] for name, _, _ in PARTS}
    originals = [(owner, attribute, getattr(owner, attribute)) for _, owner, attribute in PARTS]

    for (name, owner, attribute), (_, _, function) in zip(PARTS, originals, strict=True):
        setattr(owner, attribute, timed(taken[name], function))
    try:
        yield taken
    finally:
        for owner, attribute, function in originals:
            setattr(owner, attribute, function)


def breakdown(fast_trainer: trainer.LinkPredictionTrainer, split: Split) -> None:
    """Print where the time goes and what the arithmetic alone would take."""
    with watched() as taken:
        whole = seconds(lambda: fast_trainer.train_k(1, {}), 200)
    for name, _, _ in PARTS:
        print(
            f"  {name:44}{1e3 * min(taken[name]):8.3f}{1e3 * statistics.median(taken[name]):9.3f}"
        )
    inner = {"message matrix", "gradient of the pairs"}
    parts = sum(statistics.median(taken[name]) for name, _, _ in PARTS if name not in inner)
    rest = statistics.median(whole) - parts
    print(f"  {'the rest (state, schedule, best checkpoint)':44}{'':8}{1e3 * rest:9.3f}")
    dense, sparse = work(split)
    peak, bandwidth = peak_flops(), peak_bytes()
    flops, giga = dense + sparse, 1e-9
    print(
        f"  floating-point work {1e-6 * flops:.0f} MFLOP (dense {1e-6 * dense:.0f}, sparse "
        f"{1e-6 * sparse:.0f}): {1e3 * flops / peak:.2f} ms at the measured peak of "
        f"{giga * peak:.0f} GFLOP/s"
    )
    # A sparse product reads one row entry of 4 bytes for each multiplication and addition.
    limit = dense / peak + 2 * sparse / bandwidth
    print(
        f"  with the sparse part at {giga * bandwidth:.0f} GB/s (rows read from cache): "
        f"{1e3 * limit:.2f} ms; the epoch is {min(whole) / limit:.1f} times that"
    )


def work(split: Split) -> tuple[float, float]:
    """Give the floating-point operations of an epoch in dense and in sparse products."""
    graph, edges = split.graph, split.train.shape[1]
    assert graph.features is not None
    nodes, entries = graph.num_nodes, graph.features.nonzeros
    needed = np.unique(np.concatenate([split.validation, split.validation_negatives], axis=1)).size
    dense = 2.0 * WIDTH * WIDTH * (3 * nodes + needed)
    objective_pairs = 2 * (edges - round(0.5 * edges))
    messages = 2 * round(0.5 * edges) + nodes
    products = 3 * entries + 2 * LAYERS * messages + LAYERS * (2 * edges + nodes)
    products += 3 * objective_pairs + split.validation.shape[1] * 2
    return dense, 2.0 * WIDTH * products


def peak_flops() -> float:
    """Measure the rate of a large matrix product."""
    a = torch.rand(1024, 1024)
    return 2 * 1024**3 / min(seconds(lambda: a @ a, 20))


def peak_bytes() -> float:
    """Measure how fast rows are gathered from a table that fits the cache."""
    table, rows = torch.rand(2708, WIDTH), torch.randint(2708, (50_000,))
    return 2 * 4 * WIDTH * rows.numel() / min(seconds(lambda: table.index_select(0, rows), 50))


def main() -> int:
    """Print everything; the exit status says whether all requirements hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=10, help="each 5 epochs of the plain loop and 50 of dynhp_pyg"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("DYNHP_DATA"),
        help="a folder with graphs/NAME.npz for the scaling part",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    machine()
    good = all([side_by_side(name, arguments.rounds) >= AT_LEAST for name in ("cora", "citeseer")])
    grows: bool | None = None
    if arguments.data is None:
        print("\nscaling skipped: pass --data DIR (or set DYNHP_DATA) with graphs/NAME.npz in it")
    else:
        grows = scaling(Path(arguments.data))
    print(f"\nspeed: {'holds' if good else 'DOES NOT HOLD'}; scaling: {_VERDICT[grows]}")
    return 0 if good and grows is not False else 1


_VERDICT = {True: "holds", False: "DOES NOT HOLD", None: "NOT MEASURED"}


if __name__ == "__main__":
    raise SystemExit(main())
