"""Before and after a run: cost, schedule, presets, baselines."""

from typing import TYPE_CHECKING

from dynhp._lazy import lazily

if TYPE_CHECKING:
    from dynhp.planning.baselines import complete_search, fixed, random_search
    from dynhp.planning.budget import Cost, Plan, plan, plan_for, spent
    from dynhp.planning.presets import ema_race, paper, plateau, recommended, rescue, settled
    from dynhp.planning.rates import RateFinder, find_rate, rate_search
    from dynhp.planning.schedule import Schedule, replay, schedule_of
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "baselines": "complete_search fixed random_search",
            "budget": "Cost Plan plan plan_for spent",
            "presets": "ema_race paper plateau recommended rescue settled",
            "rates": "RateFinder find_rate rate_search",
            "schedule": "Schedule replay schedule_of",
        },
    )

__all__ = [
    "Cost",
    "Plan",
    "RateFinder",
    "Schedule",
    "complete_search",
    "ema_race",
    "find_rate",
    "fixed",
    "paper",
    "plan",
    "plan_for",
    "plateau",
    "random_search",
    "rate_search",
    "recommended",
    "replay",
    "rescue",
    "schedule_of",
    "settled",
    "spent",
]
