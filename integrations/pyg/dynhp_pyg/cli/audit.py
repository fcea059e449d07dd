"""``dynhp linkpred audit``: every kind of leak of a split, counted and printed."""

from __future__ import annotations

import argparse

from dynhp_pyg.cli.options import graph_of, split_protocol
from dynhp_pyg.splits.audit import audit
from dynhp_pyg.splits.make import make_split
from dynhp_pyg.splits.ratios import parse_ratios

__all__ = ["audit_command"]


def audit_command(parsed: argparse.Namespace) -> int:
    """Print every kind of leak of a split."""
    split = make_split(
        graph_of(parsed),
        parse_ratios(parsed.split),
        protocol=split_protocol(parsed),
        negatives=parsed.negatives,
        communities=parsed.communities,
        seed=parsed.seed,
    )
    print(audit(split))
    if split.warning:
        print(split.warning)
    return 0
