"""Does the model reach the quality it should: test AUC on Cora by protocol and sampler."""

from __future__ import annotations

import argparse
import logging
import math
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.splits.make import make_split

# Two-sided 95 % points of Student's t, by degrees of freedom.
_STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way to split and sample, and the band in which the mean test AUC must lie."""

    protocol: Literal["undirected", "paper"]
    negatives: Literal["uniform", "community"]
    band: tuple[float, float]


CASES = (
    Case(protocol="undirected", negatives="uniform", band=(93.0, 94.2)),
    Case(protocol="paper", negatives="uniform", band=(97.2, 97.9)),
    Case(protocol="undirected", negatives="community", band=(85.0, 87.5)),
    Case(protocol="paper", negatives="community", band=(83.3, 85.3)),
)


def test_auc(graph: Graph, case: Case, *, seed: int, epochs: int) -> float:
    """Train once at ratio 0.5 and give the best checkpoint's test AUC in percent."""
    split = make_split(graph, protocol=case.protocol, negatives=case.negatives, seed=seed)
    trainer = LinkPredictionTrainer(split, seed=seed, epochs=epochs)
    trainer.train_k(epochs, {"edge_message_ratio": 0.5})
    return 100 * trainer.test()["test_auc"]


def interval(values: list[float]) -> float:
    """Half the width of the 95 % interval of the mean."""
    if len(values) < 2:
        return math.nan
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return _STUDENT.get(len(values) - 1, 1.96) * spread


def main() -> int:
    """Print the table; the exit status tells whether every mean lies in its band."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=500)
    arguments = parser.parse_args()
    logging.getLogger("dynhp.pyg").setLevel(logging.ERROR)
    graph = load_dataset("cora")
    print(f"Cora 80/10/10, ratio 0.5, {arguments.epochs} epochs, {arguments.seeds} seeds, test AUC")
    print(
        f"{'protocol':<12}{'negatives':<12}{'mean':>8}{'95 %':>8}  {'band':<14}{'':8}{'CPU s':>6}"
    )
    missed = 0
    for case in CASES:
        began = time.process_time()
        aucs = [
            test_auc(graph, case, seed=seed, epochs=arguments.epochs)
            for seed in range(arguments.seeds)
        ]
        low, high = case.band
        inside = low <= float(np.mean(aucs)) <= high
        missed += not inside
        print(
            f"{case.protocol:<12}{case.negatives:<12}{np.mean(aucs):8.2f}{interval(aucs):8.2f}"
            f"  {low:.1f} to {high:.1f}  {'inside' if inside else 'OUTSIDE':8}"
            f"{time.process_time() - began:6.1f}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
