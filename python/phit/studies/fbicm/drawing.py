"""The report's figures as charts."""

from typing import Any

import altair as alt
import polars as pl

from phit.plots import COLOURS, SHAPES, Chart
from phit.studies.fbicm.network import MEMORY
from phit.studies.fbicm.setting import US, Network, Setting
from phit.studies.kit.charts import Look, beside, finished, over, panel, rule
from phit.timelapse import Row, Timelapse, holds

NAMES = ("VOQnet", "FBICM", "VOQsw", "DBBM", "1Q", "FBICM first")
LOOK = Look(
    {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(NAMES)},
    {name: SHAPES[i % len(SHAPES)] for i, name in enumerate(NAMES)},
)
"""The same colour and mark for a scheme in every figure."""

LOAD = "Generated traffic (share of the links)"
ACCEPTED = "Throughput (share of the links)"
TIME = "Time (µs)"


def _named(setting: Setting, name: str) -> str:
    found = [net for net in setting.networks if net.name == name]
    return f"{name}: {found[0].arity}-ary {found[0].levels}-tree, {found[0].endpoints} endpoints" if found else name


def _groups(table: pl.DataFrame, column: str) -> list[tuple[Any, pl.DataFrame]]:
    return [(value, table.filter(pl.col(column) == value)) for value in table[column].unique(maintain_order=True)]


def _seeds(table: pl.DataFrame) -> str:
    low, high = min(table["seeds"]), max(table["seeds"])
    if high == 1:
        return "one seed"
    return f"means of {high if low == high else f'{low} to {high}'} seeds with 95 % confidence bands"


def uniform_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 5.1: throughput against generated traffic."""
    panels = [
        panel(
            rows, "mechanism", "load", "accepted_load", LOOK, LOAD, ACCEPTED, diagonal=True, title=_named(setting, net)
        )
        for net, rows in _groups(table, "network")
    ]
    notes = (f"{_seeds(table)}; dashed: everything is delivered",)
    return {"5.1": finished(beside(*panels), "Figure 5.1: uniform traffic", notes)}


def _over_time(rows: pl.DataFrame, **look: Any) -> Chart:
    """Throughput over time, a line for each mechanism."""
    return panel(rows, "mechanism", "t", "accepted_load", LOOK, TIME, ACCEPTED, dots=False, **look)


def time_figure(stem: str, title: str) -> Any:
    """A function that draws throughput over time, the hot spot's time between dashed lines."""

    def draw(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
        begin, end = setting.hot[0] / US, setting.hot[1] / US
        shown = table.filter(pl.col("t") >= begin - (end - begin) / 2)
        panels = []
        for net, rows in _groups(shown, "network"):
            lines = _over_time(
                rows,
                domain=(max(0.0, begin - (end - begin) / 2), max(rows["t"]) + setting.bin / US),
                title=_named(setting, net),
                ticks=6,
            )
            panels.append(rule(rule(lines, begin), end))
        notes = (
            f"{_seeds(table)}; bins of {setting.bin / US:g} µs; a quarter of the sources is silent otherwise",
            f"dashed: the hot spot begins and ends, {begin:g} and {end:g} µs",
        )
        return {stem: finished(beside(*panels), f"Figure {stem}: {title}", notes)}

    return draw


def io_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 5.4: throughput over time under I/O."""
    panels = [
        _over_time(
            rows.drop("accepted_load_half"),
            domain=(0.0, setting.io_seconds / 20 * 1e6),
            title=f"compressed {compression} times",
            height=220,
            width=620,
        )
        for compression, rows in _groups(table, "compression")
    ]
    count = max(table["seeds"])
    traces = "one built-in bursty trace" if count == 1 else f"means of {count} built-in bursty traces, the same for all"
    notes = (f"{_named(setting, table['network'][0])}; {traces}",)
    return {"5.4": finished(over(*panels), "Figure 5.4: I/O traffic", notes)}


SCANNED = {"single": "single hot spot", "uniform": "uniform traffic at full load"}
"""The cases of the scan."""


def scan_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """The sensitivity to the thresholds: throughput relative to VOQnet's."""
    first, last = setting.scan_hot
    notes = (
        f"{_named(setting, table['network'][0])}; FBICM relative to VOQnet, one seed",
        f"hot spot from {first / US:g} to {last / US:g} µs, mean from the time a fifth of it is over",
    )
    panels = [_scan(table.filter(pl.col("case") == case), title) for case, title in SCANNED.items()]
    return {"thresholds": finished(beside(*panels), "Thresholds of FBICM", notes)}


def _scan(table: pl.DataFrame, title: str) -> Chart:
    reference = table.filter(pl.col("mechanism") == "VOQnet")["accepted_load"]
    percent = 100 * (pl.col("accepted_load") / (reference[0] if len(reference) else 1.0) - 1)
    rows = table.filter(pl.col("mechanism") == "FBICM").with_columns(percent=percent)
    base = alt.Chart(rows).encode(
        alt.X("stop:O", title="Stop (bytes in a CFQ); Go at half of it", axis=alt.Axis(labelAngle=0)),
        alt.Y("detection:O", title="Detection (bytes in the NFQ)", sort="descending"),
    )
    scale = alt.Scale(scheme="viridis", domain=[-8, 0], clamp=True)
    cells = base.mark_rect().encode(alt.Color("percent:Q", title="Percent", scale=scale))
    ink = alt.condition(alt.datum.percent > -3.0, alt.value("black"), alt.value("white"))
    text = base.mark_text(fontSize=13).encode(alt.Text("percent:Q", format="+.1f"), color=ink)
    return (cells + text).properties(width=330, height=240, title=alt.TitleParams(title, anchor="middle", fontSize=14))


HOT = {"single": "single hot spot (#2)", "multiple": "several hot destinations (#3)"}
"""The cases in which there are notifications."""

KINDS = ("allocation", "update", "stop", "go", "deallocation")
"""Notifications, in the order of a line's life."""


def versions_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """What the versions send in a run, by kind of notification."""
    hot = table.filter(pl.col("case").is_in(list(HOT)))
    means = hot.group_by("mechanism", "case", maintain_order=True).agg(pl.col(f"{kind}_bits").mean() for kind in KINDS)
    long = means.unpivot(index=["mechanism", "case"], variable_name="kind", value_name="bits").with_columns(
        pl.col("kind").str.strip_suffix("_bits").replace_strict({k: i for i, k in enumerate(KINDS)}).alias("place"),
        pl.col("kind").str.strip_suffix("_bits"),
        pl.col("case").replace_strict(HOT),
        megabits=pl.col("bits") / 1e6,
    )
    scale = alt.Scale(domain=list(KINDS), range=list(COLOURS[: len(KINDS)]))
    bars = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            alt.X("megabits:Q", title="Notifications in a run (Mbit)"),
            alt.Y("mechanism:N", title=None),
            alt.Color("kind:N", title="Notification", scale=scale),
            alt.Row(
                "case:N", title=None, sort=list(HOT.values()), header=alt.Header(labelOrient="top", labelFontSize=13)
            ),
            order="place:Q",
            tooltip=["mechanism", "kind", alt.Tooltip("megabits:Q", format=".3~g")],
        )
        .properties(width=480, height=70)
    )
    count = max(hot.group_by("mechanism", "case").len()["len"])
    seeds = "one seed" if count == 1 else f"means of {count} seeds"
    notes = (f"{_named(setting, table['network'][0])}; {setting.networks[0].end / US:g} µs; {seeds}",)
    return {"versions": finished(bars, "Notifications of the two versions", notes)}


