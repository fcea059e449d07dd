"""Middleware: what stands between engine and driver and looks on: callbacks, displays, limits."""

from dynhp.middleware.display import Display, RunBegins, StretchBegins, TriesBegin, TryScored
from dynhp.middleware.each_epoch import each_epoch
from dynhp.middleware.limits import time_limit
from dynhp.middleware.looking import looking

__all__ = ["Display", "RunBegins", "StretchBegins", "TriesBegin", "TryScored", "looking"]
__all__ += ["each_epoch", "time_limit"]
