"""Settings of optimisers as places for values: as they are, or as a factor on a schedule."""

from dynhp_torch.settings.param import optimizer_param
from dynhp_torch.settings.scale import remove_scale, schedule_scale
from dynhp_torch.settings.space import bound_space, setting_binding

__all__ = ["bound_space", "optimizer_param", "remove_scale", "schedule_scale", "setting_binding"]
