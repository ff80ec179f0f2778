"""The report: its networks, its schemes, and what all its figures share.

A switch is input-queued, its crossbar as fast as a link; a cycle is a nanosecond and a phit a byte (section 5.1).
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table, toml_line
from phit.document import Document
from phit.studies.fbicm.setting import US, Network, Setting, setting
from phit.studies.kit import tables
from phit.studies.kit.charts import Look
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.plan import Done
from phit.studies.kit.study import Paper, Study
from phit.studies.kit.uncertain import Value, nominal

Evidence = AnyEvidence[Setting]
"""The evidence for the rules of the claims."""

MEMORY = 8192
"""Bytes of an input port's memory."""

VOQNET_QUEUE = 256
"""Bytes of a queue of VOQnet, of which a port has one for each endpoint."""

PACKET = 64
"""Bytes of a packet."""

ADMITTANCE = 8192
"""Bytes of an admittance queue; the report leaves them open."""

THRESHOLDS = {"detection": 512, "stop": 256, "go": 128}
"""Bytes in a queue at which FBICM acts; the report leaves them open.

In the scan of the figure `thresholds`, these values lose least against VOQnet in both cases. Early stops isolate
better, but cost throughput if congestion is short.
"""

FBICM: Document = {"kind": "fbicm", "version": "new", "cfqs": 8, "destinations": 8, **THRESHOLDS}

QUEUEING: dict[str, Document] = {
    "1Q": {"kind": "virtual_channels"},
    "DBBM": {"kind": "dbbm", "queues": 8},
    "VOQsw": {"kind": "voqsw"},
    "VOQnet": {"kind": "voqnet"},
    "FBICM": FBICM,
    "FBICM first": {**FBICM, "version": "first"},
}
"""`[queueing]` of each scheme."""

SCHEMES = ("1Q", "DBBM", "VOQsw", "VOQnet", "FBICM")
"""The schemes of the report's figures."""

VERSIONS = ("FBICM", "FBICM first")
"""The new version of chapter 4 and the first one, of chapter 3."""


def buffer(scheme: str, endpoints: int) -> int:
    """Bytes of a port's memory."""
    return VOQNET_QUEUE * endpoints if scheme == "VOQnet" else MEMORY


def topology(of: Network) -> Document:
    """`[topology]`."""
    return {"kind": "k_ary_n_tree", "arity": of.arity, "levels": of.levels}


def router(scheme: str, endpoints: int, vcs: Document | None = None) -> Document:
    """`[router]`: an input-queued switch with a crossbar as fast as a link, links of 1 byte per cycle and 1 cycle."""
    links: Document = {"default": {"latency": 1, "bandwidth": 1, "vcs": 1, "buffer": buffer(scheme, endpoints)}}
    for name, count in (vcs or {}).items():
        links[name] = {"vcs": count}
    return {
        "latency": 1,
        "speedup": 1,
        "switching": "virtual_cut_through",
        "admittance": "per_destination",
        "admittance_room": ADMITTANCE,
        "links": links,
    }


def network(of: Setting) -> Document:
    """The part of the scenarios that all runs share, except the size of the network."""
    return {"topology": topology(of.networks[0])}


def scenario(of: Network, scheme: str, traffic: Document, measure: Document, seed: int, **queueing: Any) -> Document:
    """One run; `queueing` are keys of `[queueing]`."""
    return {
        "seed": seed,
        "topology": topology(of),
        "router": router(scheme, of.endpoints),
        "routing": {"kind": "table"},
        "queueing": {**QUEUEING[scheme], **queueing},
        "traffic": {"packet_size": PACKET, **traffic},
        "measure": {"histogram": False, "order": True, **measure},
    }


