"""Before and after a run: cost, schedule, presets, baselines; imports adapter and below."""

from dynhp.planning.baselines import complete_search, fixed, random_search
from dynhp.planning.budget import Cost, Plan, plan, plan_for, spent
from dynhp.planning.presets import paper, recommended
from dynhp.planning.schedule import Schedule, Segment, replay, schedule_of
from dynhp.planning.watching import plateau, rescue

__all__ = ["Cost", "Plan", "Schedule", "Segment", "complete_search", "fixed", "paper", "plan"]
__all__ += ["plan_for", "plateau", "random_search", "recommended", "replay", "rescue"]
__all__ += ["schedule_of", "spent"]
