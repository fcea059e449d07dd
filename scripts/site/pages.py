"""Extension of sphinx: pages of the root are pages of the site, pictures follow its theme."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

# Pages of the repository's root that are pages of the site too. Links to them are written for
# readers of the files, and lead to the page of the site here.
AT_ROOT = {
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "ARCHITECTURE.md": "architecture",
}


def for_the_site(text: str, page: str) -> str:
    """A page as the site needs it: links that leave docs lead to their page of the site."""
    up = "../" * (page.count("/") + 1)
    for name, target in AT_ROOT.items():
        text = text.replace(f"]({up}{name}", f"]({up[3:]}{target}.md")
    return text


def at_root(name: str, root: Path) -> str:
    """A page of the root, whose links are relative to it: those into docs lose the folder."""
    text = (root / name).read_text("utf-8").replace("](docs/", "](")
    for other, target in AT_ROOT.items():
        text = text.replace(f"]({other}", f"]({target}.md")
    return text


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Sphinx has read the text of a page."""
    names = {target: name for name, target in AT_ROOT.items()}
    if page in names:
        source[0] = at_root(names[page], Path(app.srcdir).parent)
    else:
        source[0] = for_the_site(source[0], page)


class InlinePictures(SphinxTransform):
    """Puts pictures of our own script into the page itself, so that its theme colours them."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.env.srcdir) / image["uri"]
            if not re.match(r"pictures/[\w-]+\.svg$", image["uri"]) or not path.exists():
                continue  # sphinx says that it is missing
            drawing = path.read_text("utf-8")
            if 'class="dynhp-picture"' in drawing:
                self.env.note_dependency(str(path))
                image.replace_self(nodes.raw("", drawing, format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the parts of this extension."""
    app.connect("source-read", read)
    app.add_transform(InlinePictures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
