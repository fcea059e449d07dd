"""What the package gives away at its front door."""

from __future__ import annotations

import subprocess
import sys

import dynhp_pyg
from tests.support.messages import raises


def test_every_name_is_there() -> None:
    for name in dynhp_pyg.__all__:
        assert getattr(dynhp_pyg, name) is not None
    with raises(AttributeError):
        _ = dynhp_pyg.nonsense


def test_graphs_and_splits_need_no_torch_and_training_says_what_it_needs() -> None:
    program = """
import sys
sys.modules["torch"] = None
import dynhp_pyg
dynhp_pyg.make_split(dynhp_pyg.load_dataset("cora"))
try:
    dynhp_pyg.LinkPredictionTrainer
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        "dynhp_pyg.LinkPredictionTrainer needs torch: pip install 'dynhp[pyg]'"
    )
