"""Proposers: which candidates a round tries, seen from records only."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.proposers.climb import Climb
    from dynhp.proposers.contract import Known, Proposer, Waves
    from dynhp.proposers.grid import Drawn, FullGrid, Placebo
    from dynhp.proposers.interpolation import Interpolation
    from dynhp.proposers.ladder import Ladder
    from dynhp.proposers.neighbors import Neighbors
    from dynhp.proposers.one_axis import OneAxis
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "climb": "Climb",
            "contract": "Known Proposer Waves",
            "grid": "Drawn FullGrid Placebo",
            "interpolation": "Interpolation",
            "ladder": "Ladder",
            "neighbors": "Neighbors",
            "one_axis": "OneAxis",
        },
    )

__all__ = ["Climb", "Drawn", "FullGrid", "Interpolation", "Known", "Ladder"]
__all__ += ["Neighbors", "OneAxis", "Placebo", "Proposer", "Waves"]
