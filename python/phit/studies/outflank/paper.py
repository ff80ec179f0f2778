"""The paper: its networks and routings in two readings, and common parts of its tables and figures.

`author` is the node of the simulator that made its numbers, with the choices that the text does not mention, in short
runs until everything is delivered. `paper` follows the text, with credits in place of answers, in steady states of the
input-queued router.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table, toml_line
from phit.document import Document
from phit.drawing.plots import Chart
from phit.peers import outflank_author
from phit.peers.outflank_author import CUT, FIRST, SIDES, STEP, TABLE_2, links, sustained
from phit.studies.kit import tables
from phit.studies.kit.charts import Look, panel
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.lifetimes import Lifetimes
from phit.studies.kit.plan import Case, Done, Labels
from phit.studies.kit.study import Paper, Study
from phit.studies.outflank.setting import Setting, setting

AUTHOR, PAPER = "author", "paper"

PER_MICROSECOND = {AUTHOR: outflank_author.PER_MICROSECOND, PAPER: 625}
"""Cycles of a microsecond."""

CYCLE = "1.6 ns"
"""Cycle of the paper's reading."""

ROUTINGS: dict[str, dict[str, Document]] = {
    AUTHOR: outflank_author.ROUTINGS,
    PAPER: {
        "ABR": {"kind": "abr"},
        "POR": {"kind": "por", "eta": 1.0},
        "OFR": {"kind": "outflank", "delta": 2, "eta": 2.0},
    },
}
"""By reading."""

NAMES = tuple(ROUTINGS[PAPER])
"""The routings, in the order of the paper's tables."""

PATTERNS = tuple(TABLE_2)
"""The paper's patterns."""

BUTTERFLY = "Butterfly/FFT"

SHARE = 0.98
"""A load of a steady state counts as sustained if this share of it is delivered: the reading of this study, stricter
than `SATURATED_BELOW`."""


def network(of: Setting) -> Document:  # noqa: ARG001
    """The part of the scenarios that all runs share at every scale: the links of table 1.

    One folder can hold several scales.
    """
    return {"router": {"links": links()}}


def dims(pattern: str, k: int) -> list[int]:
    """Sides of the torus: a transposition needs a square number of nodes, so that k = 8 becomes 8 x 8 x 16."""
    return [k, k, 2 * k] if pattern == "Transposition" and (k**3).bit_length() % 2 == 0 else [k, k, k]


def grid(first: float, last: float) -> list[float]:
    """The loads of the paper's grid from one to another."""
    return [
        round(FIRST + STEP * i, 2) for i in range(round((last - FIRST) / STEP) + 1) if FIRST + STEP * i >= first - 1e-9
    ]


def last_load(setting: Setting, pattern: str, routing: str, k: int) -> float:
    """Up to where a curve is run: some steps beyond the paper's gamma*."""
    known = sustained(pattern, routing, k) if k in SIDES else 0.6
    return known + setting.margin * STEP


def message_cycles(sides: list[int], gamma: float, packets: int, reading: str) -> float:
    """Cycles between two messages of a node of a torus at load gamma."""
    return outflank_author.message_cycles(sides, gamma, packets, PER_MICROSECOND[reading])


def author(setting: Setting, pattern: str, routing: str, k: int, gamma: float, seed: int) -> Case:
    """One of the author's runs."""
    labels: Labels = {"reading": AUTHOR, "pattern": pattern, "k": k, "routing": routing, "load": gamma, "seed": seed}
    scenario = outflank_author.scenario(
        pattern,
        dims(pattern, k),
        ROUTINGS[AUTHOR][routing],
        gamma,
        packets=setting.packets,
        messages=setting.messages,
        seed=seed,
    )
    return Case(labels, scenario)


def steady(
    topology: Document,
    pattern: Document,
    routing: Document,
    gamma: float,
    *,
    warmup: int,
    cycles: int,
    seed: int,
    packets: int,
    switching: str = "store_and_forward",
) -> Document:
    """A steady state of the input-queued router with credits: the links, queues and messages are the author's."""
    return {
        "seed": seed,
        "units": {"cycle": CYCLE},
        "topology": topology,
        # Packets wait at the far end of a link for room in the next queue, and nowhere else.
        "router": {"switching": switching, "allocator": "ideal", "links": links()},
        "routing": routing,
        "traffic": {
            "pattern": pattern,
            "load": gamma,
            "load_unit": "bisection",
            "packet_size": "512 B",
            "process": {"kind": "periodic", "phase": "random"},
            "message": {"packets": packets},
        },
        "measure": {"warmup": warmup, "cycles": cycles, "histogram": False},
    }


class Evidence(AnyEvidence[Setting]):
    """The evidence for the rules of the claims."""

    def curves(self, figure: str, **where: Any) -> Lifetimes:
        """The lifetimes of a figure. All lifetimes of table 2 belong to the author's reading."""
        return Lifetimes(self.rows(figure, **where), figure)


