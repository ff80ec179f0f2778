"""The paper's figures as charts."""

from collections.abc import Mapping

import altair as alt
import polars as pl

from phit.plots import COLOURS, SHAPES, Chart
from phit.studies.clos import bound, cases, tabling
from phit.studies.clos.setting import BUFFER, CONFIDENCE, HALF_WIDTH, HISTOGRAM_LOAD, RATIO_LOAD, SNAPSHOT_LOAD, Setting
from phit.studies.kit.charts import Look, beside, finished, over, panel, seeds_note

LOAD = "Offered load (flits/(node·cycle))"
LATENCY = "Mean packet latency (cycles)"
ACCEPTED = "Accepted load (flits/(node·cycle))"
LEVEL = f"{CONFIDENCE:.0%}".replace("%", " %")

NAMES = ("oblivious", "sequential", "sequential_r(2)", "greedy_r(2)", "greedy")
LOOK = Look(
    {name: COLOURS[index] for index, name in enumerate(NAMES)},
    {name: SHAPES[index] for index, name in enumerate(NAMES)},
)
"""The same colour and mark for an allocation in every figure."""


def _look(names: list[str]) -> Look:
    return Look(
        {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(names)},
        {name: SHAPES[index % len(SHAPES)] for index, name in enumerate(names)},
    )


def _network(setting: Setting) -> str:
    return f"folded Clos, {setting.endpoints:,} nodes, radix {setting.radix}"


def _notes(table: pl.DataFrame, network: str, *more: str) -> list[str]:
    return [f"{network}; {seeds_note(table, LEVEL)}{_precision(table)}", *more]


def _precision(table: pl.DataFrame) -> str:
    """How many of the mean latencies below saturation are as precise as they should be."""
    if not {"latency_mean_half", "saturated"} <= set(table.columns):
        return ""
    calm = table.filter(~pl.col("saturated")).select(share=pl.col("latency_mean_half") / pl.col("latency_mean"))
    widths = [width for width in calm["share"].to_list() if width is not None]
    within = sum(width <= HALF_WIDTH for width in widths)
    return f"; {within} of {len(widths)} points below saturation within {100 * HALF_WIDTH:g} %" if widths else ""


def _loads(table: pl.DataFrame, curve: str, look: Look, title: str = "") -> Chart:
    """Latency over accepted load."""
    latency = panel(table, curve, "load", "latency_mean", look, LOAD, LATENCY, clip=True, title=title, level=LEVEL)
    accepted = panel(table, curve, "load", "accepted_load", look, LOAD, ACCEPTED, diagonal=True, level=LEVEL)
    return over(latency, accepted)


GOES_ON = "▲ the curve goes on above; dashed: accepted = offered"


def ratio_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 2: the ratio of latencies over the number of stages."""
    names = ("simulation", "(x + 1)/(2x + 1)")
    measured = table.select("stages", ratio="ratio", ratio_half="ratio_half", curve=pl.lit(names[0]))
    formula = table.select("stages", ratio="formula", ratio_half=pl.lit(0.0), curve=pl.lit(names[1]))
    y_title = "Latency, adaptive / oblivious"
    chart = panel(
        pl.concat([measured, formula]), "curve", "stages", "ratio", _look(list(names)), "Stages", y_title, level=LEVEL
    )
    network = f"folded Clos, {setting.large:,} nodes, offered load {RATIO_LOAD:g}, infinite buffers"
    return {"2": finished(chart, "Figure 2: adaptive and oblivious latency", _notes(table, network))}


TITLES: Mapping[str, str] = {
    "a": "(a) wc-UR, infinite buffers",
    "b": "(b) wc-UR, 16 entries",
    "c": "(c) bit reverse",
    "d": "(d) bit complement",
}


def comparison_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 4: four panels."""
    found = {
        name: _loads(rows, "mechanism", LOOK, title)
        for name, title in TITLES.items()
        if (rows := table.filter(pl.col("panel") == name)).height
    }
    pairs = [
        beside(*(found[name] for name in pair if name in found)) for pair in ("ab", "cd") if set(pair) & set(found)
    ]
    chart = over(*pairs)
    return {"4": finished(chart, "Figure 4: adaptive and oblivious routing", _notes(table, _network(setting), GOES_ON))}


