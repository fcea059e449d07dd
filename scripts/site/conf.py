"""Settings of the documentation site, which sphinx builds from the pages in docs: ``make docs``."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The extensions beside this file; and dynhp as it is here, whichever is installed.
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT), *map(str, ROOT.glob("integrations/*"))]

project = "dynhp"
author = "The dynhp developers"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
extensions += ["pages", "reference"]  # beside this file

# Links to headings are checked: GitHub's names of anchors, down to the third level.
highlight_language = "text"
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]

# The entries of the API are links that must lead somewhere. Types in signatures need not: many are
# those of frameworks.
nitpicky = True
nitpick_ignore_regex = [("py:(?!obj).*", ".*")]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
python_display_short_literal_types = True
maximum_signature_line_length = 72
add_module_names = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "dynhp"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/mark.svg"
pygments_dark_style = "github-dark"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "light_css_variables": {
        "color-brand-primary": "#0b6e7f",
        "color-brand-content": "#0b6e7f",
        "color-brand-visited": "#5b4b8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#58c4d6",
        "color-brand-content": "#58c4d6",
        "color-brand-visited": "#b7a6e6",
    },
}
