"""Work in a process of its own, which can be killed."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def forked(work: Callable[[], object]) -> int:
    """Do the work in another process and give its id; it exits with 0 where nothing was raised."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child
