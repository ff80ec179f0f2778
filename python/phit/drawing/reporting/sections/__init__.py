"""The sections of the report, in their order."""

from phit.drawing.reporting.section import Section
from phit.drawing.reporting.sections import (
    claims,
    curves,
    flows,
    fluid,
    links,
    overview,
    points,
    provenance,
    reasons,
    saturation,
    scenario,
    series,
    timelapse,
    workload,
)

SECTIONS: tuple[Section, ...] = (
    overview.SECTION,
    claims.SECTION,
    curves.SECTION,
    saturation.SECTION,
    reasons.SECTION,
    flows.SECTION,
    fluid.SECTION,
    workload.SECTION,
    series.SECTION,
    links.SECTION,
    timelapse.SECTION,
    points.SECTION,
    scenario.SECTION,
    provenance.SECTION,
)
