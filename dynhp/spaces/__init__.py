"""Spaces: where values lie, and which are next to each other; imports records and errors."""

from dynhp.spaces.axis import Axis, ScaledAxis
from dynhp.spaces.lists import Categorical, Ordered
from dynhp.spaces.ranges import Float, Int
from dynhp.spaces.space import Space, SpaceLike

__all__ = ["Axis", "Categorical", "Float", "Int", "Ordered", "ScaledAxis", "Space", "SpaceLike"]
