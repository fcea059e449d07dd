"""Examples in the README and the docs are tests: every Python block runs, in order."""

from __future__ import annotations

import os
import random
import signal
import sys

import numpy as np
import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

import tests.support.examples  # noqa: F401  (for the tests of the integrations, too)

pytest_plugins = ["tests.support.ids", "tests.support.messages", "tests.support.processor_time"]

# Tests report nothing to others: MLflow would when it is imported, W&B when it has an error.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("WANDB_ERROR_REPORTING", "false")

# Some virtual machines announce AMX and lack it: torch's bfloat16 would end the process there.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# A shell that starts the tests in the background has them ignore Ctrl-C, which some of them send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup() -> None:
    """Let each test find the global generators in one state, whatever tests came before."""
    random.seed(0)
    np.random.seed(0)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let hints pass: they come once per process, so which test gets one is a matter of order.

    Not by a filter in pyproject.toml, which would import dynhp before its coverage is measured.
    """
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::dynhp.errors.Hint"), append=False)


def _in_a_folder_of_its_own(namespace: dict[str, object]) -> None:
    import tempfile

    namespace["_folder"] = tempfile.TemporaryDirectory()
    namespace["_before"] = os.getcwd()
    os.chdir(str(namespace["_folder"].name))  # type: ignore[attr-defined]


def _back(namespace: dict[str, object]) -> None:
    os.chdir(str(namespace["_before"]))
    namespace["_folder"].cleanup()  # type: ignore[attr-defined]


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["*.md"],
    setup=_in_a_folder_of_its_own,
    teardown=_back,
).pytest()
