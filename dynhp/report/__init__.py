"""Reports: a run as text, as a page, and its progress."""

from dynhp.report.live import LiveDisplay
from dynhp.report.luck import luck_of
from dynhp.report.page import html_report, write_html
from dynhp.report.scalars import Scalar, ScalarLog
from dynhp.report.signal import signal_of
from dynhp.report.text import schedule_picture, summary

__all__ = ["LiveDisplay", "Scalar", "ScalarLog", "html_report", "luck_of"]
__all__ += ["schedule_picture", "signal_of", "summary", "write_html"]