def histogram_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 5: the distribution of latencies."""
    shown = table.filter(pl.col("latency") <= (pl.col("latency_mean") + 4 * pl.col("latency_std")).max())
    rows = shown.with_columns(percent=100 * pl.col("share"), percent_half=pl.lit(0.0))
    marks = [
        f"{name}: mean {rows_['latency_mean'][0]:.1f}, standard deviation {rows_['latency_std'][0]:.1f} cycles"
        for name in NAMES
        if (rows_ := table.filter(pl.col("mechanism") == name)).height
    ]
    title = "Packet latency (cycles)"
    last = float(max(shown["latency"], default=1))
    chart = panel(
        rows,
        "mechanism",
        "latency",
        "percent",
        LOOK,
        title,
        "Packets (%)",
        dots=False,
        width=520,
        domain=(0.0, last),
        level=LEVEL,
    )
    notes = [f"{_network(setting)}, wc-UR, offered load {HISTOGRAM_LOAD:g}, infinite buffers", *marks]
    return {"5": finished(chart, "Figure 5: distribution of latencies", notes)}


def snapshot_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 6: the fullest buffer of every middle-stage router."""
    columns = [
        _bars(table.filter(pl.col("mechanism") == name), name)
        for name in cases.COMPARED
        if (table["mechanism"] == name).any()
    ]
    notes = [
        f"{_network(setting)}, wc-UR, offered load {SNAPSHOT_LOAD:g}, buffers of 16 entries",
        "bars: at the end of the measurement; marks: mean over the measured time",
    ]
    return {"6": finished(beside(*columns), "Figure 6: fullest buffer of the middle-stage routers", notes)}


def _bars(table: pl.DataFrame, name: str) -> Chart:
    axis_x = alt.X("router:O", title="Middle-stage router", axis=alt.Axis(labelOverlap=True, labelAngle=0))
    y_title = "Entries in the fullest buffer"
    axis_y = alt.Y("snapshot:Q", title=y_title, scale=alt.Scale(domain=[0, BUFFER]))
    tips = [alt.Tooltip("router:O"), alt.Tooltip("snapshot:Q"), alt.Tooltip("time_mean:Q", format=".3~g")]
    bars = alt.Chart(table).mark_bar(color=LOOK.colours[name]).encode(axis_x, axis_y, tooltip=tips)
    means = (
        alt.Chart(table)
        .mark_tick(color="#333", thickness=2)
        .encode(axis_x, alt.Y("time_mean:Q", title=y_title, scale=alt.Scale(domain=[0, BUFFER])), tooltip=tips)
    )
    title = alt.TitleParams(name, anchor="middle", fontSize=14)
    return alt.layer(bars, means).properties(width=400, height=220, title=title)


def deterministic_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 7a: half of the traffic is routed deterministically."""
    notes = _notes(
        table, f"{_network(setting)}, buffers of 16 entries", f"node i sends to i + {setting.radix}", GOES_ON
    )
    return {"7a": finished(_loads(table, "mechanism", LOOK), "Figure 7a: half of the traffic deterministic", notes)}


def bounds(setting: Setting) -> dict[str, float]:
    """The bounds of the network with faults, by what routing does."""
    half, dead = setting.half, cases.faults(setting)
    return {
        "adaptive": bound.adaptive(half, half, dead),
        "uniform": bound.oblivious(half, half, dead, around="uniform"),
        "next": bound.oblivious(half, half, dead, around="next"),
    }


def faults_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 7b: faulty links."""
    most = bounds(setting)
    notes = _notes(
        table,
        f"{_network(setting)}, {setting.half // 2} faulty links, buffers of 16 entries",
        f"first link full: adaptive at {most['adaptive']:.3f}, oblivious at {most['next']:.3f} (next link), "
        f"{most['uniform']:.3f} (drawn again)",
        GOES_ON,
    )
    return {"7b": finished(_loads(table, "mechanism", LOOK), "Figure 7b: faulty links", notes)}


def allocation_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 9: the four allocations."""
    titles = {"a": "(a) infinite buffers", "b": "(b) buffers of 16 entries"}
    columns = [
        _loads(rows, "mechanism", LOOK, title)
        for name, title in titles.items()
        if (rows := table.filter(pl.col("panel") == name)).height
    ]
    return {
        "9": finished(beside(*columns), "Figure 9: allocations under wc-UR", _notes(table, _network(setting), GOES_ON))
    }


def _accepted(stem: str, table: pl.DataFrame, column: str, words: str, title: str, network: str) -> dict[str, Chart]:
    values = [words.format(value) for value in table[column].unique().sort()]
    named = table.with_columns(curve=pl.format(words, pl.col(column)))
    chart = panel(named, "curve", "load", "accepted_load", _look(values), LOAD, ACCEPTED, diagonal=True, level=LEVEL)
    return {stem: finished(chart, title, _notes(table, network, "dashed: accepted = offered"))}


def radix_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 10a: throughput of greedy allocation by radix."""
    network = f"folded Clos, {setting.large:,} nodes, infinite buffers"
    return _accepted("10a", table, "radix", "radix {}", "Figure 10a: greedy allocation by radix", network)


