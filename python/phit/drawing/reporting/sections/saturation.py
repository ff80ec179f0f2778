"""The saturation of each curve: the largest load that it sustains, and the most that it accepts."""

from phit.base.numbers import readable
from phit.drawing.reporting.saturation import curves_of
from phit.drawing.reporting.section import Content, Section
from phit.drawing.reporting.source import Source
from phit.drawing.reporting.templates import render
from phit.store.quantities import SATURATED_BELOW

LOADS = ("traffic.load", "offered_load")
"""Horizontal axes along which a curve can saturate."""


def _build(source: Source) -> Content | None:
    plot = source.manifest.get("plot", {})
    if source.curves is None or plot.get("x", LOADS[0]) not in LOADS or "saturated" not in source.points.columns:
        return None
    curves = list(curves_of(source.curves))
    most = max((curve.accepted or 0.0 for curve in curves), default=0.0) or 1.0
    panels = len({curve.panel for curve in curves}) > 1
    return Content(
        render("saturation.html", rows=curves, most=most, panels=panels, readable=readable, share=SATURATED_BELOW)
    )


SECTION = Section("saturation", "Saturation", _build)
