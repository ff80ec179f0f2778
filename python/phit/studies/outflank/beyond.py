"""Beyond the paper: other parameters, other networks and recorded traffic."""

from functools import cache
from itertools import product

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.peers.outflank_author import PATTERNS, PHITS_PER_BYTE
from phit.reading import traces
from phit.studies.kit.charts import Charts, finished, in_rows
from phit.studies.kit.plan import Case, Labels, seeds_of
from phit.studies.kit.study import Text
from phit.studies.outflank.paper import (
    AUTHOR,
    HEADINGS,
    LIFETIME,
    NAMES,
    PAPER,
    PER_MICROSECOND,
    ROUTINGS,
    author,
    by_routing,
    cell,
    lifetimes,
    loads_of,
    message_cycles,
    steady,
    study,
)
from phit.studies.outflank.setting import Setting


def _columns(*names: str) -> Text[Setting]:
    """A function that shows these columns of a table, row by row."""

    def show(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
        # Only OFR has derouted packets of several kinds.
        kinds = [pl.when(pl.col("routing") == "OFR").then(pl.col(name)).alias(name) for name in ("oidn", "widn")]
        rows = table.with_columns(kinds).select(names).iter_rows(named=True)
        cells = ([cell(name, value) for name, value in row.items()] for row in rows)
        return markdown_table([HEADINGS.get(name, name) for name in names], cells)

    return show


VARIANTS: dict[str, Document] = {
    **{f"eta {eta:g}": {"eta": eta} for eta in (0.5, 1.0, 2.0, 4.0)},
    **{f"Delta {delta}": {"delta": delta} for delta in (1, 3)},
    "Delta d/4": {"delta_share": 0.25},
    "Delta d/2": {"delta_share": 0.5},
}
"""Other parameters of OFR; the paper has eta 2 and Delta 2."""

SENSITIVITY_LOADS = (0.4, 0.7)
"""Well below gamma* of OFR under uniform traffic at k = 8, and at it."""


@study.figure(
    "sensitivity",
    title="Sensitivity to eta and Delta",
    caption="Uniform traffic in the author's node, well below gamma* and at it, with other weights of the dilation, "
    "other Deltas, and a Delta that grows with the distance (section 3.1.2), by the author's rules and by those of the "
    "text. By the author's, eta counts only while every queue of the source holds a packet.",
    table=lifetimes,
    text=_columns("rules", "variant", "load", "lifetime_us", "hops", "derouted", "oidn", "widn"),
)
def sensitivity(setting: Setting, seeds: int | None) -> list[Case]:
    """OFR with other parameters, under uniform traffic, whose packets have all distances."""
    found = []
    for rules, (variant, change) in product((AUTHOR, PAPER), VARIANTS.items()):
        for gamma, seed in product(SENSITIVITY_LOADS, seeds_of(seeds, setting.seeds)):
            case = author(setting, "Uniform", "OFR", setting.sides[0], gamma, seed)
            labels: Labels = {**case.labels, "rules": rules, "variant": variant}
            found.append(Case(labels, {**case.scenario, "routing": {**ROUTINGS[rules]["OFR"], **change}}))
    return found


NETWORKS: dict[str, Document] = {
    "mesh 8 x 8 x 8": {"kind": "mesh", "dims": [8, 8, 8]},
    "torus 16 x 16": {"kind": "torus", "dims": [16, 16]},
    "torus 4 x 4 x 4 x 4 x 2": {"kind": "torus", "dims": [4, 4, 4, 4, 2]},
    "torus 4 x 4 x 4 x 2 x 3 x 2": {"kind": "torus", "dims": [4, 4, 4, 2, 3, 2]},
}
"""Networks beyond the paper. The tori of five and six dimensions have the shapes of BlueGene/Q and the K computer."""

MESH = NETWORKS["mesh 8 x 8 x 8"]

LOADS = (0.2, 0.4, 0.6, 0.8)


def _cut_through(
    setting: Setting, topology: Document, pattern: Document, routing: Document, gamma: float, seed: int
) -> Document:
    """A steady state under virtual cut-through; `routing` is the whole table."""
    period = message_cycles(topology["dims"], gamma, setting.packets, PAPER)
    if topology["kind"] == "mesh":
        # The bisection carries half as much, so that messages are twice as far apart.
        period *= 2
    return steady(
        topology,
        pattern,
        routing,
        gamma,
        warmup=round(setting.settling * period),
        cycles=round(setting.measured * period),
        seed=seed,
        packets=setting.packets,
        switching="virtual_cut_through",
    )


def _routing(topology: Document, name: str) -> Document:
    """The rules of the text; a mesh has no links that wrap around."""
    rule = ROUTINGS[PAPER][name]
    return {**rule, "idns": "outflank"} if (topology["kind"], name) == ("mesh", "OFR") else rule


@study.figure(
    "beyond",
    title="Other networks",
    caption="Meshes, and tori of two, five and six dimensions, under virtual cut-through with credits and uniform "
    "traffic. Packets that go the other half of a ring, or by the other of two parallel links, count as derouted, as "
    "the author counts them, though their way is no longer: hops tell how much longer ways are.",
    table=lifetimes,
    text=_columns("network", "routing", "load", "lifetime_us", "hops", "derouted", "oidn", "widn", "delivered"),
)
def networks(setting: Setting, seeds: int | None) -> list[Case]:
    """Every routing on every network that it is made for."""
    found = []
    for (name, topology), routing in product(NETWORKS.items(), NAMES):
        if (topology["kind"], routing) == ("mesh", "POR"):
            continue
        for gamma, seed in product(LOADS, seeds_of(seeds, setting.seeds)):
            labels: Labels = {"reading": PAPER, "network": name, "routing": routing, "load": gamma, "seed": seed}
            rule = _routing(topology, routing)
            found.append(Case(labels, _cut_through(setting, topology, {"kind": "uniform"}, rule, gamma, seed)))
    return found


@networks.draw
def _networks_charts(table: pl.DataFrame, setting: Setting) -> Charts:  # noqa: ARG001
    domain = loads_of(table)
    panels = []
    for name in table["network"].unique(maintain_order=True):
        rows = table.filter(pl.col("network") == name)
        top = min(3 * float(min(rows["lifetime_us"])), 1.15 * float(max(rows["lifetime_us"])))
        chart = by_routing(rows, "lifetime_us", LIFETIME, clip=True, top=top, title=name, domain=domain, step=None)
        panels.append(chart)
    notes = ("uniform traffic, virtual cut-through with credits; ▲ goes on above", "equal curves hide one another")
    return {"beyond": finished(in_rows(panels), "Other networks: mean packet lifetime", notes)}


MESH_ETAS = (2.0, 0.5, 0.1)
"""The paper's weight of the dilation, and smaller ones."""

MESH_PATTERNS = ("Uniform", "3D Transposition")

MESH_LOADS = (0.4, 0.8)


@study.figure(
    "mesh",
    title="OutFlank on a mesh",
    caption="On a mesh of 8 x 8 x 8 OFR with the paper's eta deroutes next to nothing, for the reason above. A smaller "
    "eta deroutes, which costs throughput under uniform traffic and gains it under the 3D transposition.",
    table=lifetimes,
    text=_columns("pattern", "load", "variant", "lifetime_us", "hops", "derouted", "delivered"),
)
def mesh(setting: Setting, seeds: int | None) -> list[Case]:
    """Whether a smaller weight of the dilation makes OutFlank's intermediate destinations of use on a mesh."""
    rules = {
        "ABR": _routing(MESH, "ABR"),
        **{f"OFR, eta {eta:g}": {**_routing(MESH, "OFR"), "eta": eta} for eta in MESH_ETAS},
    }
    return [
        Case(
            {"reading": PAPER, "pattern": pattern, "load": gamma, "variant": name, "routing": name[:3], "seed": seed},
            _cut_through(setting, MESH, PATTERNS[pattern], rule, gamma, seed),
        )
        for pattern in MESH_PATTERNS
        for gamma in MESH_LOADS
        for name, rule in rules.items()
        for seed in seeds_of(seeds, setting.seeds)
    ]


COMPRESSIONS = (40, 80, 160)
"""Factors by which the times of the trace are divided, which raises the load."""

TRACE_SECONDS = 0.04
"""Seconds of the trace at the highest compression.

At a lower compression, proportionally less of it is sent in the same time.
"""


@cache
def _messages(seed: int, endpoints: int, compression: int) -> list[list[int]]:
    """Block I/O of as many hosts as disks, in cycles and phits of the author's node."""
    seconds = TRACE_SECONDS * compression / COMPRESSIONS[-1]
    requests = traces.bursty(seed=seed, hosts=endpoints // 2, disks=endpoints // 2, seconds=seconds)
    per_nanosecond = PER_MICROSECOND[AUTHOR] / 1000
    timed = [
        [round(time * per_nanosecond / compression), source, to, size * PHITS_PER_BYTE]
        for time, source, to, size in traces.block_io_messages(requests, endpoints)
    ]
    return sorted(timed, key=lambda message: message[0])


@study.figure(
    "recorded",
    title="Recorded traffic",
    caption="Block I/O of as many hosts as disks, bursty and with popular disks, from the generator of traces. It "
    "runs in the author's node until everything is delivered, with times divided by the compression.",
    table=lifetimes,
    text=_columns("compression", "routing", "lifetime_us", "network_us", "hops", "derouted"),
)
def recorded(setting: Setting, seeds: int | None) -> list[Case]:
    """Bursty block I/O in the author's node: the paper's future work."""
    k = setting.sides[0]
    cycles = round(TRACE_SECONDS / COMPRESSIONS[-1] * 1e6 * PER_MICROSECOND[AUTHOR]) + 1
    found = []
    for compression, routing, seed in product(COMPRESSIONS, NAMES, seeds_of(seeds, setting.seeds)):
        # One of the author's runs, whose traffic is replaced.
        scenario = author(setting, "Uniform", routing, k, 0.1, seed).scenario
        traffic = {
            "load": 0.0,
            "packet_size": scenario["traffic"]["packet_size"],
            "trace": _messages(seed, k**3, compression),
        }
        measure = {**scenario["measure"], "cycles": cycles}
        labels: Labels = {"reading": AUTHOR, "compression": compression, "routing": routing, "seed": seed}
        found.append(Case(labels, {**scenario, "traffic": traffic, "measure": measure}))
    return found
