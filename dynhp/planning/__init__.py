"""Before and after a run: its cost, its schedule, presets, and what to compare it with."""
