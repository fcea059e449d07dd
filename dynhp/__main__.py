"""``python -m dynhp`` is the command ``dynhp``."""

from __future__ import annotations

import sys

from dynhp.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
