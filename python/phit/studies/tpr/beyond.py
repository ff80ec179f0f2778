"""Beyond the paper: TPR between the groups of a full Cascade, and beside contention counters on one group."""

import math
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from phit.document import Document
from phit.drawing.plots import Chart
from phit.studies.kit.charts import LOAD_MARKS, Charts, Look, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.claim import NotRunError, SaturatedError
from phit.studies.kit.margin import above
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.uncertain import Value, Z, error, nominal
from phit.studies.tpr.paper import ADAPTIVE, LOOK, UNIT, Curves, describe, router, routing, scenario, study
from phit.studies.tpr.setting import ADV, UR, Setting, nlc


def _columns(table: pl.DataFrame, look: Look) -> Chart:
    """A column for each pattern."""
    patterns = sorted(table["pattern"].unique(), key=lambda name: (name != UR, name != ADV, name))
    return beside(
        *(
            latency_and_load(table.filter(pl.col("pattern") == name), "mechanism", look, UNIT, title=name, width=320)
            for name in patterns
        )
    )


VCS = 8
"""Virtual channels of local links in the full Cascade: two for each visit of the two outer groups, four in between."""

GLOBAL_LINKS: Document = {"latency": 100, "vcs": 2, "buffer": 256}
"""Global links of the full Cascade; 256 phits per virtual channel cover a round trip."""


BY_GROUP, BY_LINKS = "TPR by group", "TPR by links"