def size_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 10b: throughput of greedy allocation by packet size."""
    title = "Figure 10b: greedy allocation by packet size"
    return _accepted("10b", table, "flits", "flits: {}", title, f"{_network(setting)}, infinite buffers")


def probability_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:  # noqa: ARG001
    """Figure 11: two or more heads in one cycle."""
    named = table.with_columns(curve=pl.format("radix {}, flits: {}", "radix", "flits"), probability_half=pl.lit(0.0))
    look = _look(named["curve"].unique(maintain_order=True).to_list())
    y_title = "Probability of two or more heads"
    chart = panel(named, "curve", "load", "probability", look, LOAD, y_title, dots=False, domain=(0.0, 1.0))
    return {"11": finished(chart, "Figure 11: two or more packets arrive in one cycle", ["closed form"])}


def sample_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 12: the number of samples."""
    line = table.filter(pl.col("mechanism") == "sequential")
    lowest = pl.concat([line.with_columns(samples=pl.lit(n, pl.Int64)) for n in (1, setting.half)])
    rows = pl.concat([table.filter(pl.col("mechanism") != "sequential"), lowest])
    look = _look(["sequential_r(n)", "greedy_r(n)", "sequential"])
    chart = panel(rows, "mechanism", "samples", "latency_mean", look, "Samples n", LATENCY, clip=True, level=LEVEL)
    network = f"{_network(setting)}, wc-UR, offered load {HISTOGRAM_LOAD:g}, infinite buffers"
    notes = _notes(table, network, "▲ the curve goes on above: saturated")
    return {"12": finished(chart, "Figure 12: number of samples", notes)}


def precision_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 14: latency near saturation by precision."""
    columns = []
    for letter, flits in zip("ab", setting.near, strict=False):
        rows = tabling.of_precision(table, flits)
        if rows.is_empty():
            continue
        plural = "s" * (flits > 1)
        title = f"({letter}) {flits} flit{plural}, offered load {float(rows['load'][0]):g}"
        columns.append(_precision_bars(rows, title))
    notes = _notes(table, f"{_network(setting)}, wc-UR, buffers of 16 entries", "sequential allocation, and oblivious")
    return {"14": finished(beside(*columns), "Figure 14: precision, near saturation", notes)} if columns else {}


def _precision_bars(rows: pl.DataFrame, title: str) -> Chart:
    words = (
        pl.when(pl.col("bits") < 0)
        .then(pl.lit("oblivious"))
        .otherwise(pl.format("{} bit{}", "bits", pl.when(pl.col("bits") == 1).then(pl.lit("")).otherwise(pl.lit("s"))))
    )
    half = pl.col("latency_mean_half").fill_null(0.0)
    named = rows.sort("bits").select(
        "latency_mean", name=words, low=pl.col("latency_mean") - half, high=pl.col("latency_mean") + half
    )
    axis_x = alt.X("name:N", title="Precision", sort=None, axis=alt.Axis(labelAngle=0))
    axis_y = alt.Y("latency_mean:Q", title=LATENCY)
    bars = alt.Chart(named).mark_bar(color=COLOURS[0]).encode(axis_x, axis_y, tooltip=["name", "latency_mean"])
    spans = alt.Chart(named).mark_rule(color="#333").encode(axis_x, alt.Y("low:Q", title=LATENCY), alt.Y2("high:Q"))
    return alt.layer(bars, spans).properties(
        width=330, height=240, title=alt.TitleParams(title, anchor="middle", fontSize=14)
    )


def _by(stem: str, table: pl.DataFrame, column: str, words: str, title: str, notes: list[str]) -> dict[str, Chart]:
    values = [words.format(value) for value in table[column].unique().sort()]
    named = table.with_columns(curve=pl.format(words, pl.col(column)))
    return {stem: finished(_loads(named, "curve", _look(values)), title, notes)}


def precision_faults_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 15: precision with faulty links."""
    notes = _notes(table, f"{_network(setting)}, {setting.half // 2} faulty links, buffers of 16 entries", GOES_ON)
    return _by("15", table, "bits", "{} bits", "Figure 15: precision with faulty links", notes)


def precomputation_figure(table: pl.DataFrame, setting: Setting) -> dict[str, Chart]:
    """Figure 16: decisions computed ahead."""
    network = f"{_network(setting)}, {setting.half // 2} faulty links, buffers of 16 entries"
    notes = _notes(table, network, "greedy_r(2), 2 bits, packets of 10 flits", GOES_ON)
    return _by("16", table, "precompute", "{} cycles ahead", "Figure 16: precomputation", notes)
