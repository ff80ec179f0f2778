"""Why points are slow or saturated: the hints about each point, without duplicates."""

from typing import Any

from phit.drawing.hints import hints
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

MOST_EXAMPLES = 3
"""Maximum number of points that are named with a rule."""


def _build(source: Source) -> Content | None:
    found: dict[str, list[tuple[int, str]]] = {}
    for at, summary in enumerate(source.summaries):
        for hint in hints(summary) if summary else ():
            found.setdefault(hint.rule, []).append((at, hint.text))
    if not found:
        return None
    rules: list[dict[str, Any]] = [
        {
            "name": rule.replace("-", " "),
            "count": len(points),
            "text": points[-1][1],
            "example": source.names[points[-1][0]],
            "points": [{"at": at, "name": source.names[at]} for at, _ in points[:MOST_EXAMPLES]],
            "more": len(points) - MOST_EXAMPLES,
        }
        for rule, points in found.items()
    ]
    return Content(render("reasons.html", rules=rules, single=source.points.height == 1))


SECTION = Section("reasons", "Why", _build)