def minimal_share(setting: Setting) -> float:
    """The share of each router's packets that the links between two groups carry, in phits per cycle."""
    routers = setting.group_rows * setting.group_columns
    return (routers * setting.group_global_ports // (setting.groups - 1)) / routers


@study.figure(
    "groups",
    title="Beyond the paper: between groups",
    caption="A full Cascade under UR, ADV between groups, and their mix. TPR counts packets for each destination "
    f"router, or for each destination group as section III-A suggests (`{BY_GROUP}`). The paper's thresholds are those "
    f"of 18 endpoints and one link between two routers; `{BY_LINKS}` takes local traffic to a group for adversarial "
    "above what the links between the two groups carry of a router's packets, and for benign below half of it.",
)
def between_groups(setting: Setting, seeds: int | None) -> list[Case]:
    """A full Cascade, with TPR's counters for destination routers and for destination groups."""
    links = router(vcs=VCS)
    links["links"]["global"] = GLOBAL_LINKS
    elsewhere = {"stop": "elsewhere"}
    share = minimal_share(setting)
    rules = {
        "MIN": routing("MIN"),
        **{name: routing(name, **elsewhere) for name in ("VLB", *ADAPTIVE)},
        BY_GROUP: routing("TPR", **elsewhere, destinations="group"),
        BY_LINKS: routing("TPR", **elsewhere, destinations="group", local_low=share / 2, local_high=share),
    }
    topology = {
        "kind": "cascade",
        "groups": setting.groups,
        "rows": setting.group_rows,
        "columns": setting.group_columns,
        "global_ports": setting.group_global_ports,
        "endpoints_per_router": setting.group_endpoints,
    }
    # Links of 100 cycles take longer to fill than links of one group.
    long = replace(setting, warmup=setting.group_warmup, cycles=setting.group_cycles)
    return [
        Case(
            {"mechanism": name, "pattern": traffic, "load": load, "seed": seed},
            {**scenario(long, rule, traffic, load, seed), "topology": topology, "router": links},
        )
        for traffic, loads in setting.group_loads.items()
        for name, rule in rules.items()
        for load in loads
        for seed in seeds_of(seeds, setting.group_seeds)
    ]


@between_groups.draw
def _group_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    size = setting.groups * setting.group_rows * setting.group_columns * setting.group_endpoints
    shape = f"{setting.groups} groups of {setting.group_rows} x {setting.group_columns} routers, {size:,} endpoints"
    cycles = f"{setting.group_warmup:,} cycles of warm-up, {setting.group_cycles:,} measured"
    notes = (f"Cascade of {shape}; {cycles}; {seeds_note(table)}", LOAD_MARKS)
    return {"groups": finished(_columns(table, LOOK), "TPR between the groups of a Cascade", notes)}


@between_groups.text
def group_finding(table: pl.DataFrame, setting: Setting) -> str:
    """The results in sentences, with the table's numbers and their 95 % intervals."""
    curves = Curves(table, "figure groups")
    try:
        loads = setting.group_loads[UR]
        low, high = (_latency_under(curves, UR, load) for load in (loads[0], loads[-1]))
        return f"{_accepted_under(curves, ADV, setting.group_loads[ADV][-1])} {low} {high}"
    except (NotRunError, SaturatedError):
        return ""


def _accepted_under(curves: Curves, traffic: str, load: float) -> str:
    """Accepted loads where some mechanisms are saturated."""
    found = {
        name: curves.accepted(mechanism=name, pattern=traffic, load=load)
        for name in (BY_LINKS, BY_GROUP, "TPR", "UGAL-L", "VLB")
    }
    words = {name: f"{nominal(value):.3f}{_half(value)}" for name, value in found.items()}
    gain = above(found[BY_LINKS], found["UGAL-L"], strict=True)
    order = "more than" if gain.holds and gain.decided else "less than" if gain.decided else "about as much as"
    return (
        f"**{traffic} between groups at {load:g}: with thresholds by links TPR accepts {order} UGAL-L**: "
        f"{words[BY_LINKS]} against {words['UGAL-L']}; with the paper's thresholds {words[BY_GROUP]}, counting by "
        f"router {words['TPR']}; VLB {words['VLB']}."
    )


def _latency_under(curves: Curves, traffic: str, load: float) -> str:
    """Latencies against MIN's."""
    least = curves.latency(mechanism="MIN", pattern=traffic, load=load)
    parts = []
    for name in (BY_LINKS, BY_GROUP, "UGAL-L"):
        try:
            ratio = 100 * (curves.latency(mechanism=name, pattern=traffic, load=load) / least - 1)
            parts.append(f"{name} {nominal(ratio):+.1f}{_half(ratio, '{:.1f}')} %")
        except SaturatedError:
            parts.append(f"{name} saturated")
    return f"Latency against MIN's under {traffic} at {load:g}: {', '.join(parts)}."


def _half(value: Value, pattern: str = "{:.3f}") -> str:
    """Half the width of a 95 % interval, if it is known."""
    half = Z * error(value)
    return "" if math.isnan(half) else f" ± {pattern.format(half)}"


THRESHOLDS = (3, 6, 10)
"""Thresholds of the contention counters beside TPR."""


@study.figure(
    "counters",
    title="Beyond the paper: contention counters",
    caption="TPR and contention counters on the graph of one group, under virtual cut-through. They leave dimension "
    "order by nonminimal hops within a row or column.",
)
def side_by_side(setting: Setting, seeds: int | None) -> list[Case]:
    """TPR and contention counters on the graph of one group.

    Contention counters leave dimension order, which a HyperX of the same routers and links has.
    """
    graph = {
        "kind": "hyperx",
        "dims": [setting.columns, setting.rows],
        "parallel": [1, setting.column_links],
        "endpoints_per_router": setting.endpoints_per_router,
    }
    counting = {
        f"counters, th = {th}": {"kind": "contention_grid", "threshold": th, "alternatives": "nonminimal"}
        for th in THRESHOLDS
    }
    variants: list[tuple[str, Document, Mapping[str, Document]]] = [
        *((name, rule, {"topology": graph}) for name, rule in counting.items()),
        ("TPR", routing("TPR"), {}),
    ]

    def of(name: str, rule: Document, changes: Mapping[str, Document], traffic: str, load: float, seed: int) -> Case:
        document = scenario(setting, rule, traffic, load, seed)
        document["router"] |= {"switching": "virtual_cut_through", "vc_allocation": "with_switch"}
        return Case({"mechanism": name, "pattern": traffic, "load": load, "seed": seed}, {**document, **changes})

    return [
        of(*variant, traffic, load, seed)
        for traffic in (UR, ADV, nlc(50))
        for load in setting.loads[traffic]
        for seed in seeds_of(seeds, setting.seeds)
        for variant in variants
    ]


@side_by_side.draw
def _side_by_side_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    look = Look.of(table["mechanism"].unique().sort().to_list())
    notes = (f"{describe(setting)}; {seeds_note(table)}", LOAD_MARKS)
    return {"counters": finished(_columns(table, look), "TPR and contention counters on one group", notes)}