def steady(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The table of steady states, with the packets that came out of order."""
    table = tables.steady(labels, done)
    if table.is_empty():
        return table
    keys = [c for c in labels.columns if c not in ("seed", "point")]
    order = tables.runs(labels, done).group_by(keys).agg(pl.col("out_of_order").sum())
    return table.join(order, on=keys, how="left", maintain_order="left", nulls_equal=True)


LOOK = Look.of(("VOQnet", "FBICM", "VOQsw", "DBBM", "1Q", "FBICM first"))
"""Each scheme has one colour and mark in all figures."""

ACCEPTED = "Throughput (share of the links)"


def named(of: Setting, name: str) -> str:
    """A network with its size, as a chart names it."""
    found = [net for net in of.networks if net.name == name]
    return f"{name}: {found[0].arity}-ary {found[0].levels}-tree, {found[0].endpoints} endpoints" if found else name


def run_networks(evidence: Evidence, figure: str) -> list[Network]:
    """The networks in which a figure was run."""
    there = evidence.curves(figure).values("network")
    return [net for net in evidence.setting.networks if net.name in there]


def listed(loads: Mapping[str, Value]) -> str:
    """The throughput of each scheme in words."""
    return ", ".join(f"{scheme} {nominal(load):.3f}" for scheme, load in loads.items())


def size(of: Setting) -> str:
    """How large the networks are."""
    return f"{' and '.join(f'{net.endpoints:,}' for net in of.networks)} endpoints"


def describe(of: Setting) -> str:
    """The networks in words."""
    return ", ".join(f"{n.name} {n.arity}-ary {n.levels}-tree ({n.endpoints} endpoints)" for n in of.networks)


def options(of: Setting) -> str:
    """The runs in Markdown."""
    begin, end = of.window
    ends = ", ".join(f"{net.end / US:g} µs in {net.name}" for net in of.networks)
    rows = [[name, toml_line(queueing)] for name, queueing in QUEUEING.items()]
    thresholds = ", ".join(f"{key} {value} bytes" for key, value in THRESHOLDS.items())
    return f"""{markdown_table(["scheme", "`[queueing]`"], rows)}

A cycle is a nanosecond, a phit a byte: links carry 1 GB/s and take 1 ns, packets have {PACKET} bytes. A switch
takes 1 ns; its crossbar is as fast as a link. Input ports have {MEMORY:,} bytes, with VOQnet
{VOQNET_QUEUE} for each endpoint.

The report leaves these choices open, and the study takes these values:

* thresholds of FBICM: {thresholds}; see the scan above;
* NFQ and CFQs share the memory of a port; the credits of the whole memory limit arrivals;
* a notification has 3 bits for its kind, 3 for the line, 4 for the hops, 16 for each destination, and takes whole bytes
  of the link after the current packet;
* a packet for which no line is free stays in the NFQ and may leave it;
* the adapters' admittance queues obey notifications as output ports do; the injection queues belong to the switch's
  port. An admittance queue holds {ADMITTANCE:,} bytes, and packets that find it full are not generated: without a limit
  the hot spot would go on for milliseconds after its sources have fallen silent. Under I/O, whose messages are stored
  whole, there is no limit;
* the hot sources of cases #2 and #5 are one endpoint of each leaf switch. In #3 and #6 they are three endpoints of each
  of a few leaf switches, just enough to hold a quarter of all. Their destinations are all endpoints that a leaf switch
  reaches over its first link upwards;
* the cello traces are not public: a generated bursty trace stands in for them.

Steady states: {of.warmup:,} cycles of warm-up, {of.cycles:,} measured. Hot spots: {begin:g} to {end:g} µs,
of {ends}."""


study = Study[Setting, Evidence](
    name="fbicm",
    title="Congestion management by flow isolation",
    paper=Paper(
        ("J. Escudero-Sahuquillo", "P. J. García", "F. J. Quiles", "J. Flich", "J. Duato"),
        "Efficient congestion management for high-performance interconnection networks with distributed routing",
        "technical report DIAB-10-04-1, University of Castilla-La Mancha, 2010",
    ),
    setting=setting,
    network=network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
