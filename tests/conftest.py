"""Hypothesis looks at the same examples in every run, and never at the clock."""

from __future__ import annotations

import tests.support.examples  # noqa: F401  (also where the conftest.py of the root is not there)

# A distribution of its own, whose tests run where it is installed: see tests/cli.
collect_ignore = ["fixtures/third_party_plugin"]
