"""The paper: its network, its router, its allocations, and what all its figures share."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import wraps
from typing import TYPE_CHECKING, Any

import polars as pl

from phit.base.lazily import lazily
from phit.document import Document
from phit.store.quantities import SATURATED_BELOW
from phit.studies.clos import bound
from phit.studies.clos.setting import BUFFER, CONFIDENCE, HALF_WIDTH, LONG, NEAR, SETTLING, Setting, levels, setting
from phit.studies.kit import tables
from phit.studies.kit.bounds import bound_of
from phit.studies.kit.charts import Charts, Look, seeds_note
from phit.studies.kit.claim import NotRunError
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.plan import Case, Done, Labels, seeds_of
from phit.studies.kit.study import READING, Draw, Paper, Reading, Study
from phit.studies.kit.uncertain import Value, Z, in_steps

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = lazily("scipy.stats")


class Evidence(AnyEvidence[Setting]):
    """The evidence for the rules of the claims."""

    def saturation_load(self, figure: str, **where: Any) -> Value:
        """The highest offered load of a curve below its first saturated one.

        The error covers the range between the two loads.
        """
        curves = self.curves(figure)
        calm = 0.0
        for load in curves.loads(**where):
            if curves.saturated(**where, load=load):
                if not calm:
                    raise NotRunError(f"figure {figure}: saturated at its lowest load")
                return in_steps(calm, load - calm, curves.source("saturated", **where, load=load))
            calm = load
        return in_steps(calm, 0.0, curves.source("saturated", **where, load=calm))


INFINITE = "infinite"
"""Buffers that hold any number of flits."""

SPEEDUP = 4
"""Flits that an output takes in a cycle, each from another input. With 4 and FIFO inputs a switch of many ports accepts
0.996 of the full load under uniform traffic, with 3 no more than 0.976."""

CREDIT_DELAY = 2
"""Cycles from a flit's leaving a buffer to the use of its credit. The paper does not give it; 16 entries cover it."""

WORST = "worst_case_uniform"
"""The paper's wc-UR: uniform traffic that all goes through the routers at the top."""

ALGORITHMS: Mapping[str, Document] = {
    "oblivious": {"allocation": "oblivious"},
    "sequential": {"allocation": "sequential"},
    "greedy": {"allocation": "greedy"},
    "sequential_r(2)": {"allocation": "sequential_r", "samples": 2},
    "greedy_r(2)": {"allocation": "greedy_r", "samples": 2},
}
"""Keys of `[routing]` besides the kind, by the paper's names."""

OBLIVIOUS = "oblivious"
ADAPTIVE = "sequential"
COMPARED = (OBLIVIOUS, ADAPTIVE)
"""The mechanisms that section 3 compares: ideal adaptive routing is the sequential allocation."""

FULL = 0.98
"""Offered load at which section 3 compares throughputs."""


def router(buffer: int | str, flits: int) -> Document:
    """An input-queued router of one cycle and one channel, whose crossbar does not limit the network (section 3.2).

    If buffers hold any number of packets, whole packets are switched, so that an output takes several at once. Two long
    packets do not fit into 16 entries, so they are switched flit by flit.
    """
    whole = flits == 1 or buffer == INFINITE
    return {
        "latency": 1,
        "clock": "crossbar",
        "speedup": SPEEDUP,
        "inputs": "link",
        "cut_through": "input",
        "switching": "virtual_cut_through" if whole else "wormhole",
        "credit_delay": CREDIT_DELAY,
        "links": {
            "default": {"latency": 0, "vcs": 1, "buffer": buffer},
            "endpoint": {"latency": 0, "vcs": 1, "buffer": INFINITE},
        },
    }


def topology(endpoints: int, radix: int) -> Document:
    """A folded Clos network."""
    down, up = levels(endpoints, radix)
    return {"kind": "clos", "down": down, "up": up}


def network(setting: Setting) -> Document:
    """The part of the scenarios that most runs share."""
    return {"topology": topology(setting.endpoints, setting.radix)}


