"""How far the fluid network is from exact routers, as `phit run --fluid --html` has measured it on a sample."""

import json
from typing import Any

from phit.base.files import read_bytes
from phit.base.numbers import readable
from phit.base.times import TimeUnit
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

FIDELITY = "fidelity.json"
"""Name of the comparison in a results folder: what `phit fidelity --json` prints."""

MOST_PHASES = 20
"""Maximum number of phases on a page, those with the largest errors."""


def _build(source: Source) -> Content | None:
    if not any(scenario.get("router", {}).get("kind") == "fluid" for scenario in source.scenarios):
        return None
    found = _read(source)
    if found is None:
        return Content(render("fluid.html", found=None))
    phases = sorted(
        (row for row in found.get("phases", []) if isinstance(row.get("error"), float)),
        key=lambda row: -abs(row["error"]),
    )
    unit = source.time_unit([found["completion_exact"], found["completion_fluid"]])
    shown = {
        "sample": ", ".join(found["sample"]) or "the whole scenario",
        "error": _percent(found["error"]),
        "messages": f"{100 * found['message_error']:.2f} %",
        "exact": _time(unit, found["completion_exact"]),
        "fluid": _time(unit, found["completion_fluid"]),
        "cause": found["cause"],
        "causes": [{**cause, "error": _percent(cause["error"])} for cause in found["causes"]],
        "phases": [{**row, "error": _percent(row["error"])} for row in phases[:MOST_PHASES]],
        "more": max(0, len(phases) - MOST_PHASES),
    }
    return Content(render("fluid.html", found=shown))


def _read(source: Source) -> dict[str, Any] | None:
    """The comparison; `None` if the folder has none, or something else under its name."""
    try:
        found = json.loads(read_bytes(source.folder.path / FIDELITY))
    except (OSError, ValueError, RecursionError):
        return None
    keys = {"error", "message_error", "cause", "causes", "sample", "completion_exact", "completion_fluid"}
    return found if isinstance(found, dict) and keys <= found.keys() else None


def _time(unit: TimeUnit, cycles: float) -> str:
    return f"{readable(unit.of(cycles))} {unit.name}"


def _percent(share: float) -> str:
    return f"{100 * share:+.2f} %"


SECTION = Section("fluid", "Error of the fluid network", _build)