def elsewhere_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Beyond the report."""
    begin, end = setting.scan_hot[0] / US, setting.scan_hot[1] / US
    panels = []
    legend = table["mechanism"].unique(maintain_order=True).to_list()
    for net, rows in _groups(table, "network"):
        lines = _over_time(
            rows,
            domain=(0.0, setting.scan_end / US),
            title=net,
            width=330,
            height=200,
            legend=legend,
        )
        panels.append(rule(rule(lines, begin), end))
    pairs = [beside(*panels[i : i + 2]) for i in range(0, len(panels), 2)]
    notes = (f"{_seeds(table)}; a quarter of the sources sends to one endpoint from {begin:g} to {end:g} µs",)
    return {"elsewhere": finished(over(*pairs), "Isolation and adaptivity in other networks", notes)}


STILLS = 6
"""Frames of the printed time-lapse."""


def lapse_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """The congestion tree: stills, and all frames one after another."""
    net = setting.networks[0]
    begin, end = setting.hot[0] / US, setting.hot[1] / US
    shown = table.filter(pl.col("t").is_in([cycle / US for cycle in setting.moments]))
    shown = shown.with_columns(marked=holds(net.target))
    times = shown["t"].unique().sort().to_list()
    stills = [times[round(i * (len(times) - 1) / (STILLS - 1))] for i in range(STILLS)]
    where = f"{_named(setting, net.name)}; single hot spot at endpoint {net.target} from {begin:g} to {end:g} µs"
    notes = (where, f"each cell is an input port; framed: the port holds a line for endpoint {net.target}")
    charts = {
        "tree": finished(_facets(shown.filter(pl.col("t").is_in(stills))), "A congestion tree grows and drains", notes)
    }
    slow = setting.frames / US
    pace = f"a frame is {slow:g} µs until {begin + 10 * slow:g} µs, then {5 * slow:g} µs"
    charts["tree_lapse"] = Timelapse(
        "A congestion tree grows and drains",
        (where, f"each cell is an input port of a switch, those from below in the lower row; {pace}"),
        dict(_groups(shown, "mechanism")),
        rows=_levels(net),
        unit="µs",
        amount="bytes",
        capacity=MEMORY,
        busy=(begin, end),
        cause="hot spot",
        marks=f"the port holds a line for endpoint {net.target}",
        moments=[cycle / US for cycle in setting.moments],
    )
    return charts


def _levels(net: Network) -> list[Row]:
    """The switches of each level, the roots above."""
    each = net.switches // net.levels
    names = {0: "leaf switches", net.levels - 1: "roots"}
    return [
        Row(
            names.get(level, "middle" if net.levels == MIDDLE else f"level {level + 1}"),
            range(level * each, (level + 1) * each),
        )
        for level in reversed(range(net.levels))
    ]


MIDDLE = 3
"""Levels of a tree of which one is the middle."""


def _facets(rows: pl.DataFrame) -> Chart:
    cells = alt.Chart(rows).encode(
        alt.X("router:O", title="Switch, leaves on the left", axis=alt.Axis(labels=False, ticks=False)),
        alt.Y("port:O", title="Input port", axis=alt.Axis(values=[0, 3, 7])),
    )
    full = cells.mark_rect().encode(
        alt.Color("phits:Q", title="Bytes", scale=alt.Scale(scheme="inferno", domain=[0, MEMORY], reverse=True)),
        tooltip=["router", "port", "phits", "trees", "hops", "t"],
    )
    framed = cells.transform_filter("datum.marked").mark_rect(filled=False, stroke="#1f77b4", strokeWidth=1)
    chart = alt.layer(full, framed).properties(width=150, height=70)
    column = alt.Column("t:O", title="Time (µs)", sort="ascending")
    return chart.facet(column=column, row=alt.Row("mechanism:N", title=None), spacing=8)
