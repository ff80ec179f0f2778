"""The sections of the report, in their order."""

from phit.reporting.section import Section
from phit.reporting.sections import curves, overview, points, provenance, saturation, scenario, series

SECTIONS: tuple[Section, ...] = (
    overview.SECTION,
    curves.SECTION,
    saturation.SECTION,
    series.SECTION,
    points.SECTION,
    scenario.SECTION,
    provenance.SECTION,
)
