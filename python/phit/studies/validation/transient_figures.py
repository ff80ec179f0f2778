"""Answers to a change of traffic: Phit as lines with bands, FOGSim as rings; a panel per mechanism and measure."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.drawing.plots import COLOURS, Chart, save, title_of
from phit.peers.comparison import SHARES
from phit.studies.validation.figures import MEASURES as SHOWN_AS
from phit.studies.validation.figures import in_rows
from phit.studies.validation.transient import Phase

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

SHOWN = (-100, 600)
"""Cycles around the change that are drawn."""


def write(phases: Sequence[Phase], folder: Path) -> list[Path]:
    """Writes a plot per measure as SVG; returns their paths."""
    written = []
    for simulator in dict.fromkeys(phase.transient.simulator for phase in phases):
        of_it = [phase for phase in phases if phase.transient.simulator == simulator]
        for measure in dict.fromkeys(phase.measure for phase in of_it):
            name = f"{simulator.lower().replace(' ', '')}_transient_{measure.split('_')[0]}"
            written += save(figure(of_it, measure), folder / name, ("svg",))
    return written


def table(phases: Sequence[Phase], mechanism: str, measure: str) -> pl.DataFrame:
    """The windows of one panel, by the middle of their time."""
    found: list[dict[str, Any]] = [
        {
            "cycle": w.start + phase.transient.window / 2,
            "theirs": w.theirs,
            "ours": w.ours,
            "low": w.ours - w.half,
            "high": w.ours + w.half,
        }
        for phase in phases
        if (phase.transient.mechanism, phase.measure) == (mechanism, measure)
        for w in phase.windows
        if SHOWN[0] <= w.start < SHOWN[1]
    ]
    return pl.DataFrame(found).sort("cycle")


def figure(phases: Sequence[Phase], measure: str) -> Chart:
    """A panel per mechanism that has the measure."""
    mechanisms = list(dict.fromkeys(phase.transient.mechanism for phase in phases if phase.measure == measure))
    tables = {name: table(phases, name, measure) for name in mechanisms}
    top = 1.05 if measure in SHARES else 1.08 * max(max(*rows["theirs"], *rows["high"]) for rows in tables.values())
    charts = [
        _panel(rows, name, measure, top, COLOURS[i % len(COLOURS)]) for i, (name, rows) in enumerate(tables.items())
    ]
    change, window = phases[0].transient.change, phases[0].transient.window
    note = f"{change}; lines: Phit, with 95 % confidence bands; rings: FOGSim; windows of {window} cycles"
    title = f"Phit and FOGSim: {SHOWN_AS[measure]} after a change of traffic"
    return in_rows(charts, title, note)


def _panel(rows: pl.DataFrame, name: str, measure: str, top: float, colour: str) -> Chart:
    x = alt.X("cycle:Q", title="Generated, cycles after the change", scale=alt.Scale(domain=list(SHOWN), nice=False))
    scale = alt.Scale(domain=[0, top], nice=False)
    title = title_of(measure)
    base = alt.Chart(rows)
    layers = [
        alt.Chart(pl.DataFrame({"cycle": [0.0]})).mark_rule(color="#999", strokeDash=[4, 4]).encode(x),
        base.mark_area(opacity=0.25, color=colour, clip=True).encode(
            x, alt.Y("low:Q", title=title, scale=scale), alt.Y2("high:Q")
        ),
        base.mark_line(strokeWidth=1.8, color=colour, clip=True).encode(x, alt.Y("ours:Q", title=title, scale=scale)),
        base.mark_point(filled=False, size=45, strokeWidth=1.2, opacity=1, color=colour, clip=True).encode(
            x, alt.Y("theirs:Q", title=title, scale=scale)
        ),
    ]
    return alt.layer(*layers).properties(
        width=300, height=230, title=alt.TitleParams(name, anchor="middle", fontSize=13)
    )
