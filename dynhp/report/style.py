"""The one style sheet of all pages and pictures, in two parts: a picture needs only the first."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["PAGE", "PICTURE"]

_HERE = files("dynhp.report")

PICTURE = (_HERE / "picture.css").read_text(encoding="utf-8")
"""The colours, light and dark, and the lines and letters of pictures."""

PAGE = (_HERE / "page.css").read_text(encoding="utf-8")
"""Everything else on a page, in the same colours."""
