"""Spaces: where values lie, and which are next to each other."""

from dynhp.spaces.around import Around
from dynhp.spaces.axis import Axis
from dynhp.spaces.lists import Categorical, Ordered
from dynhp.spaces.ranges import Float, Int
from dynhp.spaces.space import Space, SpaceLike

__all__ = ["Around", "Axis", "Categorical", "Float", "Int", "Ordered", "Space"]
__all__ += ["SpaceLike"]
