"""The report as a browser shows it: drawn, hovered, filtered, opened, without an error or a request.

Skipped where there is no Chromium or no Playwright; `make test-browser` installs both.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import phit
import pytest
from phit.drawing import reporting

from .conftest import tiny
from .hostile import HOSTILE, small

playwright = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: make test-browser installs it")

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
CURVES = "#curves .chart .mark-symbol path"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Opened:
    """A page with its errors and its requests."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def close(self) -> None:
        """Closes it, without a complaint."""
        self.page.wait_for_timeout(100)
        self.page.context.close()
        assert self.complaints == []
        assert len([url for url in self.requests if not url.startswith("data:")]) == 1, "the page itself"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    document = tiny(
        measure__histogram=True,
        measure__links=True,
        measure__series={"by": "window", "bin": 100},
        measure__probes=[{"kind": "ports", "every": 100}],
        traffic__pattern={"kind": "adversarial", "offset": 1},
    )
    sweep = {"product": {"routing.kind": ["minimal", "valiant"], "traffic.load": [0.05, 0.1, 0.3]}}
    phit.sweep(document | {"sweep": {"name": "browser", **sweep}}, folder / "r", workers=1)
    return reporting.write(reporting.Source.read(folder / "r"), folder / "report.html")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_fits_and_every_chart_is_drawn(browser: Any, report: Path, width: int, scheme: str) -> None:
    opened = Opened(browser, report, width, scheme)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    charts = page.locator("[data-chart]")
    for i in range(charts.count()):
        box = charts.nth(i).locator("svg.marks").bounding_box()
        assert box["width"] > 0.8 * charts.nth(i).bounding_box()["width"]
        assert box["height"] > 100
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(c) for c in dark[4:-1].split(",")) < 300) == (scheme == "dark")
    opened.close()


def test_a_point_tells_its_numbers_and_opens(browser: Any, report: Path) -> None:
    opened = Opened(browser, report)
    page = opened.page
    mark = page.locator(CURVES).nth(1)
    mark.hover()
    tip = page.locator("#vg-tooltip-element")
    tip.wait_for(state="visible")
    assert "Offered load" in tip.inner_text()
    assert "0.1" in tip.inner_text()
    mark.click()
    detail = page.locator("dialog#detail")
    detail.wait_for(state="visible")
    assert "minimal, load 0.1" in detail.locator("h2").inner_text()
    assert 'kind = "dragonfly"' in detail.inner_text()
    detail.locator(".chart svg.marks").wait_for()
    page.keyboard.press("Escape")
    assert not detail.is_visible()
    opened.close()


def test_points_are_filtered_and_sorted(browser: Any, report: Path) -> None:
    opened = Opened(browser, report)
    page = opened.page
    page.fill("#filter", "Valiant load>0.05")
    assert page.locator("#filtered").inner_text() == "2 of 6 points"
    assert page.locator("#table tbody tr").count() == 2
    page.fill("#filter", "nothing of this name")
    assert "No point" in page.locator("#table tbody").inner_text()
    page.fill("#filter", "")
    page.locator("#table th button", has_text="latency").first.click()
    column = [th.startswith("latency") for th in page.locator("#table th").all_inner_texts()].index(True)
    shown = [
        float(row.locator("td").nth(column).inner_text().replace(",", ""))
        for row in page.locator("#table tbody tr").all()
    ]
    assert shown == sorted(shown)
    page.locator("#table tbody tr").first.press("Enter")
    assert page.locator("dialog#detail").is_visible()
    opened.close()


def test_the_legend_fades_other_curves(browser: Any, report: Path) -> None:
    opened = Opened(browser, report)
    page = opened.page
    page.locator(".legend button", has_text="Valiant").first.click()
    page.wait_for_function(
        f"[...document.querySelectorAll('{CURVES}')].some((mark) => mark.getAttribute('opacity') === '0.15')"
    )
    opened.close()


def lit(page: Any, selector: str) -> int:
    """How many colours a canvas has."""
    found: int = page.evaluate(
        """(selector) => {
            const canvas = document.querySelector(selector);
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            return new Set(new Uint32Array(data.buffer)).size;
        }""",
        selector,
    )
    return found


def test_links_are_drawn_by_group_and_by_router(browser: Any, report: Path) -> None:
    opened = Opened(browser, report, 390)
    page = opened.page
    assert lit(page, "#links canvas") > 8
    canvas = page.locator("#links canvas")
    canvas.hover(position={"x": 80, "y": 5})
    assert "from g" in page.locator(".tip").inner_text()
    canvas.click(position={"x": 60, "y": 5})
    assert "group" in page.locator("#links .what").inner_text().lower()
    page.locator("#links .says button").click()
    page.locator("#links .views button", has_text="routers").click()
    assert lit(page, "#links canvas") > 8
    page.locator("#links canvas").hover(position={"x": 8, "y": 28})
    assert "router 0 port" in page.locator(".tip").inner_text()
    assert page.locator("#links .top tbody tr").count() == 12
    assert {"endpoint", "local", "global"} <= set(page.locator("#links .classes tbody").inner_text().split())
    opened.close()


def test_the_time_lapse_plays(browser: Any, report: Path) -> None:
    opened = Opened(browser, report)
    page = opened.page
    slider = page.locator("#timelapse .slider")
    slider.evaluate("(slider) => { slider.value = 1; slider.dispatchEvent(new Event('input')); }")
    before = page.locator("#timelapse .time").inner_text()
    assert before.startswith("cycle ")
    page.locator("#timelapse .play").click()
    page.wait_for_function("(before) => document.querySelector('#timelapse .time').textContent !== before", arg=before)
    page.locator("#timelapse .play").click()
    assert lit(page, "#timelapse canvas") > 3
    opened.close()


def test_hostile_texts_are_shown_and_do_nothing(browser: Any, tmp_path: Path) -> None:
    curves = [{"name": said, "traffic.load": [0.1 + 0.01 * i, 0.3]} for i, said in enumerate(HOSTILE)]
    document = small(sweep={"name": "r", "curves": curves}, plot={"title": "".join(HOSTILE)})
    phit.sweep(document, tmp_path / "r", workers=1)
    path = reporting.write(reporting.Source.read(tmp_path / "r"), tmp_path / "report.html")
    opened = Opened(browser, path)
    page = opened.page
    assert page.locator("hostile").count() == 0
    words = page.locator("body").inner_text()
    assert "</script><hostile>" in words
    page.locator(CURVES).first.hover()
    page.locator("#vg-tooltip-element").wait_for(state="visible")
    page.locator(CURVES).first.click()
    page.locator("dialog#detail").wait_for(state="visible")
    # Code that is not in the digest does not run, wherever it comes from.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<details open ontoggle=\"document.title=1\">')")
    page.wait_for_timeout(100)
    assert page.title() != "1"
    refused, opened.complaints = opened.complaints, []
    assert refused
    assert all("Content Security Policy" in said for said in refused)
    assert page.locator("hostile").count() == 0
    opened.close()
