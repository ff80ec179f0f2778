"""A study's claims with their verdicts, and its figures."""

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

from phit.base.files import read_bytes
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

CLAIMS, FIGURES = "claims.json", "figures"
"""Names of the claims and the figures that `phit reproduce` writes into a results folder."""

VERDICTS = ("holds", "differs", "undecided", "not run")

TEXTS = ("id", "figure", "statement", "reading", "paper", "measured", "note", "because")

BUDGET = 1_200_000
"""Maximum number of bytes of all figures on a page."""


def _build(source: Source) -> Content | None:
    claims = _claims(source.folder.path / CLAIMS)
    figures, left_out = _figures(source.folder.path / FIGURES)
    if not claims and not figures:
        return None
    counts = Counter(claim["verdict"] for claim in claims)
    tally = [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]
    return Content(render("claims.html", claims=claims, tally=tally, figures=figures, left_out=left_out))


def _claims(path: Path) -> list[dict[str, str]]:
    """The claims in a file, with a text for every key; empty if the file holds something else."""
    try:
        found = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return []
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [
        {key: str(row.get(key) or "") for key in TEXTS}
        | {
            "verdict": str(row["verdict"]) if row.get("verdict") in VERDICTS else "not run",
            "margin": _margin(row),
        }
        for row in rows
    ]


def _margin(row: dict[str, Any]) -> str:
    """The distance from its bound in standard errors."""
    margin = row.get("margin")
    if row.get("exact") is True:
        return "exact"
    return f"{margin:+.1f} standard errors" if isinstance(margin, int | float) else ""


def _figures(folder: Path) -> tuple[list[dict[str, str]], int]:
    """Figures as embedded images, as many as there is room for, and the number of figures left out."""
    found, size, left_out = [], 0, 0
    for path in sorted(folder.glob("*.svg")) if folder.is_dir() else ():
        try:
            content = read_bytes(path)
        except OSError:
            continue
        if size + len(content) > BUDGET:
            left_out += 1
            continue
        size += len(content)
        # An image runs no script, whatever it contains.
        source = f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
        found.append({"name": path.stem.replace("_", " "), "source": source})
    return found, left_out


SECTION = Section("claims", "Claims", _build)
