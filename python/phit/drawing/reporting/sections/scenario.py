"""The scenario: keys that all points share, and keys that differ."""

import json
from typing import Any

from phit.base.text import plain_lines, shortened
from phit.document import Document
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render

LONGEST = 240
"""Maximum number of characters of a value."""

MOST_VALUES = 16
"""Maximum number of values of a key that differs."""

LARGEST = 60_000
"""Maximum number of characters of the document that can be copied."""


ABSENT = "–"
"""Shown for a key that a point does not have."""


def _build(source: Source) -> Content:
    sections: dict[str, list[tuple[str, str]]] = {}
    for key, value in source.common.items():
        section, _, rest = key.partition(".")
        if value is not None:
            sections.setdefault(section if rest else "", []).append((rest or section, _shown(value)))
    differing: dict[str, dict[str, int]] = {}
    for own in source.differences():
        for key, value in own.items():
            counts = differing.setdefault(key, {})
            counts[_shown(value)] = counts.get(_shown(value), 0) + 1
    known = sum(bool(scenario) for scenario in source.scenarios)
    for counts in differing.values():
        # A key of one mechanism does not exist for others.
        if lacking := known - sum(counts.values()):
            counts[ABSENT] = counts.get(ABSENT, 0) + lacking
    differing = {key: counts for key, counts in differing.items() if len(counts) > 1}
    text = plain_lines(json.dumps(document(source.manifest), indent=2, ensure_ascii=False))
    return Content(
        render(
            "scenario.html",
            sections=sections,
            differing=[(key, list(counts.items())[:MOST_VALUES], len(counts)) for key, counts in differing.items()],
            document=text if len(text) <= LARGEST else "",
            most=MOST_VALUES,
            single=source.points.height == 1,
        )
    )


def document(manifest: Document) -> Document:
    """The experiment as it was read, to run it again."""
    found = dict(manifest.get("scenario", {}))
    for name in ("sweep", "plot"):
        # The section of a single run has only a name.
        if manifest.get(name) and not (name == "sweep" and manifest[name].keys() <= {"name"}):
            found[name] = manifest[name]
    return found


def _shown(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), LONGEST)


SECTION = Section("scenario", "Scenario", _build)
