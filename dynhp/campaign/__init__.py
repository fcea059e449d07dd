"""Many independent runs: side by side, each written as it ends, gone on with after a crash."""

from dynhp.campaign.progress import CampaignProgress, shown
from dynhp.campaign.request import Function, Settings, product
from dynhp.campaign.results import CampaignResults, Finished
from dynhp.campaign.runner import MakeExecutor, campaign_so_far, run_campaign

__all__ = [
    "CampaignResults",
    "Finished",
    "Function",
    "MakeExecutor",
    "CampaignProgress",
    "Settings",
]
__all__ += ["campaign_so_far", "product", "run_campaign", "shown"]
