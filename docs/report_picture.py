"""Takes the pictures of the page on the report: python docs/report_picture.py FOLDER.

FOLDER holds the results of `examples/dragonfly_smoke.toml` with `measure.histogram` and `measure.links`. Needs what
`make test-browser` installs.
"""

import shutil
import sys
from pathlib import Path
from typing import Literal

from phit.drawing import reporting
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent / "images" / "report"
SHOTS: tuple[tuple[str, Literal["light", "dark"], str, int], ...] = (
    ("curves", "light", "overview", 900),
    ("links", "dark", "links", 760),
)
"""Pictures: name, colours, the section at the top, height in pixels."""


def main(folder: Path) -> None:
    """Writes the report and its pictures."""
    page = reporting.write(reporting.Source.read(folder), folder / "report.html")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, scheme, anchor, height in SHOTS:
            context = chromium.new_context(viewport={"width": 1080, "height": height}, color_scheme=scheme)
            shown = context.new_page()
            shown.goto(page.resolve().as_uri())
            shown.wait_for_selector("html[data-ready]", timeout=60_000)
            shown.locator(f"#{anchor}").evaluate("(section) => scrollTo(0, section.offsetTop - 60)")
            shown.wait_for_timeout(500)
            shown.screenshot(path=IMAGES / f"{name}.png")
            context.close()
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