def scenario(
    setting: Setting,
    algorithm: str,
    load: float,
    seed: int,
    *,
    buffer: int | str = INFINITE,
    pattern: str | Document = WORST,
    flits: int = 1,
    network: Document | None = None,
    measure: Document | None = None,
    **routing: Any,
) -> Document:
    """One run; further arguments are keys of `[routing]`."""
    return {
        "seed": seed,
        "topology": network or topology(setting.endpoints, setting.radix),
        "router": router(buffer, flits),
        "routing": {"kind": "clos", "decide": "cycle", **ALGORITHMS[algorithm], **routing},
        "traffic": {"pattern": pattern, "process": "bernoulli", "load": load, "packet_size": flits},
        "measure": {
            "warmup": setting.warmup,
            "cycles": setting.cycles,
            "count": "generated",
            "confidence": CONFIDENCE,
            "until": {"half_width": HALF_WIDTH, "confidence": CONFIDENCE, "max_cycles": setting.most},
            "max_drain": setting.cycles,
            **(measure or {}),
        },
    }


SLOW_CREDITS = 6
"""Cycles from a flit's leaving a buffer to the use of its credit under `FITTED`."""

INPUT = Reading(
    "input",
    "The credit of a flit is sent when the flit leaves the input buffer, as textbooks and BookSim have it "
    '(`router.credit_release = "input"`), and can be used two cycles later.',
)

OUTPUT_CREDITS = 4
"""Cycles from a flit's leaving a router to the use of its credit under `OUTPUT`."""

OUTPUT = Reading(
    "output",
    "The credit of a flit is sent when the flit leaves the router: it keeps its entry until the link takes it "
    f'(`router.credit_release = "output"`), and can be used {OUTPUT_CREDITS} cycles later. The queues of the outputs '
    "are then a part of the input buffers, as in a router that has no other buffers. Routing then also sees the "
    "flits that wait for outputs in the next router. The time is a fit to figure 6 (K7).",
)

FITTED = Reading(
    "fitted",
    "This reading gives most of the paper's numbers. It was found by varying the choices that the text leaves open. "
    f"It differs from `input` in two settings:\n\n* Credits can be used after {SLOW_CREDITS} cycles "
    "(`router.credit_delay`). The text says that 16 entries cover the latency of credits, and nothing else about "
    "it. With 6 cycles the fullest buffers are about as full as in figure 6 (K7). With 5 cycles the fullest buffers "
    "of adaptive routing hold 1.7 entries, and with 2 they hold 1.1.\n"
    "* A packet keeps the output that it is given when it comes to the front of its queue (`redecide = false`). "
    "Outputs computed two cycles ahead then cost latency as in figure 16 (K20); if heads that could not be sent choose "
    "again they cost nothing. Section 4.2 has heads choose again where buffers are full: this is a fit, not a reading "
    "of that sentence.",
)

READINGS = (INPUT, OUTPUT, FITTED)
"""When an entry of a buffer is free again, which the paper does not say, and the best fit."""


def under(reading: Reading, document: Document) -> Document:
    """The run as `reading` has it.

    Where buffers hold any number of flits and routing does not look at them, it is the same run: one that is made once.
    """
    rule = document["routing"]
    blind = rule["allocation"] == OBLIVIOUS
    unbounded = document["router"]["links"]["default"]["buffer"] == INFINITE
    if reading is INPUT or (blind and unbounded):
        return document
    found = deepcopy(document)
    if reading is OUTPUT:
        found["router"]["credit_release"] = "output"
        found["router"]["credit_delay"] = OUTPUT_CREDITS
        return found
    found["router"]["credit_delay"] = SLOW_CREDITS
    if not blind:
        found["routing"]["redecide"] = False
    return found


