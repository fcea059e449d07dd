"""Many independent runs on all cores, each saved as it ends."""

from dynhp.campaign.request import product
from dynhp.campaign.runner import campaign_so_far, run_campaign

__all__ = ["campaign_so_far", "product", "run_campaign"]
