"""The guide as a browser shows it: every page fits, every link leads somewhere, and search finds what it should.

`make docs` builds the site, `make test-site` looks at it.
"""

import functools
import http.server
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import phit
import phit.cli
import pytest
from phit.store.quantities import QUANTITIES

from .conftest import ROOT

SITE = ROOT / "site"
ASKED = "PHIT_SITE" in os.environ
pytestmark = pytest.mark.skipif(not ASKED, reason="make docs test-site")

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
PAGES = sorted(path for path in SITE.rglob("index.html") if "api" not in path.relative_to(SITE).parts) if ASKED else []


@functools.cache
def anchors(page: Path) -> set[str]:
    return set(re.findall(r'\bid="?([^"\s>]+)', page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.parent.relative_to(SITE)))
def test_every_link_leads_somewhere(page: Path) -> None:
    base = f"http://site/{page.relative_to(SITE).parent.as_posix()}/".replace("/./", "/")
    for link in re.findall(r'\b(?:href|src)="([^"]*)"', page.read_text(encoding="utf-8")):
        address, anchor = urldefrag(urljoin(base, unescape(link)))
        parts = urlparse(address)
        if parts.netloc != "site" or parts.scheme != "http":
            continue
        there = SITE / unquote(parts.path).lstrip("/")
        if "api" in there.relative_to(SITE).parts and not (SITE / "api").exists():
            continue
        there = there / "index.html" if there.is_dir() else there
        assert there.is_file(), link
        if anchor and there.suffix == ".html" and there in PAGES:
            assert unquote(anchor) in anchors(there), link


@functools.cache
def searched() -> str:
    found = json.loads((SITE / "search" / "search_index.json").read_text(encoding="utf-8"))
    return "\n".join(unescape(f"{entry['title']} {entry['text']}") for entry in found["docs"])


def declared(schema: Any) -> Iterator[str]:
    """All keys of a schema's tables."""
    if isinstance(schema, list):
        for part in schema:
            yield from declared(part)
    elif isinstance(schema, dict):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for part in schema.values():
            yield from declared(part)


def test_search_knows_every_kind_quantity_key_and_option() -> None:
    text = searched()
    names = {entry["kind"] for entries in phit.catalogue().values() for entry in entries} | set(QUANTITIES)
    names |= {key for key in declared(phit.schema()) if key != "$schema"}
    names |= {command for commands in phit.cli.MODULES.values() for command in commands}
    options = re.findall(r"`(--[\w-]+)", (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"))
    assert len(options) > 50
    missing = sorted(name for name in names | set(options) if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))
    assert missing == []


def test_search_knows_errors() -> None:
    for words in ("expected at least", "no such study", "virtual channels on"):
        assert words in searched()


playwright: Any = pytest.importorskip("playwright.sync_api") if ASKED else None


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium: make test-site installs it")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits(browser: Any, address: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for path in PAGES:
        page.goto(f"{address}/{path.parent.relative_to(SITE).as_posix()}/")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert complaints == []
    dark = page.evaluate("document.body.getAttribute('data-md-color-scheme')") == "slate"
    assert dark == (scheme == "dark")
    context.close()


@pytest.mark.parametrize("words", ["ugal_l", "latency_p99", "--shard", "traffic.load", "no such study"])
def test_search_shows_what_was_asked_for(browser: Any, address: str, words: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/quickstart/")
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill(words)
    page.wait_for_selector(".md-search-result__link", timeout=20_000)
    assert page.locator(".md-search-result__link").count() > 0
    page.close()


def test_the_header_has_the_version(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/quickstart/")
    assert f"Phit {phit.__version__}" in page.locator(".md-header").inner_text()
    page.close()