def runs(
    setting: Setting,
    seeds: int | None,
    names: Iterable[str],
    loads: Iterable[float],
    labels: Labels,
    *,
    own: int | None = None,
    **options: Any,
) -> list[Case]:
    """The runs of a curve for each reading and allocation, with further labels.

    `options` are options of `scenario`. `own` is the number of seeds, by default the setting's.
    """
    return [
        Case(
            {READING: reading.name, "mechanism": name, **labels, "load": load, "seed": seed},
            under(reading, scenario(setting, name, load, seed, **options)),
        )
        for reading in READINGS
        for name in names
        for load in loads
        for seed in seeds_of(seeds, own or setting.seeds)
    ]


def by_reading(draw: Draw[Setting]) -> Draw[Setting]:
    """Draws a figure once for each reading; the names of charts after the first name their reading."""

    @wraps(draw)
    def drawn(table: pl.DataFrame, setting: Setting) -> Charts:
        found: Charts = {}
        for reading in READINGS:
            rows = table.filter(pl.col(READING) == reading.name)
            charts = draw(rows, setting) if rows.height else {}
            found |= {f"{stem}-{reading.name}" if reading is not INPUT else stem: charts[stem] for stem in charts}
        return found

    return drawn


def faults(setting: Setting) -> list[tuple[int, int]]:
    """Half as many faulty links as a router has ports down: pairs of a first-level router and a middle-stage one.

    Half of them are links of the first router of the middle stage (R32), half of the second (R33).
    """
    count = setting.half // 2
    return [(leaf, 0 if leaf < count // 2 else 1) for leaf in range(count)]


def faulty(setting: Setting) -> dict[str, Any]:
    """The options of `scenario` for the network with these links faulty."""
    links = [[leaf, setting.half + middle] for leaf, middle in faults(setting)]
    network = {**topology(setting.endpoints, setting.radix), "faults": {"links": links}}
    return {"network": network, "around_faults": "next"}


def most(network: Document) -> float:
    """The load that no routing of wc-UR can exceed on a network, in phits/(endpoint·cycle)."""
    return float(bound_of(network, WORST, minimal=False).load)


def bounds(setting: Setting) -> dict[str, float]:
    """The loads at which the first link of the network with faults is full, by what routing does.

    `adaptive` divides traffic as well as can be: no routing carries more (`phit bound`). Oblivious routing draws again
    where a link is of no use (`uniform`) or takes the `next`.
    """
    half, dead = setting.half, faults(setting)
    return {
        "adaptive": most(faulty(setting)["network"]),
        "uniform": bound.oblivious(half, half, dead, around="uniform"),
        "next": bound.oblivious(half, half, dead, around="next"),
    }


BEYOND = 20
"""Multiple of the zero-load latency of three stages from which a run counts as saturated.

If half of the routers are congested and the others are not, the accepted load tells too little.
"""

EMPTY = 4
"""Cycles of a packet through three stages, without those that its flits take."""


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """Means of latency and accepted load.

    A run is `saturated` by its latency, too: see `BEYOND`.
    """
    means = tables.steady(labels, done)
    if means.is_empty():
        return means
    flits = pl.col("flits") if "flits" in means.columns else pl.lit(1)
    return means.with_columns(saturated=pl.col("saturated") | (pl.col("latency_mean") > BEYOND * (EMPTY + flits)))


UNIT = "flits/(node·cycle)"

ACCEPTED = f"Accepted load ({UNIT})"

NAMES = (OBLIVIOUS, ADAPTIVE, "sequential_r(2)", "greedy_r(2)", "greedy")

LOOK = Look.of(NAMES)
"""Each allocation has one colour and mark in all figures."""


def note(of: Setting) -> str:
    """The network below a chart."""
    return f"folded Clos, {of.endpoints:,} nodes, radix {of.radix}"


def faulty_note(of: Setting) -> str:
    """The network with faults below a chart."""
    return f"{note(of)}, {len(faults(of))} faulty links, buffers of {BUFFER} entries"


def notes(table: pl.DataFrame, network: str, *more: str) -> list[str]:
    """The lines below a chart: the first describes the network, the seeds and the bands."""
    return [f"{network}; {seeds_note(table)}{_precision(table)}", *more, reading_note(table)]


def reading_note(table: pl.DataFrame) -> str:
    """The line below a chart that says of which reading it is."""
    return f"reading: {', '.join(table[READING].unique(maintain_order=True))}"


def _precision(table: pl.DataFrame) -> str:
    """How many of the mean latencies below saturation are as precise as they should be."""
    if not {"latency_mean_half", "saturated"} <= set(table.columns):
        return ""
    calm = table.filter(~pl.col("saturated")).select(share=pl.col("latency_mean_half") / pl.col("latency_mean"))
    wider = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) / Z
    widths = [wider * width for width in calm["share"].to_list() if width is not None]
    within = sum(width <= HALF_WIDTH for width in widths)
    return f"; {within} of {len(widths)} points below saturation within {100 * HALF_WIDTH:g} %" if widths else ""


def size(of: Setting) -> str:
    """How large the networks are."""
    sizes = sorted({of.endpoints, of.large})
    return f"{' and '.join(f'{endpoints:,}' for endpoints in sizes)} endpoints"


def describe(of: Setting) -> str:
    """The network in words."""
    return f"folded Clos of radix-{of.radix} routers, {of.endpoints:,} endpoints (figures 2 and 10a: {of.large:,})"


def options(of: Setting) -> str:
    """The runs in Markdown."""
    limits = bounds(of)
    precise = f"{100 * HALF_WIDTH:g} % with {100 * CONFIDENCE:g} % confidence"
    router = (
        "Router: input-queued, one cycle and no further latency per stage, one virtual channel, FIFO inputs that send "
        f'one flit a cycle, outputs that take {SPEEDUP} (`clock = "crossbar"`, `speedup = {SPEEDUP}`, '
        f'`inputs = "link"`), credits usable {CREDIT_DELAY} cycles after the flit has left (`credit_delay`). '
        "Packets of several flits: virtual cut-through with infinite buffers, wormhole switching with 16 entries. "
        'Outputs are allocated once in a cycle (`decide = "cycle"`), '
        "and again in the next for heads that could not be sent."
    )
    measurement = (
        f"Measurement: a run has {of.warmup:,} cycles of warm-up. Figure 2 has {of.settled:,}, figure 4 with "
        f"infinite buffers at {FULL:g} {of.full_warmup:,}, and figure 10a {of.large_warmup:,}, or {SETTLING} for "
        f"each stage if these are more. Packets of {LONG} flits from {NEAR:g} on have {of.near_warmup:,}. Then at "
        f"least {of.cycles:,} cycles (figures 2 and 10a: {of.large_cycles:,}) are measured, and up to {of.most:,} "
        f"({2 * of.large_cycles:,}) until the intervals of latency and accepted load are within {precise}. Latency "
        "is the latency of the packets generated in this time. They are delivered before a run ends, within at "
        "least as many cycles as are measured. A run counts as saturated if it accepts less than "
        f"{SATURATED_BELOW:.0%} of the offered load, or has more than {BEYOND} times the latency of an empty "
        f"network. Figures 10a and 10b, on throughput alone, measure {of.large_cycles:,} and {of.cycles:,} cycles; "
        f"packets of {LONG} flits are measured for {of.near_cycles:,} from {NEAR:g} on."
    )
    broken = (
        f"Faults: {len(faults(of))} links, half of them of the first middle-stage router and half of the second, "
        "each at another router of the first stage. The linear program for the best division of wc-UR traffic gives "
        f"a throughput of {limits['adaptive']:.3f}. Oblivious routing that draws again if a link leads nowhere gives "
        f"{limits['uniform']:.3f}. Oblivious routing that takes the next link gives {limits['next']:.3f}, and the "
        'study uses it (`around_faults = "next"`).'
    )
    return "\n\n".join((router, measurement, broken))


study = Study[Setting, Evidence](
    name="clos",
    title="Adaptive routing in high-radix Clos networks",
    paper=Paper(("J. Kim", "W. J. Dally", "D. Abts"), "Adaptive routing in high-radix Clos network", "SC 2006"),
    setting=setting,
    network=network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
    readings=READINGS,
)