def lifetimes(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """One row for each combination of labels: means over seeds, times in microseconds.

    `derouted`, `oidn` and `widn` are shares of packets from 0 to 1. `delivered` is the delivered share of the offered
    load, and `accepted` is the delivered load in the unit of `load`.
    """
    found = tables.runs(labels, done)
    if found.is_empty():
        return pl.DataFrame()
    keys = [column for column in labels.columns if column not in ("seed", "point")]
    per_microsecond = pl.col("reading").replace_strict(PER_MICROSECOND, return_dtype=pl.Float64)
    # A trace has no load.
    accepted = (pl.col("delivered") * pl.col("load")).alias("accepted")
    shares = {"derouted": "misrouted", "oidn": "misrouted_locally", "widn": "misrouted_globally"}
    means = {"hops": "hops_mean", **shares}
    return (
        found.group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            (pl.col("latency_mean") / per_microsecond).mean().alias("lifetime_us"),
            (pl.col("latency_mean") / per_microsecond).std().alias("lifetime_us_half"),
            (pl.col("network_latency_mean") / per_microsecond).mean().alias("network_us"),
            *(pl.col(column).cast(pl.Float64).mean().alias(name) for name, column in means.items()),
            *(pl.col(column).cast(pl.Float64).std().alias(f"{name}_half") for name, column in means.items()),
            (pl.col("accepted_load") / pl.col("offered_load")).mean().alias("delivered"),
            pl.col("converged").all(),
            pl.col("packets").sum(),
            pl.col("packet_hops").sum(),
            pl.col("cpu_seconds").sum(),
            tables.of_runs,
        )
        .with_columns(_half_width(name, keys) for name in ("lifetime_us", *means))
        .with_columns([accepted] if "load" in keys else [])
        .sort(keys, maintain_order=True)
    )


def _half_width(measure: str, keys: Sequence[str]) -> pl.Expr:
    """Half widths of intervals: none of the author's runs in which nothing is drawn, so that seeds do not differ."""
    over_seeds = tables.half_widths(measure)
    if "pattern" not in keys:
        return over_seeds
    drawn = pl.col("pattern").is_in(outflank_author.RANDOM) | (pl.col("reading") != AUTHOR)
    return pl.when(drawn).then(over_seeds).otherwise(0.0).alias(f"{measure}{tables.HALF}")


HEADINGS = {
    "load": "offered load (gamma_0)",
    "lifetime_us": "lifetime (µs)",
    "network_us": "in the network (µs)",
    "hops": "hops",
    "derouted": "derouted (%)",
    "oidn": "by OIDN (%)",
    "widn": "by WIDN (%)",
    "delivered": "delivered (%)",
}
"""Headings of columns with units; other columns are their own headings."""

_DIGITS = {"load": 2, "lifetime_us": 2, "network_us": 3, "hops": 3, "derouted": 1, "oidn": 1, "widn": 1, "delivered": 1}

MISSING = "–"
"""Shown for missing runs."""


def cell(column: str, value: float | str | None) -> str:
    """A value of a column as text."""
    if value is None:
        return MISSING
    if isinstance(value, str | int):
        return str(value)
    return f"{value * (100 if '%' in HEADINGS[column] else 1):.{_DIGITS[column]}f}"


LEGEND = ("OFR", "POR", "ABR")
"""The routings, in the order of the paper's figures."""

LOOK = Look.of(LEGEND)

LOAD = "Offered load (multiple of the bisection's)"
LIFETIME = "Mean packet lifetime (µs)"

PANEL = {"width": 300, "height": 200}
"""The size of a panel of several, in pixels."""


def loads_of(table: pl.DataFrame) -> tuple[float, float]:
    """The loads of all panels, so that these can be compared."""
    return 0.0, 1.03 * float(max(table["load"]))


def by_routing(rows: pl.DataFrame, y: str, y_title: str, **look: Any) -> Chart:
    """A curve for each routing; lines join neighbours of the grid alone, unless another is given."""
    return panel(rows, "routing", "load", y, LOOK, LOAD, y_title, legend=LEGEND, **{"step": STEP, **PANEL, **look})


def describe(of: Setting) -> str:
    """The networks in words."""
    return "tori of " + " and ".join(f"{k} x {k} x {k}" for k in of.sides) + " routers"


def options(of: Setting) -> str:
    """The runs in Markdown."""
    rows = [
        [reading, name, toml_line(table)] for reading, routings in ROUTINGS.items() for name, table in routings.items()
    ]
    table = markdown_table(["reading", "routing", "`[routing]`"], rows)
    author = (
        f"The author's reading uses the packet-level node, with {of.messages} messages of {of.packets} packets for "
        f"each node, until everything is delivered. A load counts as sustained up to a mean lifetime of {CUT:g} "
        "times the smallest low-load lifetime of the three routings."
    )
    paper = (
        "The reading of the paper uses the input-queued router with credits and a crossbar that takes no time. It "
        f"measures steady states of {of.measured} messages of each node after {of.settling} of warm-up. A load "
        f"counts as sustained if {SHARE:.0%} of it is delivered."
    )
    return f"{table}\n\n{author} {paper} The transposition's network is 8 x 8 x 16 for k = 8."


def size(of: Setting) -> str:
    """How large the networks are."""
    return f"{' and '.join(f'{k**3:,}' for k in of.sides)} routers"


study = Study[Setting, Evidence](
    name="outflank",
    title="OutFlank routing on tori",
    paper=Paper(
        ("F. Versaci",),
        "OutFlank Routing: Increasing Throughput in Toroidal Interconnection Networks",
        "ICPADS 2013",
    ),
    setting=setting,
    network=network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
