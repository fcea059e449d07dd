"""Hypothesis looks at the same examples in every run, and never at the clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("dynhp", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("dynhp")

# A distribution of its own, whose tests run where it is installed: see tests/cli.
collect_ignore = ["fixtures/third_party_plugin"]
