"""The page of a report: one file of HTML with its own style and script; a part of report."""

from dynhp.report.page.campaigns import ReportedCampaign
from dynhp.report.page.html import html_report, report_page, write_html
from dynhp.report.page.reported import ReportedRun, run_of
from dynhp.report.page.signal import Signal, signal_of

__all__ = ["ReportedCampaign", "ReportedRun", "Signal", "html_report", "report_page", "run_of"]
__all__ += ["signal_of", "write_html"]
