"""The live view of runs and campaigns: what is known, its picture, and where that is shown."""

from dynhp.report.live.display import LiveDisplay

__all__ = ["LiveDisplay"]
