"""Head-of-line blocking and its cure: in one switch, in other networks, over time (claims F9 and F11)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from phit.base.lazily import lazily
from phit.document import Document
from phit.drawing.plots import Chart
from phit.drawing.timelapse import Row, Timelapse, holds, port_frames
from phit.studies.fbicm.paper import (
    MEMORY,
    PACKET,
    VERSIONS,
    Evidence,
    named,
    router,
    scenario,
    steady,
    study,
    topology,
)
from phit.studies.fbicm.setting import US, Network, Setting
from phit.studies.fbicm.transient import lines, over_time, recorded, single, spot
from phit.studies.kit.charts import Charts, finished, in_rows, rule, seeds_note
from phit.studies.kit.claim import Judgement, NotRunError
from phit.studies.kit.margin import between, exact
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import nominal

if TYPE_CHECKING:
    import altair as alt
else:
    alt = lazily("altair")

SWITCH = 64
"""Ports of the switch of claim F11."""

HOL_LIMIT = 2 - 2**0.5
"""Throughput limit of a large switch with one queue per input (Karol, Hluchyj and Morgan, 1987)."""


@study.figure(
    "limit",
    title="Head-of-line blocking in one switch",
    caption="One queue at each input of a switch of 64 ports, uniform traffic at full load (chapter 1).",
    table=steady,
)
def one_switch(setting: Setting, seeds: int | None) -> list[Case]:
    """One large switch whose inputs have one queue each."""
    run: Document = {
        "topology": {"kind": "single", "endpoints": SWITCH},
        "router": {"links": {"endpoint": {"vcs": 1, "buffer": MEMORY, "latency": 1}}},
        "traffic": {"load": 1.0, "packet_size": PACKET, "pattern": {"kind": "uniform", "include_self": True}},
        "measure": {"warmup": setting.warmup, "cycles": setting.cycles, "histogram": False, "order": True},
    }
    return [Case({"mechanism": "1Q", "seed": seed}, {**run, "seed": seed}) for seed in seeds_of(seeds, setting.seeds)]


@study.claim(
    "F11",
    figure="1",
    statement="A queue shared by congested and other flows limits a switch to about 58 %",
    paper="2 - sqrt(2) ± 0.01 on one switch of 64 ports",
)
def head_of_line_limit(evidence: Evidence) -> Judgement:
    """2 - sqrt(2), within 0.01."""
    accepted = evidence.curves("limit").accepted(mechanism="1Q")
    check = between(accepted, HOL_LIMIT - 0.01, HOL_LIMIT + 0.01)
    return Judgement(check, f"{nominal(accepted):.4f} with {SWITCH} ports")


@dataclass(frozen=True)
class Elsewhere:
    """A network that the report does not have."""

    name: str
    topology: Document
    endpoints: int
    schemes: tuple[str, ...]
    routing: Document = field(default_factory=lambda: {"kind": "table"})
    vcs: Document = field(default_factory=dict)
    """Virtual channels by class of link, where there is more than one."""


def _others(setting: Setting) -> list[Elsewhere]:
    """Networks with deterministic minimal routing, and a tree with adaptive ways up."""
    net = setting.networks[0]
    clos: Document = {"kind": "clos", "down": [8, 8], "up": [8]}
    dragonfly: Document = {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}
    adaptive: Document = {"kind": "clos", "allocation": "greedy"}
    isolating = ("1Q", "VOQsw", "FBICM")
    return [
        Elsewhere("folded Clos", clos, 64, isolating),
        Elsewhere("Dragonfly", dragonfly, 72, isolating, vcs={"local": 2, "endpoint": 1}),
        Elsewhere("tree, adaptive", topology(net), net.endpoints, ("1Q", "DBBM", "VOQsw"), adaptive),
        Elsewhere("tree, tables", topology(net), net.endpoints, ("1Q", "DBBM", "VOQsw", "FBICM")),
    ]


@study.figure(
    "elsewhere",
    title="Beyond the report",
    caption="A hot spot in a folded Clos network, a Dragonfly, and a tree with adaptive ways up. In the tree the "
    "hot flow reaches all roots: queues by output no longer isolate it, and queues by destination do.",
    table=over_time,
)
def elsewhere(setting: Setting, seeds: int | None) -> list[Case]:
    """A quarter of the endpoints, one in four, sends to the one in the middle for a while."""
    found = []
    for seed in seeds_of(seeds, setting.seeds):
        for of in _others(setting):
            target = of.endpoints // 2
            sources = [e for e in range(of.endpoints) if e % 4 == 3 and e != target][: of.endpoints // 4]
            traffic = spot(sources, [target], setting.scan_hot)
            for scheme in of.schemes:
                measure = recorded(setting, setting.scan_end)
                run = scenario(setting.networks[0], scheme, traffic, measure, seed) | {
                    "topology": of.topology,
                    "router": router(scheme, of.endpoints, of.vcs),
                    "routing": of.routing,
                }
                found.append(Case({"network": of.name, "mechanism": scheme, "seed": seed}, run))
    return found


@elsewhere.draw
def _elsewhere_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    begin, end = setting.scan_hot[0] / US, setting.scan_hot[1] / US
    domain = (0.0, setting.scan_end / US)
    legend = table["mechanism"].unique(maintain_order=True).to_list()
    panels = []
    for (name,), rows in table.group_by("network", maintain_order=True):
        throughput = lines(rows, domain=domain, title=name, width=330, height=200, legend=legend)
        panels.append(rule(rule(throughput, begin), end))
    seeds = seeds_note(table, batches=False)
    notes = (f"{seeds}; a quarter of the sources sends to one endpoint from {begin:g} to {end:g} µs",)
    return {"elsewhere": finished(in_rows(panels), "Isolation and adaptivity in other networks", notes)}


@study.claim(
    "F9",
    figure="3.2",
    statement="Packets of a flow are delivered in order",
    paper="none out of order in any FBICM run",
)
def in_order(evidence: Evidence) -> Judgement:
    """No packet out of order in any run of FBICM."""
    late, runs = 0, 0
    for figure in ("5.1", "5.2", "5.3", "5.4", "bursts", "versions", "thresholds", "elsewhere"):
        table = evidence.rows(figure)
        if table.is_empty():
            continue
        rows = table.filter(pl.col("mechanism").is_in(VERSIONS))
        labels = ("network", "mechanism", "load", "compression", "case", "detection", "stop")
        # Figures over time have the number in every bin.
        rows = rows.unique([label for label in labels if label in rows.columns])
        late += int(rows["out_of_order"].sum())
        runs += rows.height
    if not runs:
        raise NotRunError("no run of FBICM")
    return Judgement(exact(late == 0), f"{late} packets out of order in {runs} runs")


def frames(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row per input port, frame and scheme: see `phit.drawing.timelapse.port_frames`; `t` is in microseconds."""
    if labels.is_empty() or done.probes.is_empty():
        return pl.DataFrame()
    found = labels.join(done.probes.filter(pl.col("probe").is_in(["ports", "trees"])), on="point", how="inner")
    if found.is_empty():
        return pl.DataFrame()
    return port_frames(found, ["mechanism"]).with_columns(t=pl.col("cycle").cast(pl.Float64) / US)


