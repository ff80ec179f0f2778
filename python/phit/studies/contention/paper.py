"""The paper: its network, its mechanisms, and common parts of its figures.

Options of the mechanisms that the paper leaves open are those of the simulator that made its figures: a counter at the
threshold triggers, Hybrid's candidates only need room, and ECtN's are chosen by the router's own counters.
"""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table, toml_line
from phit.document import Document
from phit.peers import fogsim
from phit.studies.contention.setting import PERIOD, Setting, setting
from phit.studies.kit.charts import Look
from phit.studies.kit.evidence import Evidence as AnyEvidence
from phit.studies.kit.study import Paper, Study

Evidence = AnyEvidence[Setting]
"""The evidence for the rules of the claims."""

NOISE = 0.005
"""Relative difference below which two mechanisms count as equal: seeds differ by less.

Rules are strict except C2, C3, C10 and C17, which compare mechanisms that may be equal.
"""


@dataclass(frozen=True)
class Mechanism:
    """A mechanism as the paper uses it."""

    routing: Document = field(repr=False)
    local_vcs: int = 3
    """Virtual channels of local links (Table I)."""
    large_buffers: Document = field(default_factory=dict)
    """Changes of `routing` for the large buffers of figure 8. The paper tunes OLM there without saying how."""


RESTRICTION: Document = {"coefficient": 1.5, "packets": 5}
"""Because of credits, packets of OLM and Hybrid leave a minimal global port only if it is occupied this much more than
the mean of its router's global ports.

The paper does not give this value; it is the default of its simulator.
"""

PB_COEFFICIENT = 1.0
"""PB flags a global link that holds more than this factor times the mean of its router's links, plus T packets.

The paper only gives T = 3. The default of its simulator is 2; with this value, PB accepts 0.28 under ADV+1 at 0.35 (p =
8), where the paper shows it slightly behind VAL.
"""

MECHANISMS = {
    "MIN": Mechanism({"kind": "minimal"}),
    "VAL": Mechanism({"kind": "valiant", "second_half": "next"}, local_vcs=4),
    "PB": Mechanism(
        {
            "kind": "piggyback",
            "coefficient": PB_COEFFICIENT,
            "local_threshold": 3,
            "global_threshold": 3,
            "second_half": "next",
        },
        local_vcs=4,
    ),
    "OLM": Mechanism({"kind": "olm", "threshold": 0.5, "restriction": RESTRICTION}),
    "Base": Mechanism({"kind": "contention_base", "comparison": "reaches"}),
    "Hybrid": Mechanism(
        {
            "kind": "contention_hybrid",
            "credit_threshold": 0.35,
            "comparison": "reaches",
            "candidates": "any",
            "restriction": RESTRICTION,
        },
    ),
    "ECtN": Mechanism(
        {"kind": "ectn", "period": PERIOD, "comparison": "reaches", "candidates": "local", "updates": "free"},
    ),
}
"""Mechanisms in the order of the paper's legends."""

COUNTERS = ("Base", "Hybrid", "ECtN")
"""The mechanisms with contention counters."""

ADAPTIVE = ("PB", "OLM", *COUNTERS)


def routing(name: str, setting: Setting, **changes: Any) -> Document:
    """The `[routing]` of a mechanism at a scale."""
    return {**MECHANISMS[name].routing, **setting.thresholds.get(name, {}), **changes}


UNIFORM: Document = {"kind": "uniform"}


def adversarial(offset: int) -> Document:
    """ADV+i: every packet goes to the group `offset` further."""
    return {"kind": "adversarial", "offset": offset}


def patterns(setting: Setting) -> dict[str, Document]:
    """The paper's patterns by name: UN, ADV+1 and ADV+h."""
    return {"UN": UNIFORM, "ADV+1": adversarial(1), f"ADV+{setting.h}": adversarial(setting.h)}


def far(setting: Setting) -> str:
    """The name of ADV+h."""
    return f"ADV+{setting.h}"


def network(setting: Setting) -> Document:
    """The part of the scenarios that all runs share."""
    return {"topology": {"kind": "dragonfly", "p": setting.p, "a": setting.a, "h": setting.h}}


def scenario(setting: Setting, mechanism: str, pattern: Document, load: float, seed: int, **changes: Any) -> Document:
    """One steady state; `changes` are keys of `[routing]`."""
    return {
        **network(setting),
        "seed": seed,
        "router": fogsim.router(MECHANISMS[mechanism].local_vcs),
        "routing": routing(mechanism, setting, **changes),
        "traffic": {"pattern": pattern, "process": "bernoulli", "load": load, "packet_size": 8},
        "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
    }


UNIT = "phits/(node·cycle)"

NAMES = ("MIN", "VAL", "PB", "OLM", "Base", "Hybrid", "ECtN")

LOOK = Look.of(NAMES, order=("OLM", "ECtN", "Base", "PB", "VAL", "Hybrid", "MIN"))
"""Each mechanism has one colour and mark in all figures."""


def note(of: Setting) -> str:
    """The network below a chart."""
    return f"Dragonfly p={of.p} a={of.a} h={of.h}, {of.endpoints:,} nodes"


def by_pattern(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each pattern, UN first."""
    names = sorted(table["pattern"].unique(), key=lambda name: (name != "UN", name))
    return [(name, table.filter(pl.col("pattern") == name)) for name in names]


def size(of: Setting) -> str:
    """The size of the network."""
    return f"{of.endpoints:,} endpoints"


def describe(of: Setting) -> str:
    """The network in words."""
    return f"Dragonfly p={of.p} a={of.a} h={of.h}, {size(of)}"


def options(of: Setting) -> str:
    """The runs in Markdown."""
    steady = f"Steady states: {of.warmup:,} cycles of warm-up, {of.cycles:,} measured."
    changing = (
        f"Transients: {of.settle:,} cycles of UN before the recording, {of.before:,} recorded before the change and "
        f"{of.after:,} after it, in bins of {of.bin} cycles."
    )
    router = (
        "The router follows Table I: 5 cycles, a frequency speedup of 2, output buffers of 32 phits, links of 10 "
        "and 100 cycles, packets of 8 phits, virtual cut-through."
    )
    choices = (
        "The paper leaves open whether a counter at its threshold triggers (`comparison`), and which outputs Hybrid "
        "and ECtN may take instead (`candidates`). It does not name the `restriction` of OLM and Hybrid. The study "
        "follows the simulator that made the paper's figures."
    )
    rows = [[name, toml_line(routing(name, of)), str(MECHANISMS[name].local_vcs)] for name in MECHANISMS]
    table = markdown_table(["mechanism", "`[routing]`", "local VCs"], rows)
    return f"{table}\n\n{choices}\n\n{steady} {changing} {router}"


study = Study[Setting, Evidence](
    name="contention",
    title="Contention-based nonminimal adaptive routing",
    paper=Paper(
        ("P. Fuentes", "E. Vallejo", "M. García", "R. Beivide", "G. Rodríguez", "C. Minkenberg", "M. Valero"),
        "Contention-based nonminimal adaptive routing in high-radix networks",
        "IPDPS 2015",
    ),
    setting=setting,
    network=network,
    size=size,
    describe=describe,
    options=options,
    evidence=Evidence,
)
