"""Spaces: where values lie, and which are next to each other."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.spaces.around import Around
    from dynhp.spaces.axis import Axis
    from dynhp.spaces.lists import Categorical, Ordered
    from dynhp.spaces.ranges import Float, Int
    from dynhp.spaces.space import Space, SpaceLike
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "around": "Around",
            "axis": "Axis",
            "lists": "Categorical Ordered",
            "ranges": "Float Int",
            "space": "Space SpaceLike",
        },
    )

__all__ = ["Around", "Axis", "Categorical", "Float", "Int", "Ordered", "Space"]
__all__ += ["SpaceLike"]
