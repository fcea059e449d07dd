"""The arms: each carries out one run of a task, and says what it came to and what it cost."""
