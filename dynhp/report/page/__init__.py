"""The page of a report: one file of HTML with its own style and script; a part of report."""

from dynhp.report.page.html import html_report, write_html
from dynhp.report.page.html import report_page as report_page
from dynhp.report.page.reported import ReportedCampaign as ReportedCampaign
from dynhp.report.page.reported import ReportedRun as ReportedRun
from dynhp.report.page.reported import run_of as run_of

__all__ = ["html_report", "write_html"]
