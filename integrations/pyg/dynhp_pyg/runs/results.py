"""The results of several seeds: as a table for people, as JSON and CSV for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dynhp.planning import Cost
from dynhp.records.text import text_table
from dynhp_pyg.runs.csv_table import csv_table
from dynhp_pyg.runs.intervals import Mean, mean_of

if TYPE_CHECKING:
    from dynhp_pyg.runs.run import LinkResult

__all__ = ["MEASURED", "csv_text", "json_text", "means", "seconds_text", "table"]

MEASURED = ("test_auc", "test_ap", "val_auc")
_FORMAT = "dynhp-linkpred"
_HEADINGS = ("seed", "test AUC", "test AP", "val AUC", "best epoch", "epochs trained", "planned")


def means(results: Sequence[LinkResult]) -> dict[str, Mean]:
    """Give the mean over seeds of each metric, with its interval."""
    return {name: mean_of([getattr(each, name) for each in results]) for name in MEASURED}


def table(results: Sequence[LinkResult]) -> str:
    """Draw the table: a row for each seed, the means, their intervals; in percent.

    A split that leaks says so in the last line, always.
    """
    columns = means(results).values()
    rows = [
        _HEADINGS,
        *(_row(each) for each in results),
        ("mean", *(f"{100 * mean.mean:.2f}" for mean in columns), "", "", ""),
        ("95 %", *(_half_width(mean) for mean in columns), "", "", ""),
    ]
    lines = [str(results[0].settings), text_table(rows, right=True)]
    if len(results) == 1:
        lines.append("one seed says nothing about luck: the 95 % interval needs two or more")
    if results[0].warning:
        lines.append(_leak(results))
    return "\n".join(lines)


def json_text(results: Sequence[LinkResult]) -> str:
    """Write everything but the time taken, so that equal runs give equal text."""
    first = results[0]
    settings = first.settings.to_plain()
    del settings["seed"]
    document = {
        "format": _FORMAT,
        "version": 1,
        "settings": settings,
        "graph": {"name": first.graph, "nodes": first.nodes, "edges": first.edges},
        "warning": first.warning,
        "hints": list(first.hints),
        "means": {name: _mean_to_plain(mean) for name, mean in means(results).items()},
        "runs": [_run_to_plain(each) for each in results],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def csv_text(results: Sequence[LinkResult]) -> str:
    """Write a row for each seed: its settings, then its results."""
    rows = [_flat(each) for each in results]
    return csv_table([rows[0], *(row.values() for row in rows)])


def seconds_text(results: Sequence[LinkResult]) -> str:
    """Write the time taken, which differs from run to run, as a file of its own."""
    seconds = [{"seed": each.settings.seed, "seconds": each.seconds} for each in results]
    return json.dumps({"format": f"{_FORMAT}-seconds", "version": 1, "runs": seconds}) + "\n"


def planned(result: LinkResult) -> str:
    """The planned epochs: a number, or from least to most where it depends on the tries."""
    least, most = result.plan.least.total, result.plan.most.total
    return str(most) if least == most else f"{least} to {most}"


def _row(result: LinkResult) -> tuple[str, ...]:
    return (
        str(result.settings.seed),
        *(f"{100 * getattr(result, name):.2f}" for name in MEASURED),
        str(result.epoch),
        str(result.cost.total),
        planned(result),
    )


def _half_width(mean: Mean) -> str:
    return "-" if mean.half_width is None else f"±{100 * mean.half_width:.2f}"


def _leak(results: Sequence[LinkResult]) -> str:
    shares = [each.audit.reverse_test_share for each in results]
    share = sum(shares) / len(shares)
    return f"{results[0].warning} (here {share:.1%} of them)"


def _cost_to_plain(cost: Cost) -> dict[str, Any]:
    """The numbers; that they are epochs goes without saying here."""
    return {name: value for name, value in asdict(cost).items() if name != "unit"}


def _run_to_plain(result: LinkResult) -> dict[str, Any]:
    return {
        "seed": result.settings.seed,
        **{name: _number(getattr(result, name)) for name in MEASURED},
        "epoch": result.epoch,
        "cost": _cost_to_plain(result.cost),
        "plan": {
            "least": _cost_to_plain(result.plan.least),
            "most": _cost_to_plain(result.plan.most),
        },
        "communities": result.communities,
        "community_ratio": result.community_ratio,
        "audit": asdict(result.audit),
        "last_metrics": {
            name: _number(value) for name, value in result.history[-1].metrics.items()
        },
        "schedule": json.loads(result.schedule.to_json()),
    }


def _flat(result: LinkResult) -> dict[str, Any]:
    settings = result.settings.to_plain()
    settings["split"] = "/".join(f"{100 * share:g}" for share in result.settings.split)
    settings["space"] = " ".join(
        f"{name}={'|'.join(map(str, values))}" for name, values in settings["space"].items()
    )
    return {
        **settings,
        **{name: getattr(result, name) for name in MEASURED},
        "best_epoch": result.epoch,
        "epochs_trained": result.cost.total,
        "planned_least": result.plan.least.total,
        "planned_most": result.plan.most.total,
        "leaks": result.audit.leaks,
        "reverse_test_share": result.audit.reverse_test_share,
        "final": " ".join(f"{name}={value}" for name, value in result.final.items()),
    }


def _mean_to_plain(mean: Mean) -> dict[str, float | int | None]:
    half_width = None if mean.half_width is None else _number(mean.half_width)
    return {"mean": _number(mean.mean), "half_width_95": half_width, "seeds": mean.count}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no nan
