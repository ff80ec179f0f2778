"""The study: its figures and what they consist of."""

from collections.abc import Callable

import polars as pl

from phit.plots import Chart
from phit.studies.clos import cases, drawing, tabling
from phit.studies.clos.claims import CLAIMS
from phit.studies.clos.cost import of_scenario
from phit.studies.clos.evidence import Evidence
from phit.studies.clos.remarks import REMARKS
from phit.studies.clos.setting import (
    CONFIDENCE,
    HALF_WIDTH,
    HISTOGRAM_LOAD,
    RATIO_LOAD,
    SETTLING,
    SNAPSHOT_LOAD,
    Setting,
    setting,
)
from phit.studies.kit.plan import Case, Done
from phit.studies.kit.study import Paper, Study
from phit.studies.unported import Figure, adopt

Draw = Callable[[pl.DataFrame, Setting], dict[str, Chart]]
Cases = Callable[[Setting, int | None], list[Case]]


def _curves(name: str, title: str, caption: str, runs: Cases, draw: Draw, parts: tuple[str, ...] = ()) -> Figure:
    return Figure(name, title, caption, runs, tabling.steady, draw, parts)


def _formula(labels: pl.DataFrame, done: Done) -> pl.DataFrame:  # noqa: ARG001
    return tabling.probabilities()


def _nothing(of: Setting, seeds: int | None) -> list[Case]:  # noqa: ARG001
    return []


FIGURES = (
    Figure(
        "2",
        "Adaptive against oblivious latency by the number of stages",
        f"Ratio of the mean latencies at a load of {RATIO_LOAD:g}, infinite buffers, and the formula of section 3.1.",
        cases.ratios,
        tabling.ratios,
        drawing.ratio_figure,
    ),
    _curves(
        "4",
        "Adaptive and oblivious routing",
        "Latency and accepted load: wc-UR with infinite buffers and with 16 entries, bit reverse, bit complement.",
        cases.comparisons,
        drawing.comparison_figure,
        ("4a", "4b", "4c", "4d"),
    ),
    Figure(
        "5",
        "Distribution of latencies",
        f"All packets at a load of {HISTOGRAM_LOAD:g}, wc-UR, infinite buffers.",
        cases.histograms,
        tabling.histograms,
        drawing.histogram_figure,
    ),
    Figure(
        "6",
        "The fullest buffers of the middle stage",
        f"A snapshot, and means over time, at a load of {SNAPSHOT_LOAD:g}, wc-UR, 16 entries.",
        cases.snapshots,
        tabling.snapshots,
        drawing.snapshot_figure,
    ),
    _curves(
        "7a",
        "Half of the traffic deterministic",
        "Node i sends to i + k; half of the packets take the way of their source and destination.",
        cases.deterministic,
        drawing.deterministic_figure,
        ("7",),
    ),
    _curves(
        "7b",
        "Faulty links",
        "wc-UR with faulty links between the first and the middle stage, all of them of two middle-stage routers.",
        cases.with_faults,
        drawing.faults_figure,
        ("7",),
    ),
    _curves(
        "9",
        "The four allocations",
        "Latency and accepted load under wc-UR with infinite buffers and with 16 entries.",
        cases.allocations,
        drawing.allocation_figure,
        ("9a", "9b"),
    ),
    _curves(
        "10a",
        "Greedy allocation by radix",
        "Accepted load, packets of 1 flit.",
        cases.radices,
        drawing.radix_figure,
        ("10",),
    ),
    _curves("10b", "Greedy allocation by packet size", "Accepted load.", cases.sizes, drawing.size_figure, ("10",)),
    Figure(
        "11",
        "Two or more heads in one cycle",
        "The probability that a router gets two or more heads in one cycle, in closed form.",
        _nothing,
        _formula,
        drawing.probability_figure,
    ),
    _curves(
        "12",
        "The number of samples",
        f"Mean latency at a load of {HISTOGRAM_LOAD:g}, infinite buffers.",
        cases.samples,
        drawing.sample_figure,
    ),
    _curves(
        "14",
        "Precision",
        "Mean latency at the highest of some loads at which no precision is saturated, 16 entries.",
        cases.precisions,
        drawing.precision_figure,
        ("14a", "14b"),
    ),
    _curves(
        "15",
        "Precision with faulty links",
        "Figure 7b with sequential allocation that knows 0 to 4 bits of the fill of a buffer.",
        cases.precisions_with_faults,
        drawing.precision_faults_figure,
    ),
    _curves(
        "16",
        "Precomputation",
        "Decisions from the state of 0, 1 and 2 cycles before: greedy_r(2), 2 bits, 10-flit packets, faulty links.",
        cases.precomputed,
        drawing.precomputation_figure,
    ),
)


def describe(of: Setting) -> str:
    """The network in words."""
    return f"folded Clos of radix-{of.radix} routers, {of.endpoints:,} endpoints (figures 2 and 10a: {of.large:,})"


def options(of: Setting) -> str:
    """What is run, in Markdown."""
    most = drawing.bounds(of)
    precise = f"{100 * HALF_WIDTH:g} % with {100 * CONFIDENCE:g} % confidence"
    router = (
        "Router: input-queued, one cycle and no further latency per stage, one virtual channel, FIFO inputs that send "
        f'one flit a cycle, outputs that take {cases.SPEEDUP} (`clock = "crossbar"`, `speedup = {cases.SPEEDUP}`, '
        f'`inputs = "link"`), credits usable {cases.CREDIT_DELAY} cycles after the flit has left (`credit_delay`). '
        "Packets of several flits: virtual cut-through with infinite buffers, wormhole switching with 16 entries. "
        'Outputs are allocated once in a cycle (`decide = "cycle"`), '
        "and again in the next for heads that could not be sent."
    )
    measurement = (
        f"Measurement: {of.warmup:,} cycles of warm-up (figures 2 and 10a: "
        f"{of.large_warmup:,}, or {SETTLING} for each stage if these are more), then at least "
        f"{of.cycles:,} ({of.large_cycles:,}), and up to {of.most:,} ({2 * of.large_cycles:,}) until the intervals of "
        f"latency and accepted load are within {precise}; latency is that of the packets generated in this time, which "
        "are delivered before a run ends, within as many cycles as are measured at least. Runs that accept less than "
        "95 % of the load offered, or have more than "
        f"{tabling.BEYOND} times the latency of an empty network, count as saturated. Figures 10a and 10b, on "
        f"throughput alone, measure {of.large_cycles:,} and {of.cycles:,} cycles."
    )
    faults = (
        f"Faults: {of.half // 2} links, half of them of the first middle-stage router and half of the second, each at "
        "another router of the first stage. The linear program for the best division of wc-UR traffic gives a "
        f"throughput of {most['adaptive']:.3f}; oblivious routing that draws again where a link is of no use, "
        f"{most['uniform']:.3f}; that takes the next link, {most['next']:.3f}. The study has the latter "
        '(`around_faults = "next"`).'
    )
    return "\n\n".join((router, measurement, faults))


def size(of: Setting) -> str:
    """How large the networks are."""
    sizes = sorted({of.endpoints, of.large})
    return f"{' and '.join(f'{endpoints:,}' for endpoints in sizes)} endpoints"


study = Study[Setting, Evidence](
    name="clos",
    title="Adaptive routing in high-radix Clos networks",
    paper=Paper(("J. Kim", "W. J. Dally", "D. Abts"), "Adaptive routing in high-radix Clos network", "SC 2006"),
    setting=setting,
    network=cases.network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
adopt(study, FIGURES, CLAIMS, REMARKS)
study.cost_model(of_scenario)
