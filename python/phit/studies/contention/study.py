"""The study: its figures and what they consist of."""

from collections.abc import Callable
from functools import partial

import polars as pl

from phit.markdown import markdown_table, toml_line
from phit.plots import Chart
from phit.studies import tables
from phit.studies.contention import cases, drawing
from phit.studies.contention.claims import CLAIMS
from phit.studies.contention.cost import of_scenario
from phit.studies.contention.evidence import Evidence
from phit.studies.contention.mechanisms import MECHANISMS, routing
from phit.studies.contention.remarks import REMARKS
from phit.studies.contention.setting import Setting, setting
from phit.studies.plan import Case, Done
from phit.studies.study import Figure, Study


def _steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    return tables.steady(labels, done.points)


def _transient(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    return tables.transient(labels, done.series)


def _counters(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    return tables.runs(labels, done.points)


def _loads(stem: str, pattern: str) -> Callable[[pl.DataFrame, Setting], dict[str, Chart]]:
    def draw(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:
        return drawing.load_figure(stem, pattern or cases.far(of), table, of)

    return draw


def _no_chart(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:  # noqa: ARG001
    return {}


def _large(of: Setting, seeds: int | None) -> list[Case]:
    return cases.transients(of, seeds, large=True)


FIGURES = (
    Figure(
        "5a",
        "Latency and throughput under uniform traffic",
        "Mean packet latency and accepted load against offered load, steady state, UN.",
        cases.uniform,
        _steady,
        _loads("5a", "UN"),
    ),
    Figure(
        "5b",
        "Latency and throughput under ADV+1",
        "The same under ADV+1: all nodes of a group send to the next group.",
        cases.adversarial_next,
        _steady,
        _loads("5b", "ADV+1"),
    ),
    Figure(
        "5c",
        "Latency and throughput under ADV+h",
        "The same under ADV+h, which also overloads local links of the intermediate groups.",
        cases.adversarial_far,
        _steady,
        _loads("5c", ""),
    ),
    Figure(
        "6",
        "Mixed traffic",
        "Mean packet latency against the share of UN in a mix of ADV+1 and UN; every packet draws its pattern.",
        cases.mixes,
        _steady,
        drawing.mix_figure,
    ),
    Figure(
        "7",
        "A change of traffic",
        "Latency and globally misrouted packets by cycle of generation after UN becomes ADV+1.",
        cases.transients,
        _transient,
        drawing.transient_figure,
        ("7a", "7b"),
    ),
    Figure(
        "8",
        "A change of traffic, large buffers",
        "Figure 7a with input buffers of 256 phits per local and 2,048 phits per global virtual channel.",
        _large,
        _transient,
        drawing.large_buffers_figure,
    ),
    Figure(
        "9",
        "Oscillations",
        "Figure 7a over a longer time: PB, whose decisions feed back on the flags that they depend on, and ECtN.",
        partial(cases.transients, names=("PB", "ECtN")),
        _transient,
        drawing.oscillation_figure,
    ),
    Figure(
        "10",
        "The misrouting threshold",
        "Base with thresholds from 3 to 12: latency and accepted load under UN and ADV+1.",
        cases.thresholds,
        _steady,
        drawing.threshold_figure,
    ),
    Figure(
        "counters",
        "The contention counters",
        "Base under saturated UN, with the mean counter over all output ports (section VI-A).",
        cases.counters,
        _counters,
        _no_chart,
    ),
    Figure(
        "overhead",
        "The traffic of ECtN's updates",
        "ECtN with the full partial arrays sent over the local links, and for nothing as in the paper (section VI-B).",
        cases.overhead,
        _steady,
        drawing.overhead_figure,
    ),
)


def describe(of: Setting) -> str:
    """The network in words."""
    return f"Dragonfly p={of.p} a={of.a} h={of.h}, {of.endpoints:,} endpoints"


def options(of: Setting) -> str:
    """What is run, in Markdown."""
    steady = f"Steady states: {of.warmup:,} cycles of warm-up, {of.cycles:,} measured."
    changing = (
        f"Transients: {of.settle:,} cycles of UN before the recording, {of.before:,} recorded before the change and "
        f"{of.after:,} after it, in bins of {of.bin} cycles."
    )
    router = (
        "The router is that of Table I: 5 cycles, a frequency speedup of 2, output buffers of 32 phits, links of 10 "
        "and 100 cycles, packets of 8 phits, virtual cut-through."
    )
    choices = (
        "The paper leaves open whether a counter at its threshold triggers (`comparison`) and which outputs Hybrid and "
        "ECtN may take instead (`candidates`), and does not name the `restriction` of OLM and Hybrid: these are as in "
        "the simulator that made its figures."
    )
    rows = [[name, toml_line(routing(name, of)), str(MECHANISMS[name].local_vcs)] for name in MECHANISMS]
    table = markdown_table(["mechanism", "`[routing]`", "local VCs"], rows)
    return f"{table}\n\n{choices}\n\n{steady} {changing} {router}"


STUDY = Study(
    name="contention",
    title="Contention-based nonminimal adaptive routing",
    source="P. Fuentes, E. Vallejo, M. García, R. Beivide, G. Rodríguez, C. Minkenberg and M. Valero, "
    '"Contention-based nonminimal adaptive routing in high-radix networks", IPDPS 2015',
    figures={figure.name: figure for figure in FIGURES},
    claims=CLAIMS,
    setting=setting,
    network=cases.network,
    describe=describe,
    options=options,
    evidence=Evidence,
    cost=of_scenario,
    remarks=REMARKS,
)
