"""What a section of the report is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from phit.drawing.reporting.source import Source


@dataclass(frozen=True)
class Content:
    """What stands in a section."""

    html: Markup
    """Its elements; `phit.drawing.reporting.templates.render` makes them of a template, in which texts are texts."""
    data: Any = None
    """What its script works with, as JSON can hold it."""
    charts: Mapping[str, Any] = field(default_factory=dict)
    """Charts by the `data-chart` of the elements in which they are drawn."""


@dataclass(frozen=True)
class Section:
    """A section: its script, if it has one, is `assets/NAME.js`."""

    name: str
    title: str
    build: Callable[[Source], Content | None]
    """Makes it; `None` if the results have nothing to say there."""
