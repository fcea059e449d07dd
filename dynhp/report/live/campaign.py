"""The progress of a campaign, shown while it runs and in the same places as that of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from dynhp.records.text import duration
from dynhp.report.live.picture import Line, Marks, headline
from dynhp.report.live.surfaces import Surface, surface_on

if TYPE_CHECKING:
    from dynhp.campaign.progress import CampaignProgress

__all__ = ["CampaignPicture", "campaign_view"]


class CampaignPicture:
    """What is shown of a campaign.

    Args:
        progress: how far it has got.
    """

    def __init__(self, progress: CampaignProgress) -> None:
        self.progress = progress

    def step(self) -> int | None:
        """A number that changes with every percent; None once all is over."""
        return None if self.progress.over else self.progress.percent + 1

    def text(self) -> str:
        """How far it has got, in words."""
        return str(self.progress)

    def lines(self, width: int, height: int, marks: Marks) -> list[Line]:
        """One line: the runs done and failed, a bar, and the time left."""
        now = self.progress
        left = "time left not known yet" if now.left is None else f"about {duration(now.left)} left"
        failed = f", {now.failed} failed" if now.failed else ""
        done = f"{now.done} of {now.total} runs{failed}"
        time = "done" if now.over else left
        return [headline("campaign", done, now.share, time, width=width, marks=marks)]


@contextmanager
def campaign_view(stream: TextIO | None = None) -> Iterator[Callable[[CampaignProgress], None]]:
    """Give a function that shows progress: in a terminal, in a notebook, or as a line per percent.

    Args:
        stream: where to write; standard error by default, or the notebook's cell.

    >>> import sys
    >>> from dynhp.campaign.progress import CampaignProgress
    >>> with campaign_view(sys.stdout) as show:
    ...     show(CampaignProgress(done=1, failed=0, total=2, share=0.5, left=None))
    ...     show(CampaignProgress(done=2, failed=0, total=2, share=1.0, left=0.0))
    1 of 2 runs, 50 % of the work
    2 of 2 runs, 100 % of the work
    """
    # Made with the first progress: a campaign that fails before it begins shows nothing.
    surface: Surface | None = None
    picture: CampaignPicture | None = None

    def show(progress: CampaignProgress) -> None:
        nonlocal surface, picture
        picture = CampaignPicture(progress)
        surface = surface or surface_on(stream)
        if surface.pause is None or surface.pause.is_over():
            surface.show(picture)

    try:
        yield show
    finally:
        if surface is not None and picture is not None:
            surface.close(picture)
