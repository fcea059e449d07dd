"""``make bench-core BASE=revision`` says where this version is worse than another one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _one_version
import _side_by_side
from _side_by_side import BothVersions, pair_table
from _versions import environment

NAN = float("nan")


@pytest.mark.parametrize(
    ("pair", "verdict"),
    [
        (BothVersions("time", 2.0, 1.0), ""),
        (BothVersions("time", 2.0, 2.1, ratio_at_most=1.1), "PASS"),
        (BothVersions("time", 2.0, 2.3, ratio_at_most=1.1), "FAIL"),
        (BothVersions("time", NAN, 2.3, at_most=3.0), "PASS"),
        (BothVersions("time", 1.0, 3.1, at_most=3.0), "FAIL"),
        (BothVersions("time", 1.0, NAN, at_most=3.0), "FAIL"),
        (BothVersions("time", 1.0, 2.0, at_most=3.0, ratio_at_most=1.1), "FAIL"),
    ],
)
def test_a_figure_fails_by_its_limit_or_by_its_ratio(pair: BothVersions, verdict: str) -> None:
    assert pair.verdict == verdict


def test_figures_stand_under_each_other() -> None:
    pairs = [
        BothVersions("a try", 20.0, 10.0, "µs", ratio_at_most=1.1),
        BothVersions("states", 3.0, 3.0, at_most=3.005),
    ]
    assert pair_table("abc", pairs).splitlines() == [
        "          abc    now  ratio",
        "a try   20.00  10.00   0.50  µs  ratio <= 1.1  PASS",
        "states   3.00   3.00   1.00      <= 3.005      PASS",
    ]


def test_a_line_gives_the_cost_of_a_try_and_of_a_round() -> None:
    times = {str(size): 60.0 + 20.0 * size for size in _one_version.SIZES}
    assert _side_by_side._line(times) == pytest.approx((20.0, 60.0))


def test_the_least_of_each_figure_counts() -> None:
    least: dict[str, dict[str, float]] = {}
    for figures in ({"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 3.0}):
        _side_by_side._keep_least(least, "now", figures)
    assert least == {"now": {"a": 1.0, "b": 1.0}}


def test_every_proposer_can_be_measured() -> None:
    assert {"Climb", "FullGrid", "Placebo", "OneAxis(Interpolation())"} <= set(
        _one_version.proposers()
    )


@pytest.mark.parametrize("proposer", ["FullGrid", "OneAxis(Interpolation())"])
def test_a_resumed_run_is_one_round_longer_and_nothing_is_trained_again(
    tmp_path: Path, proposer: str
) -> None:
    arguments = (str(tmp_path), proposer, "60")
    assert _one_version.save(*arguments) == {"rounds": 60}
    assert _one_version.resume(*arguments)["seconds"] > 0
    with pytest.raises(AssertionError, match="epochs trained"):
        _one_version.resume(str(tmp_path / "new"), proposer, "60")


def test_a_process_imports_the_version_that_it_measures(tmp_path: Path) -> None:
    (tmp_path / "dynhp").mkdir()
    (tmp_path / "dynhp" / "__init__.py").write_text("", "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "import dynhp; print(dynhp.__file__)"],
        cwd=Path(__file__).parent,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{tmp_path}{os.sep}")
