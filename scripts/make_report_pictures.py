"""Make ``docs/pictures/report-*.png``: the head of the page that the demo writes, in a browser.

Run as ``python scripts/make_report_pictures.py [chromium]``; the browser asks nobody.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.browser import browser  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
LOOKS = {
    "light": {"width": 1000, "height": 900},
    "dark": {"width": 1000, "height": 900, "dark": True},
    "phone": {"width": 390, "height": 844},
}


def main() -> None:
    """Train, open the page in each look, write."""
    program = sys.argv[1] if len(sys.argv) > 1 else "chromium"
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, str(ROOT / "examples" / "digits.py"), "--out", folder]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with browser(program, Path(folder, "profile")) as window:
            for name, look in LOOKS.items():
                window.open(Path(folder, "digits.html"), **look)
                window.picture(FOLDER / f"report-{name}.png")
                print(f"docs/pictures/report-{name}.png")


if __name__ == "__main__":
    main()
