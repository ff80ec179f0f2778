"""The study: its figures and what they consist of."""

import polars as pl

from phit.markdown import markdown_table, toml_line
from phit.plots import Chart
from phit.studies.fbicm import cases, drawing, measures
from phit.studies.fbicm.claims import CLAIMS
from phit.studies.fbicm.cost import of_scenario
from phit.studies.fbicm.network import ADMITTANCE, MEMORY, PACKET, QUEUEING, THRESHOLDS, VOQNET_QUEUE
from phit.studies.fbicm.remarks import REMARKS
from phit.studies.fbicm.rules import Evidence
from phit.studies.fbicm.setting import US, Setting, setting
from phit.studies.kit.study import Paper, Study
from phit.studies.unported import Figure, adopt


def _no_chart(table: pl.DataFrame, of: Setting) -> dict[str, Chart]:  # noqa: ARG001
    return {}


FIGURES = (
    Figure(
        "5.1",
        "Uniform traffic",
        "Throughput against generated traffic, destinations uniform (cases #1 and #4).",
        cases.uniform,
        measures.steady,
        drawing.uniform_figure,
    ),
    Figure(
        "5.2",
        "Single hot spot",
        "Throughput over time; a quarter of the sources sends to one endpoint for a while (cases #2 and #5).",
        cases.single,
        measures.over_time,
        drawing.time_figure("5.2", "single hot spot"),
    ),
    Figure(
        "5.3",
        "Several hot destinations",
        "The same with all destinations behind one link upwards of each of some leaf switches (cases #3 and #6).",
        cases.multiple,
        measures.over_time,
        drawing.time_figure("5.3", "several hot destinations"),
    ),
    Figure(
        "5.4",
        "I/O traffic",
        "Throughput over time under the built-in bursty trace, compressed 20 and 40 times.",
        cases.io,
        measures.over_time,
        drawing.io_figure,
    ),
    Figure(
        "table5.3",
        "Table 5.3: memories",
        "Bytes of a CAM of both versions in networks of three sizes.",
        cases.memory,
        measures.counts,
        _no_chart,
        is_table=True,
    ),
    Figure(
        "versions",
        "First and new version",
        "What both versions send, how long their queues live, and when their memories are on (sections 4.2, 4.3).",
        cases.versions,
        measures.counts,
        drawing.versions_figure,
    ),
    Figure(
        "thresholds",
        "The open thresholds",
        "Throughput of FBICM against VOQnet, with a hot spot and without, by detection and Stop threshold.",
        cases.thresholds,
        measures.steady,
        drawing.scan_figure,
    ),
    Figure(
        "limit",
        "Head-of-line blocking in one switch",
        "One queue at each input of a switch of 64 ports, uniform traffic at full load (chapter 1).",
        cases.limit,
        measures.steady,
        _no_chart,
    ),
    Figure(
        "elsewhere",
        "Beyond the report",
        "A hot spot in a folded Clos network and a Dragonfly, and in a tree with adaptive ways up, by which the hot "
        "flow reaches all roots: queues by output no longer isolate it, queues by destination do.",
        cases.elsewhere,
        measures.over_time,
        drawing.elsewhere_figure,
    ),
    Figure(
        "tree",
        "A congestion tree over time",
        "Bytes in every input port while a congestion tree grows and drains, with one queue and with FBICM.",
        cases.lapse,
        measures.frames,
        drawing.lapse_figure,
    ),
)


def describe(of: Setting) -> str:
    """The networks in words."""
    return ", ".join(f"{n.name} {n.arity}-ary {n.levels}-tree ({n.endpoints} endpoints)" for n in of.networks)


def options(of: Setting) -> str:
    """What is run, in Markdown."""
    begin, end = of.hot[0] / US, of.hot[1] / US
    ends = ", ".join(f"{net.end / US:g} µs in {net.name}" for net in of.networks)
    rows = [[name, toml_line(queueing)] for name, queueing in QUEUEING.items()]
    thresholds = ", ".join(f"{key} {value} bytes" for key, value in THRESHOLDS.items())
    return f"""{markdown_table(["scheme", "`[queueing]`"], rows)}

A cycle is a nanosecond, a phit a byte: links carry 1 GB/s and take 1 ns, packets have {PACKET} bytes. A switch
takes 1 ns; its crossbar is as fast as a link. Input ports have {MEMORY:,} bytes, with VOQnet
{VOQNET_QUEUE} for each endpoint.

What the report leaves open, and what is taken here:

* thresholds of FBICM: {thresholds}; see the scan above;
* NFQ and CFQs share the memory of a port; what may come in is limited by the credits of all of it;
* a notification has 3 bits for its kind, 3 for the line, 4 for the hops, 16 for each destination, and takes whole bytes
  of the link after the packet that is being sent;
* a packet for which no line is free stays in the NFQ and may leave it;
* the adapters' admittance queues obey notifications as output ports do; the injection queues are those of the switch's
  port. An admittance queue holds {ADMITTANCE:,} bytes, and what finds it full is not generated: without a limit the
  hot spot would go on for milliseconds after its sources have fallen silent. Under I/O, whose messages are stored
  whole, there is no limit;
* the hot sources of cases #2 and #5 are one endpoint of each leaf switch; those of #3 and #6 three of each of as few
  leaf switches as hold a quarter of all, and their destinations all those that a leaf switch reaches over its first
  link upwards;
* the cello traces are not public: a generated bursty trace stands in for them.

Steady states: {of.warmup:,} cycles of warm-up, {of.cycles:,} measured. Hot spots: {begin:g} to {end:g} µs,
of {ends}."""


def size(of: Setting) -> str:
    """How large the networks are."""
    return f"{' and '.join(f'{net.endpoints:,}' for net in of.networks)} endpoints"


study = Study[Setting, Evidence](
    name="fbicm",
    title="Congestion management by flow isolation",
    paper=Paper(
        ("J. Escudero-Sahuquillo", "P. J. García", "F. J. Quiles", "J. Flich", "J. Duato"),
        "Efficient congestion management for high-performance interconnection networks with distributed routing",
        "technical report DIAB-10-04-1, University of Castilla-La Mancha, 2010",
    ),
    setting=setting,
    network=cases.network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
adopt(study, FIGURES, CLAIMS, REMARKS)
study.cost_model(of_scenario)
