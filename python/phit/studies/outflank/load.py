"""Over the load: mean lifetimes (figure 4) and derouted shares (figure 5), claims O6 and O7."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from phit.base.lazily import lazily
from phit.drawing.plots import COLOURS, SHAPES, Chart
from phit.peers.outflank_author import CUT, FIRST, STEP, sustained
from phit.studies.kit.charts import Charts, Look, blank, finished, in_rows, panel
from phit.studies.kit.claim import Judgement
from phit.studies.kit.margin import Check, all_of, any_of, below, not_
from phit.studies.kit.plan import Case
from phit.studies.kit.uncertain import greatest, least, mean, nominal
from phit.studies.outflank.paper import (
    BUTTERFLY,
    LIFETIME,
    LOAD,
    NAMES,
    PANEL,
    PATTERNS,
    Evidence,
    by_routing,
    lifetimes,
    loads_of,
    study,
)
from phit.studies.outflank.setting import Setting
from phit.studies.outflank.tables import LARGE, require_all, throughput

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

TOP = 2.2
"""Where the axis of lifetimes ends, as a multiple of the shortest."""


@study.figure(
    "4",
    title="Mean packet lifetime",
    caption="Mean packet lifetime against offered load on the largest network.",
    table=lifetimes,
)
def largest(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 4: the runs of table 2 on the largest network."""
    return [case for case in throughput.cases(setting, seeds) if case.labels["k"] == setting.largest]


def _level(chart: Chart, y: float) -> Chart:
    """The panel with a dashed horizontal line."""
    line = alt.Chart(pl.DataFrame({"y": [y]})).mark_rule(color="#777", strokeDash=[5, 4]).encode(alt.Y("y:Q"))
    return alt.layer(line, chart)


@largest.draw
def _largest_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    """A panel for each pattern."""
    domain = loads_of(table)
    panels = []
    for pattern in PATTERNS:
        rows = table.filter(pl.col("pattern") == pattern)
        if rows.is_empty():
            panels.append(blank(LOAD, LIFETIME, domain, pattern, **PANEL))
            continue
        shortest = float(min(rows["lifetime_us"]))
        chart = by_routing(rows, "lifetime_us", LIFETIME, clip=True, top=TOP * shortest, title=pattern, domain=domain)
        panels.append(_level(chart, CUT * shortest))
    k = setting.largest
    notes = (
        f"{k} × {k} × {k} routers, {setting.messages} messages of {setting.packets} packets for each node",
        f"dashed: {CUT:g} times the shortest, up to which a load counts as sustained; ▲ goes on above",
        "lines join neighbouring loads of the grid",
    )
    return {"4": finished(in_rows(panels), "Figure 4: mean packet lifetime", notes)}


def _is_furthest(name: str, loads: Mapping[str, float]) -> bool:
    return loads[name] > max(loads.values()) - STEP / 2


@study.claim(
    "O6",
    figure="4",
    statement="Mean lifetime over load at k = 16: OFR's curve extends furthest where table 2 says so",
    paper="OFR's gamma* among the largest in the same patterns as in table 2; at the largest common load lifetimes in "
    "the order of table 2",
)
def orderings(evidence: Evidence) -> Judgement:
    """OFR's curve of figure 4 is among those that extend furthest where table 2 says so, and nowhere else.

    At the largest load that all three were run at, a routing with a larger gamma* in table 2 is faster than one with a
    smaller.
    """
    curves = evidence.curves("table2")
    checks: list[Check] = []
    found = []
    for pattern in PATTERNS:
        paper = {name: sustained(pattern, name, LARGE) for name in NAMES}
        ours = {name: curves.sustained(pattern, name, LARGE) for name in NAMES}
        where = {"pattern": pattern, "k": LARGE}
        common = min(curves.loads(routing=name, **where)[-1] for name in NAMES)
        times = {name: curves.value("lifetime_us", routing=name, load=common, **where) for name in NAMES}
        furthest = not_(any_of(curves.sustains_more(pattern, name, "OFR", LARGE) for name in NAMES if name != "OFR"))
        checks.append(furthest if _is_furthest("OFR", paper) else not_(furthest))
        pairs = ((a, b) for a in NAMES for b in NAMES if paper[a] > paper[b] + STEP / 2)
        checks += [below(times[a], times[b], strict=True) for a, b in pairs]
        words = ", ".join(f"{name} {nominal(times[name]):.0f}" for name in NAMES)
        far = "furthest" if _is_furthest("OFR", ours) else "not furthest"
        found.append(f"{pattern}: OFR {far}; at {common:.2f} {words} us")
    return Judgement(all_of(checks), "; ".join(found))


SHARES = {
    "OFR (total)": ("OFR", "derouted", 0),
    "OFR (OIDN)": ("OFR", "oidn", 3),
    "OFR (WIDN)": ("OFR", "widn", 5),
    "POR": ("POR", "derouted", 1),
}
"""Routing, column, and number of the colour: routings have the same in all figures."""

SHARE_LOOK = Look(
    {name: COLOURS[colour] for name, (_, _, colour) in SHARES.items()},
    {name: SHAPES[colour] for name, (_, _, colour) in SHARES.items()},
)


@study.figure(
    "5",
    title="Derouted packets over the load",
    caption="Shares of derouted packets against offered load, Butterfly/FFT on the largest network.",
    table=lifetimes,
)
def butterfly(setting: Setting, seeds: int | None) -> list[Case]:
    """Figure 5: the runs of figure 4 under the Butterfly, with the routings that deroute packets."""
    return [
        case
        for case in largest.cases(setting, seeds)
        if case.labels["pattern"] == BUTTERFLY and case.labels["routing"] != "ABR"
    ]


@butterfly.draw
def _butterfly_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    curves = [
        table.filter(pl.col("routing") == routing).select(
            pl.lit(name).alias("curve"),
            "load",
            (100 * pl.col(column)).alias("percent"),
            pl.lit(None, pl.Float64).alias("percent_half"),
        )
        for name, (routing, column, _) in SHARES.items()
    ]
    title = "Derouted packets (%)"
    chart = panel(pl.concat(curves), "curve", "load", "percent", SHARE_LOOK, LOAD, title, width=460, step=STEP)
    k = setting.largest
    notes = (f"{k} × {k} × {k} routers; lines join neighbouring loads of the grid",)
    return {"5": finished(chart, "Figure 5: derouted packets, Butterfly/FFT", notes)}


@study.claim(
    "O7",
    figure="5",
    statement="The derouted shares are nearly constant up to gamma* (Butterfly)",
    paper="relative spread at most 20 %",
)
def constant(evidence: Evidence) -> Judgement:
    """The derouted shares of the Butterfly spread by at most 20 % up to gamma*."""
    curves = evidence.curves("table2")
    found = []
    k = LARGE if LARGE in evidence.setting.sides else evidence.setting.largest
    for routing in ("OFR", "POR"):
        last = curves.sustained(BUTTERFLY, routing, k)
        where = {"pattern": BUTTERFLY, "k": k, "routing": routing}
        loads = [load for load in curves.loads(**where) if load <= last + 1e-9]
        shares = [curves.value("derouted", **where, load=load) for load in loads]
        count = round((last - FIRST) / STEP) + 1
        require_all(len(shares), count, "loads up to gamma*", f"{len(shares)} loads of {routing}")
        found.append((routing, (greatest(shares) - least(shares)) / mean(shares)))
    words = ", ".join(f"{routing} {100 * nominal(spread):.1f} %" for routing, spread in found)
    return Judgement(all_of(below(spread, 0.2) for _, spread in found), f"{words} (k={k})")
