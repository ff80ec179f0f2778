"""Beyond the paper: TPR between the groups of a full Cascade, and beside contention counters on one group."""

from collections.abc import Mapping

import polars as pl

from phit.plots import Chart
from phit.scenario import Document
from phit.studies.kit.charts import LOAD_MARKS, Charts, Look, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.tpr.paper import ADAPTIVE, LOOK, UNIT, describe, router, routing, scenario, study
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
"""Of the full Cascade; 256 phits per virtual channel hold a round trip."""


@study.figure(
    "groups",
    title="Beyond the paper: between groups",
    caption="A full Cascade under UR, ADV between groups, and their mix. TPR counts packets for each destination "
    "router or for each destination group as section III-A suggests.",
)
def between_groups(setting: Setting, seeds: int | None) -> list[Case]:
    """A full Cascade, with TPR's counters for destination routers and for destination groups."""
    links = router(vcs=VCS)
    links["links"]["global"] = GLOBAL_LINKS
    elsewhere = {"stop": "elsewhere"}
    rules = {
        "MIN": routing("MIN"),
        **{name: routing(name, **elsewhere) for name in ("VLB", *ADAPTIVE)},
        "TPR by group": routing("TPR", **elsewhere, destinations="group"),
    }
    topology = {
        "kind": "cascade",
        "groups": setting.groups,
        "rows": setting.group_rows,
        "columns": setting.group_columns,
        "global_ports": setting.group_global_ports,
        "endpoints_per_router": setting.group_endpoints,
    }
    return [
        Case(
            {"mechanism": name, "pattern": traffic, "load": load, "seed": seed},
            {**scenario(setting, rule, traffic, load, seed), "topology": topology, "router": links},
        )
        for traffic, loads in setting.group_loads.items()
        for name, rule in rules.items()
        for load in loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


@between_groups.draw
def _group_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    size = setting.groups * setting.group_rows * setting.group_columns * setting.group_endpoints
    shape = f"{setting.groups} groups of {setting.group_rows} x {setting.group_columns} routers, {size:,} endpoints"
    notes = (f"Cascade of {shape}; {seeds_note(table)}", LOAD_MARKS)
    return {"groups": finished(_columns(table, LOOK), "TPR between the groups of a Cascade", notes)}


THRESHOLDS = (3, 6, 10)
"""Of the contention counters beside TPR."""


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
