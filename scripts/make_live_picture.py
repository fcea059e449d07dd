"""Make ``docs/pictures/live.svg``: the live view of a run, in the middle of its tries."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dynhp import DynamicGridAdapter, Float, lowest
from dynhp.middleware.display import RunBegins, TryScored
from dynhp.report.live.course import Course
from dynhp.report.live.picture import UNICODE, RunPicture
from dynhp.testing import NoisyQuadratic

ROOT = Path(__file__).resolve().parents[1]
STYLES = {"": "", "title": "bold", "dim": "dim", "good": "green", "bad": "red"}
SECONDS = 42.0  # which the run is said to take so far, so that the picture is always the same


class DrawsOnce:
    """A display that draws once: after the third try of round 6."""

    def open(self, run: RunBegins) -> None:
        self.course = Course(run)
        self.picture, self.text = RunPicture("training", self.course), ""

    def __call__(self, moment: Any) -> None:
        self.course.take(moment)
        if isinstance(moment, TryScored) and self.course.round == 6 and moment.place == 2:
            self.course.seconds = lambda: SECONDS  # type: ignore[method-assign]
            lines = self.picture.lines(78, 12, UNICODE)
            self.text = Text("\n").join(
                Text.assemble(*((text, STYLES[style]) for text, style in line)) for line in lines
            )

    def beat(self, place: int | None, epochs: int, metrics: Any) -> None:
        pass

    def close(self, failure: BaseException | None) -> None:
        pass


def main() -> None:
    """Run, draw, write."""
    shown = DrawsOnce()
    space = {"lr": Float(0.01, 1.0, log=True, points=5)}
    DynamicGridAdapter(
        NoisyQuadratic(), space, criterion=lowest("loss"), adapt_every=10, try_for=1
    ).run(120, progress=shown)
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    console.print(shown.text)
    svg = console.export_svg(title="adapter.run(120, progress=True)", unique_id="live")
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # nothing from the network
    path = ROOT / "docs" / "pictures" / "live.svg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE), "utf-8")
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
