"""The backend of Keras in this process: other tests start a process for each."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
# Scenarios are run by tests/test_keras_backends.py, once for each backend.
collect_ignore = ["tests/scenarios"]
