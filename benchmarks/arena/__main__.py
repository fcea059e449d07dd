"""``python -m benchmarks.arena``: run what is missing, then write the report."""

from benchmarks.arena.program import main

if __name__ == "__main__":
    main()
