"""What is on a page of a report: the numbers that it draws."""

from __future__ import annotations

import json
import re
from typing import Any


def data_of(page: str) -> Any:
    """The numbers of a page, of all its runs."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(data)


def run_on(page: str) -> Any:
    """The numbers of the one run on a page."""
    (run,) = data_of(page)["runs"]
    return run
