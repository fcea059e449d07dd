"""Many independent runs on all cores, each saved as it ends; imports report and below."""

from dynhp.campaign.progress import CampaignProgress
from dynhp.campaign.request import Function, Settings, product
from dynhp.campaign.results import CampaignResults, Finished
from dynhp.campaign.runner import MakeExecutor, campaign_so_far, run_campaign

__all__ = ["CampaignProgress", "CampaignResults", "Finished", "Function", "MakeExecutor"]
__all__ += ["Settings", "campaign_so_far", "product", "run_campaign"]
