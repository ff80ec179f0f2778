"""The page: its sections in one file, with the drawing libraries, and with a policy against loading anything else."""

import base64
import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

import phit._phit as _phit
from phit.base.files import write_text
from phit.base.text import harmless, in_script
from phit.drawing import plots
from phit.drawing.reporting.section import Content
from phit.drawing.reporting.sections import SECTIONS
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

ASSETS = Path(__file__).parent / "assets"
SHARED = ("core.js", "network.js")
"""Scripts that sections share; they come first."""


def write(source: Source, path: Path) -> Path:
    """Writes the report as one file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, html(source))


def html(source: Source) -> str:
    """The report as one HTML page that loads nothing."""
    built = [(section, content) for section in SECTIONS if (content := section.build(source)) is not None]
    script = _script()
    page = render(
        "page.html",
        title=source.title,
        version=_phit.__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        sections=built,
        style=Markup(_asset("report.css")),
        data=Markup(in_script(harmless({section.name: _data(content) for section, content in built}))),
        script=Markup(script),
        # The policy lets the page load nothing, and run no script except this one, whatever the page contains.
        policy=f"default-src 'none'; script-src '{_digest(script)}' 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
    )
    return str(page)


def _data(content: Content) -> dict[str, Any]:
    charts = {name: chart if isinstance(chart, dict) else chart.to_dict() for name, chart in content.charts.items()}
    return {"data": content.data, "charts": charts}


@cache
def _script() -> str:
    """All scripts as one: the libraries, the shared scripts, then the script of each section."""
    own = [ASSETS / f"{section.name}.js" for section in SECTIONS]
    # A browser reads every line ending as one character, and computes the digest of the text it has read.
    script = "\n".join([plots.drawing_library(), *map(_asset, SHARED), *(p.read_text() for p in own if p.exists())])
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
