"""The question which mechanism is best at what if all run on one network, and common parts of its figures."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table, toml_line
from phit.document import Document
from phit.studies.contest.networks import PHITS, Contestant, Network, network
from phit.studies.contest.setting import (
    ADV,
    ADVC,
    ADVH,
    CLOS,
    DRAGONFLY,
    HOT,
    MIX,
    NETWORKS,
    PERM,
    TORUS,
    UN,
    Setting,
    setting,
)
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts, Look
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.plan import Case
from phit.studies.kit.study import Question, Study, Table

Evidence = AnyEvidence[Setting]
"""The evidence for the rules of the claims."""

UNIFORM: Document = {"kind": "uniform"}

UNIT = "phits/(endpoint·cycle)"


def hot_sources(endpoints: int) -> list[int]:
    """One endpoint in four, without the hot spot itself."""
    return [e for e in range(endpoints) if e % 4 == 3 and e != hot_endpoint(endpoints)]


def hot_endpoint(endpoints: int) -> int:
    """The endpoint in the middle."""
    return endpoints // 2


def pattern(of: Network, name: str) -> Document:
    """The pattern with this name on a network."""
    hot: Document = {
        "kind": "by_endpoint",
        "background": UNIFORM,
        "parts": [
            {
                "endpoints": hot_sources(of.endpoints),
                "pattern": {"kind": "hotspot", "targets": [hot_endpoint(of.endpoints)], "share": 1.0},
            }
        ],
    }
    found = {UN: UNIFORM, ADV: of.adversary, PERM: {"kind": "permutation"}, HOT: hot}
    if of.name == DRAGONFLY:
        h = of.topology["h"]
        parts: list[Document] = [{"weight": 1.0, "pattern": each} for each in (UNIFORM, of.adversary)]
        found |= {
            ADVH: {"kind": "adversarial", "offset": h},
            ADVC: {"kind": "adversarial", "offset": 1, "groups": h},
            MIX: {"kind": "mix", "parts": parts},
        }
    return found[name]


def scenario(on: Network, of: Contestant, traffic: Document, measure: Document, seed: int) -> Document:
    """One run: on one network, only routing, queues and virtual channels depend on the mechanism."""
    return {
        "seed": seed,
        "topology": on.topology,
        "router": on.router(of),
        "routing": of.routing,
        "queueing": of.queueing,
        "traffic": {"process": "bernoulli", "packet_size": PHITS, **traffic},
        "measure": {"histogram": False, **measure},
    }


def shared(of: Setting) -> Document:
    """The scenario part that runs on the first network share: a results folder has one base."""
    return {"topology": network(DRAGONFLY, of).topology}


def look(on: Network) -> Look:
    """Colours and marks of the contestants of a network."""
    return Look.of([of.name for of in on.contestants])


def by_network(of: Setting) -> list[Network]:
    """All networks at a scale."""
    return [network(name, of) for name in NETWORKS]


def size(of: Setting) -> str:
    """The size of the networks."""
    return f"{', '.join(f'{on.endpoints:,}' for on in by_network(of))} endpoints"


def describe(of: Setting) -> str:
    """The networks in words."""
    return ", ".join(f"{on.words} ({on.endpoints:,} endpoints)" for on in by_network(of))


def options(of: Setting) -> str:
    """The runs in Markdown."""
    fair = (
        "On one network all mechanisms have the same links, the same memory at every input port and the same "
        f"crossbar (twice as fast as the links, 5 cycles, 32 phits of output buffer). Packets have {PHITS} phits "
        "under virtual cut-through. Sources have a queue for each destination, so that no packet waits at its "
        "source behind one for another destination. The mechanism decides how the memory of a port is divided: into "
        "virtual channels or queues. Thresholds follow the papers, adapted to these routers. Contention counters "
        "take twice the mean number of virtual channels of a port, but at most p (section VI-A of their paper). TPR "
        "takes the shares of table III, with time in units of a packet. The congestion points of QCN-Switch have a "
        "set point of 4 packets, and its other numbers are the defaults. It takes about 2,000 cycles to adapt, as long "
        "as the warm-up: its loads under adversarial traffic still change in the measurement. FBICM takes 1/16, 1/32 "
        "and 1/64 of a port's memory. ECtN's updates and the notifications of FBICM and QCN-Switch take their time on "
        "the links."
    )
    cycles = (
        f"Steady states: {of.warmup:,} cycles of warm-up, {of.cycles:,} measured; each seed has a permutation of its "
        f"own. Changes of traffic: {of.settle:,} cycles of {UN} before the recording, {of.before:,} recorded before "
        f"the change and {of.after:,} after it, in bins of {of.bin} cycles. The scale has {of.seeds} and "
        f"{of.change_seeds} seeds; tables and charts say how many of them were run."
    )
    contestants = [_contestants(on) for on in by_network(of)]
    absent = (
        f"VOQnet runs nowhere, because of its memory for queues of two packets for each endpoint: {_voqnet(of)}. "
        f"UGAL and TPR do not run on the {CLOS} and the {TORUS}. There minimal and Valiant routes share channels, "
        "and can wait for one another in a cycle (`phit verify`)."
    )
    return "\n\n".join([fair, *contestants, absent, cycles])


def _voqnet(of: Setting) -> str:
    parts = [
        f"{2 * on.endpoints * PHITS:,} phits at a port of the {on.name}, which has {next(iter(on.links.values()))[1]}"
        for on in by_network(of)
    ]
    return "; ".join(parts)


def _contestants(on: Network) -> str:
    links = ", ".join(f"{name} {latency} cycles, {memory} phits" for name, (latency, memory) in on.links.items())
    rows = [
        [of.name, of.paper, toml_line(of.routing), toml_line(of.queueing), _channels(of.channels)]
        for of in on.contestants
    ]
    table = markdown_table(["mechanism", "of, or compared in", "`[routing]`", "`[queueing]`", "virtual channels"], rows)
    return f"**{on.words}**: {links}. {ADV} is {on.adversary_words}.\n\n{table}"


def _channels(channels: Any) -> str:
    counts = set(channels.values())
    return str(counts.pop()) if len(counts) == 1 else ", ".join(f"{name} {n}" for name, n in channels.items())


def of_network(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of a network."""
    return table.filter(pl.col("network") == name)


