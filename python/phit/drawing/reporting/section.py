"""The form of a section of the report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from phit.drawing.reporting.source import Source


@dataclass(frozen=True)
class Content:
    """The content of a section."""

    html: Markup
    """Its elements.

    `phit.drawing.reporting.templates.render` makes them from a template, in which texts are escaped.
    """
    data: Any = None
    """Data for its script, as JSON can hold it."""
    charts: Mapping[str, Any] = field(default_factory=dict)
    """Charts by the `data-chart` attribute of the elements in which they are drawn."""


@dataclass(frozen=True)
class Section:
    """A section. Its script, if it has one, is `assets/NAME.js`."""

    name: str
    title: str
    build: Callable[[Source], Content | None]
    """Makes the content; `None` if the results have none for this section."""
