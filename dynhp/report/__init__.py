"""Reports: a run as text, as a page, and its progress; imports storage and below."""

from dynhp.report.live import LiveDisplay
from dynhp.report.luck import Luck, luck_of
from dynhp.report.page import (
    ReportedCampaign,
    ReportedRun,
    Signal,
    html_report,
    report_page,
    run_of,
    signal_of,
    write_html,
)
from dynhp.report.rates import rate_chart
from dynhp.report.scalar_log import ScalarLog
from dynhp.report.scalars import Scalar, Totals, scalars_of
from dynhp.report.text import schedule_picture, summary

__all__ = ["LiveDisplay", "Luck", "html_report", "luck_of", "rate_chart", "summary"]
__all__ += ["ReportedCampaign", "ReportedRun", "Signal", "report_page", "run_of", "signal_of"]
__all__ += ["Scalar", "ScalarLog", "Totals", "scalars_of", "schedule_picture", "write_html"]