study = Study[Setting, Evidence](
    name="contest",
    title="All mechanisms on one network",
    paper=Question(
        "The mechanisms of all five papers on one Dragonfly, one folded Clos network and one torus, under the same "
        "conditions, which none of the papers compares"
    ),
    setting=setting,
    network=shared,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)

SLUGS = {DRAGONFLY: "dragonfly", CLOS: "clos", TORUS: "torus"}
"""Names of networks in the names of figures."""


def for_each_network(
    suffix: str,
    *,
    title: str,
    caption: str,
    cases: Callable[[str, Setting, int | None], list[Case]],
    table: Table = tables.steady,
    draw: Callable[[str, pl.DataFrame, Setting], Charts] | None = None,
    text: Callable[[str, pl.DataFrame, Setting], str] | None = None,
) -> None:
    """Makes a figure for every network, or a table if `draw` is missing.

    Args:
        suffix: text after the network in the figure's name.
        title: title, with `{}` for the network.
        caption: caption, with `{}` for the network.
        cases: function that lists the runs on a network.
        table: function that makes its table.
        draw: function that draws it.
        text: function that writes its text.
    """
    for name in SLUGS:
        _for_network(name, suffix, title.format(name), caption.format(name), cases, table, draw, text)


def _for_network(
    name: str,
    suffix: str,
    title: str,
    caption: str,
    cases: Callable[[str, Setting, int | None], list[Case]],
    table: Table,
    draw: Callable[[str, pl.DataFrame, Setting], Charts] | None,
    text: Callable[[str, pl.DataFrame, Setting], str] | None,
) -> None:
    # The module of a figure is the module of the function that lists its runs.
    @wraps(cases)
    def runs(setting: Setting, seeds: int | None) -> list[Case]:
        return cases(name, setting, seeds)

    study.figure(
        f"{SLUGS[name]}{suffix}",
        title=title,
        caption=caption,
        is_table=draw is None,
        table=table,
        draw=None if draw is None else lambda found, setting: draw(name, found, setting),
        text=None if text is None else lambda found, setting: text(name, found, setting),
    )(runs)
