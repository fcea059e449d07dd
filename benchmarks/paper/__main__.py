"""``python -m benchmarks.paper``: carry out what is missing, then write the report."""

import sys

from benchmarks.paper.program import main

if __name__ == "__main__":
    sys.exit(main())