@study.figure(
    "tree",
    title="A congestion tree over time",
    caption="Bytes in every input port while a congestion tree grows and drains, with one queue and with FBICM.",
    table=frames,
)
def tree(setting: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    """A congestion tree that grows and drains, with and without isolation."""
    net = setting.networks[0]
    probes = [{"kind": kind, "every": setting.frames} for kind in ("ports", "trees")]
    first, last = setting.moments[0], setting.moments[-1]
    measure = {"warmup": first, "cycles": last + 1 - first, "probes": probes}
    return [
        Case(
            {"network": net.name, "mechanism": scheme, "seed": 1},
            scenario(net, scheme, single(net, setting.hot), measure, 1),
        )
        for scheme in ("1Q", "FBICM")
    ]


STILLS = 6
"""Frames of the printed time-lapse."""


@tree.draw
def _tree_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    """Stills, and all frames one after another."""
    net = setting.networks[0]
    begin, end = setting.hot[0] / US, setting.hot[1] / US
    moments = [cycle / US for cycle in setting.moments]
    shown = table.filter(pl.col("t").is_in(moments)).with_columns(marked=holds(net.target))
    times = shown["t"].unique().sort().to_list()
    stills = shown.filter(pl.col("t").is_in([times[round(i * (len(times) - 1) / (STILLS - 1))] for i in range(STILLS)]))
    title = "A congestion tree grows and drains"
    where = f"{named(setting, net.name)}; single hot spot at endpoint {net.target} from {begin:g} to {end:g} µs"
    framed = f"the port holds a line for endpoint {net.target}"
    slow = setting.frames / US
    pace = f"a frame is {slow:g} µs until {begin + 10 * slow:g} µs, then {5 * slow:g} µs"
    lapse = Timelapse(
        title,
        (where, f"each cell is an input port of a switch, those from below in the lower row; {pace}"),
        {str(scheme): rows for (scheme,), rows in shown.group_by("mechanism", maintain_order=True)},
        rows=_levels(net),
        unit="µs",
        amount="bytes",
        capacity=MEMORY,
        busy=(begin, end),
        cause="hot spot",
        marks=framed,
        moments=moments,
    )
    notes = (where, f"each cell is an input port; framed: {framed}")
    return {"tree": finished(_facets(stills), title, notes), "tree_lapse": lapse}


MIDDLE = 3
"""Levels of a tree of which one is the middle."""


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
