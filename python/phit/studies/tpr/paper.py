"""The study: its figures and tables, and what they consist of."""

from collections.abc import Callable
from functools import partial

import polars as pl

from phit.markdown import markdown_table, toml_line
from phit.plots import Chart
from phit.studies.kit.study import Paper, Study
from phit.studies.tpr import bounds, cases, drawing, tables
from phit.studies.tpr.claims import CLAIMS
from phit.studies.tpr.evidence import Evidence
from phit.studies.tpr.mechanisms import MECHANISMS, THRESHOLD
from phit.studies.tpr.readings import READINGS
from phit.studies.tpr.remarks import REMARKS
from phit.studies.tpr.setting import ADV, MIXES, UR, WINDOW, Setting, nlc, rlc, setting
from phit.studies.unported import Figure, adopt


def _loads(name: str, traffic: str, title: str, caption: str) -> Figure:
    heading = f"Figure {name}: {title}"
    draw: Callable[[pl.DataFrame, Setting], dict[str, Chart]] = partial(drawing.load_figure, name, heading)
    return Figure(name, title, caption, partial(cases.load_curves, traffic=traffic), tables.steady, draw)


def _no_chart(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:  # noqa: ARG001
    return {}


CURVES = (
    "Mean packet latency, accepted load and share of nonminimal packets against offered load, under the reading `text` "
    "(left) and the reading `fitted` (right)."
)

FIGURES = (
    _loads("2", UR, "Uniform traffic", CURVES),
    _loads("3", ADV, "Adversarial traffic", f"{CURVES} All traffic of router i goes to router i + 1."),
    *(
        _loads(str(4 + i), nlc(share), f"Node-level mix {nlc(share)}", f"{CURVES} Every packet draws UR or ADV.")
        for i, share in enumerate(MIXES)
    ),
    *(
        _loads(str(7 + i), rlc(share), f"Router-level mix {rlc(share)}", f"{CURVES} Every router sends UR or ADV.")
        for i, share in enumerate(MIXES)
    ),
    Figure(
        "I",
        "Table I: packets sent to one router",
        "Packets from router 0 to router 1 in 50 cycles under UGAL-L, mean over looks every "
        f"{cases.EVERY} cycles (`sent_to_next` in the table; claim T9).",
        cases.counters,
        tables.counters,
        _no_chart,
        is_table=True,
        text=tables.counters_text,
    ),
    Figure(
        "II",
        "Table II: through packets",
        "Through packets of a port in 50 cycles under UGAL-L, mean over all ports, routers and looks (`through`; T10).",
        cases.counters,
        tables.counters,
        _no_chart,
        is_table=True,
        text=tables.counters_text,
    ),
    Figure(
        "III",
        "Table III: the value of thr",
        "Two regions of table III go minimally below `thr`, which the paper names without a value. Latency of TPR with "
        "other values, where it matters most.",
        cases.scan,
        tables.steady,
        drawing.scan_figure,
        is_table=True,
    ),
    Figure(
        "window",
        "The window of the counters",
        "The paper's window is 128 cycles and may slide or tumble.",
        cases.windows,
        tables.steady,
        drawing.windows_figure,
    ),
    Figure(
        "choices",
        "What the paper leaves open",
        "One choice at a time that is not the text's, where it shows: one minimal candidate, credits that come back in "
        "a cycle, one injection queue for each endpoint, larger buffers, one virtual channel for each hop, another "
        "low_l.",
        cases.choices,
        tables.steady,
        _no_chart,
        text=tables.choices_text,
    ),
    Figure(
        "groups",
        "Beyond the paper: between groups",
        "A full Cascade under UR, ADV between groups, and their mix. TPR counts packets for each destination router or "
        "for each destination group as section III-A suggests.",
        cases.between_groups,
        tables.steady,
        drawing.groups_figure,
    ),
    Figure(
        "counters",
        "Beyond the paper: contention counters",
        "TPR and contention counters on the graph of one group, under virtual cut-through. They leave dimension "
        "order by nonminimal hops within a row or column.",
        cases.side_by_side,
        tables.steady,
        drawing.side_by_side_figure,
    ),
)


def describe(of: Setting) -> str:
    """The network in words."""
    return f"Cascade group of {of.rows} x {of.columns} routers, {of.endpoints:,} endpoints"


def options(of: Setting) -> str:
    """What is run, in Markdown."""
    mechanisms = markdown_table(
        ["mechanism", "`[routing]`"], [[name, toml_line(rule)] for name, rule in MECHANISMS.items()]
    )
    limits = markdown_table(
        ["bound of the channel loads", "packets/(endpoint·cycle)"],
        [
            ["MIN, UR", f"{bounds.minimal_uniform(of):.3f}"],
            ["MIN, ADV", f"{bounds.minimal_adversarial(of):.4f}"],
            ["VLB, UR and ADV", f"{bounds.valiant(of):.3f}"],
        ],
    )
    router = (
        f"The router is BookSim's with a crossbar of twice the frequency: packets of one flit, links of 10 cycles, "
        f"4 virtual channels of 32 flits. {of.warmup:,} cycles of warm-up, {of.cycles:,} measured. Tables I and II "
        f"count over {WINDOW} cycles, TPR over 128."
    )
    choices = (
        "What the paper leaves open: the virtual channels that a hop may take (`topology.channels = "
        f'"{cases.CHANNELS}"`: all above the last hop\'s that leave enough for the hops to come), the offset of UGAL-L '
        f"(0), `thr` ({THRESHOLD:g}, from the scan of table III), and whether the window slides (it does)."
    )
    return f"{mechanisms}\n\n{router}\n\n{choices}\n\n{limits}"


def size(of: Setting) -> str:
    """How large the network is."""
    return f"{of.endpoints:,} endpoints"


study = Study[Setting, Evidence](
    name="tpr",
    title="Traffic-pattern-based adaptive routing",
    paper=Paper(
        ("P. Faizian", "M. S. Rahman", "M. A. Mollah", "X. Yuan", "S. Pakin", "M. Lang"),
        "Traffic pattern-based adaptive routing for intra-group communication in Dragonfly networks",
        "HOTI 2016",
    ),
    setting=setting,
    network=cases.network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
    readings=READINGS,
)
adopt(study, FIGURES, CLAIMS, REMARKS)
