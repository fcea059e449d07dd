"""Reports: a run as text, as a page, and its progress; imports storage and below."""

from dynhp.report.html import html_report, write_html
from dynhp.report.luck import Luck, luck_of
from dynhp.report.progress import progress
from dynhp.report.scalar_log import ScalarLog
from dynhp.report.scalars import Scalar, Totals, scalars_of
from dynhp.report.text import schedule_picture, summary

__all__ = ["Luck", "html_report", "luck_of", "progress", "schedule_picture", "summary"]
__all__ += ["Scalar", "ScalarLog", "Totals", "scalars_of", "write_html"]
