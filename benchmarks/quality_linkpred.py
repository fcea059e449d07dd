"""The quality that the model must reach: test AUC on Cora by protocol and sampler."""

from __future__ import annotations

import argparse
import logging
import math
import time
from dataclasses import dataclass
from typing import Literal

from dynhp_pyg.graphs.bundled import load_dataset
from dynhp_pyg.graphs.graph import Graph
from dynhp_pyg.model.trainer import LinkPredictionTrainer
from dynhp_pyg.runs.intervals import mean_of
from dynhp_pyg.splits.make import make_split


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCase:
    """A way to split and sample, and the band in which the mean test AUC must be."""

    protocol: Literal["undirected", "paper"]
    negatives: Literal["uniform", "community"]
    band: tuple[float, float]


CASES = (
    QualityCase(protocol="undirected", negatives="uniform", band=(93.0, 94.2)),
    QualityCase(protocol="paper", negatives="uniform", band=(97.2, 97.9)),
    QualityCase(protocol="undirected", negatives="community", band=(85.0, 87.5)),
    QualityCase(protocol="paper", negatives="community", band=(83.3, 85.3)),
)


def test_auc(graph: Graph, case: QualityCase, *, seed: int, epochs: int) -> float:
    """Train once at ratio 0.5 and give the best checkpoint's test AUC in percent."""
    split = make_split(graph, protocol=case.protocol, negatives=case.negatives, seed=seed)
    trainer = LinkPredictionTrainer(split, seed=seed, epochs=epochs)
    trainer.train_k(epochs, {"edge_message_ratio": 0.5})
    return 100 * trainer.test()["test_auc"]


def main() -> int:
    """Print the table; the exit status says whether every mean is in its band."""
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
        mean = mean_of(aucs)
        half_width = math.nan if mean.half_width is None else mean.half_width
        inside = low <= mean.mean <= high
        missed += not inside
        print(
            f"{case.protocol:<12}{case.negatives:<12}{mean.mean:8.2f}{half_width:8.2f}"
            f"  {low:.1f} to {high:.1f}  {'inside' if inside else 'OUTSIDE':8}"
            f"{time.process_time() - began:6.1f}",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
