"""The question how to protect a victim, and what all figures share: the scenario, the flows, and the page's text."""

from collections.abc import Sequence

import polars as pl

from phit.base.markdown import markdown_table, toml_line
from phit.document import Document
from phit.studies.control.networks import MEMORY, PACKET, SCHEMES, VOQNET_QUEUE, Network, Scheme, chosen
from phit.studies.control.setting import US, Setting, setting
from phit.studies.kit import tables
from phit.studies.kit.charts import Look
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.plan import Done
from phit.studies.kit.study import Question, Study

Evidence = AnyEvidence[Setting]
"""The evidence for the rules of the claims."""

VICTIMS, HOT = "victims", "hot"
"""Flows: packets to other endpoints than the target, and packets to the target."""

ALONE = "alone"
"""The label of runs without an incast."""

UNIFORM: Document = {"kind": "uniform"}


def scenario(
    on: Network, of: Scheme, traffic: Document, measure: Document, seed: int, routing: Document | None = None
) -> Document:
    """One run. Routes are fixed, unless `routing` says otherwise."""
    found: Document = {
        "seed": seed,
        "topology": on.topology,
        "router": on.router(of),
        "routing": routing or {"kind": "table"},
        "queueing": of.queueing,
        "traffic": {"process": "bernoulli", "packet_size": PACKET, **traffic},
        "measure": measure,
    }
    if of.congestion is not None:
        found["congestion"] = of.congestion
    return found


def to(targets: Sequence[int]) -> Document:
    """The pattern of endpoints that send to these targets only."""
    return {"kind": "hotspot", "targets": list(targets), "share": 1.0}


def incast(on: Network, sources: Sequence[int], *, background: bool = True, silent: bool = False) -> Document:
    """The pattern of an incast at the target; `background`: all others send to any endpoint; `silent`: no incast."""
    part: Document = {"endpoints": list(sources)}
    if not silent:
        part["pattern"] = to([on.target()])
    pattern: Document = {"kind": "by_endpoint", "parts": [part]}
    return {**pattern, "background": UNIFORM} if background else pattern


def flows(on: Network, sources: Sequence[int]) -> list[Document]:
    """Every aggressor by itself, other packets to the target, and victims: 64 flows at most."""
    target = [on.target()]
    aggressors: list[Document] = [
        {"name": str(source), "sources": [source], "destinations": target} for source in sources
    ]
    return [*aggressors, {"name": HOT, "destinations": target}, {"name": VICTIMS}]


def jain(rates: Sequence[float]) -> float | None:
    """Jain's index of some rates: 1 if they are equal, 1/n if one has everything; `None` if nothing was delivered."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def of_runs(labels: pl.DataFrame, done: Done, name: str) -> pl.DataFrame:
    """The rows of a table of the finished runs, with the labels of their cases; empty if there are none."""
    found = done.table(name)
    if labels.is_empty() or found.is_empty():
        return pl.DataFrame()
    taken = [column for column in labels.columns if column != "point"]
    return labels.join(found.drop(taken, strict=False), on="point", how="inner", maintain_order="left")


def averaged(rows: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]) -> pl.DataFrame:
    """Means over seeds with half the widths of their 95 % intervals; one row of `rows` is one run."""
    if rows.is_empty():
        return pl.DataFrame()
    table = rows.group_by(keys, maintain_order=True).agg(
        pl.len().alias("seeds"),
        *(pl.col(measure).cast(pl.Float64).mean() for measure in measures),
        *(pl.col(measure).cast(pl.Float64).std().alias(f"{measure}{tables.HALF}") for measure in measures),
        tables.of_runs,
    )
    return table.with_columns(tables.half_widths(measure) for measure in measures)


def in_order(table: pl.DataFrame, column: str, names: Sequence[str]) -> pl.DataFrame:
    """The rows in the order of some names in a column."""
    place = {name: i for i, name in enumerate(names)}
    return table.sort(pl.col(column).replace_strict(place, default=len(names)), maintain_order=True)


NAMES = tuple(of.name for of in SCHEMES)

LOOK = Look.of(NAMES)
"""Each scheme has one colour and mark in all figures."""

MISSING = "–"


def number(value: float | None, pattern: str = "{:.3f}") -> str:
    """A value in a table, or a dash."""
    return MISSING if value is None else pattern.format(value)


def size(of: Setting) -> str:
    """The size of the networks."""
    return f"{', '.join(f'{on.endpoints:,}' for on in chosen(of))} endpoints"


def describe(of: Setting) -> str:
    """The networks in words."""
    return ", ".join(f"{on.words} ({on.endpoints:,} endpoints)" for on in chosen(of))


def shared(of: Setting) -> Document:
    """The scenario part that runs on the first network share: a results folder has one base."""
    return {"topology": chosen(of)[0].topology}


def options(of: Setting) -> str:
    """The runs in Markdown."""
    rows = [
        [each.name, toml_line(each.queueing), MISSING if each.congestion is None else toml_line(each.congestion)]
        for each in SCHEMES
    ]
    return f"""{markdown_table(["scheme", "`[queueing]`", "`[congestion]`"], rows)}

A cycle is a nanosecond, a phit a byte: links carry 1 GB/s and take 1 ns, packets have {PACKET} bytes. Crossbars are as
fast as links. A port has {MEMORY:,} bytes of memory, with VOQnet {VOQNET_QUEUE} for each endpoint. Every endpoint has
a queue for each destination. Routes are fixed by tables, unless a figure says otherwise.

The parameters of the controls fit links of 1 GB/s and memories of {MEMORY // 1024} KiB. They come from the figure
`tuning`, which has one incast on the {chosen(of)[0].name}, and are the same everywhere.

Steady states: {of.warmup // US:,} µs of warm-up, {of.cycles // US:,} µs measured. Every endpoint offers {of.load:g}
of its link, aggressors, too. The scale has {of.seeds} seeds; tables and charts say how many of them were run."""


study = Study[Setting, Evidence](
    name="control",
    title="Protecting a victim",
    paper=Question(
        "How well isolation, congestion control and both together protect packets that only share links with a hot "
        "spot, and what that costs"
    ),
    setting=setting,
    network=shared,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
