"""Plots as altair charts, drawn from tables of results.

Its code is in `phit.drawing.plots`.
"""

from phit.drawing.plots import (
    COLOURS,
    SHAPES,
    Chart,
    curve_table,
    histogram,
    link_utilisation,
    load_curves,
    save,
    styled,
    time_series,
)

__all__ = [
    "COLOURS",
    "SHAPES",
    "Chart",
    "curve_table",
    "histogram",
    "link_utilisation",
    "load_curves",
    "save",
    "styled",
    "time_series",
]
