"""Contention counters on a HyperX, a torus and a folded Clos, which section VI-D leaves open.

The networks have 256 endpoints, the router of Table I, and links of 10 cycles everywhere.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from phit.base.markdown import markdown_table
from phit.document import Document
from phit.peers import fogsim
from phit.studies.contention.beyond import of_beyond, of_row
from phit.studies.contention.paper import UNIT, study
from phit.studies.contention.setting import Setting
from phit.studies.kit.charts import LOAD_MARKS, Charts, Look, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.plan import Case, seeds_of
from phit.studies.kit.scale import Scale

UNIFORM: Document = {"kind": "uniform"}

LOADS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Offered loads."""

FEW = (0.2, 1.0)
"""Offered loads at the smoke scale, which only shows that everything runs."""


@dataclass(frozen=True)
class Network:
    """A network, its adversarial traffic, and the mechanisms that are compared."""

    words: str
    topology: Document
    vcs: int
    """Virtual channels of its links."""
    patterns: dict[str, Document]
    mechanisms: dict[str, Document]
    """Counters first, then the mechanisms to compare with, from the simplest on."""

    def scenario(self, setting: Setting, mechanism: str, pattern: str, load: float, seed: int) -> Document:
        """One steady state."""
        router = fogsim.router(self.vcs)
        links = {"endpoint": router["links"]["endpoint"], "default": router["links"]["local"]}
        return {
            "topology": self.topology,
            "seed": seed,
            "router": {**router, "links": links},
            "routing": self.mechanisms[mechanism],
            "traffic": {
                "pattern": self.patterns[pattern],
                "process": "bernoulli",
                "load": load,
                "packet_size": 8,
            },
            "measure": {"warmup": setting.warmup, "cycles": setting.cycles},
        }


COUNTERS = "counters"
"""Name of the mechanism with contention counters on each network."""

HYPERX_PORTS = 4
"""Endpoints of a router of the HyperX, which are also its threshold, as p is for a Dragonfly (section VI-A)."""

NETWORKS = {
    "hyperx": Network(
        words="HyperX of 8 x 8 routers with 4 endpoints each",
        topology={"kind": "hyperx", "dims": [8, 8], "endpoints_per_router": HYPERX_PORTS},
        vcs=4,
        patterns={
            "UN": UNIFORM,
            "next router": {"kind": "shift", "offset": HYPERX_PORTS},
            "transposition": {"kind": "transpose"},
        },
        mechanisms={
            COUNTERS: {
                "kind": "contention_grid",
                "alternatives": "nonminimal",
                "threshold": HYPERX_PORTS,
                "comparison": "reaches",
            },
            "dimension order": {"kind": "dimension_order"},
            "Valiant": {"kind": "valiant"},
            "UGAL-L": {"kind": "ugal_l"},
        },
    ),
    "torus": Network(
        words="torus of 8 x 8 x 4 routers",
        topology={"kind": "torus", "dims": [8, 8, 4]},
        vcs=3,
        patterns={"UN": UNIFORM, "transposition": {"kind": "transpose"}, "tornado": {"kind": "tornado"}},
        mechanisms={
            COUNTERS: {"kind": "contention_grid", "threshold": 2, "comparison": "reaches"},
            "dimension order": {"kind": "dimension_order"},
            "adaptive bubble": {"kind": "abr"},
        },
    ),
    "folded-clos": Network(
        words="folded Clos of 16 + 16 routers of radix 32 and 16",
        topology={"kind": "clos", "down": [16, 16], "up": [16]},
        vcs=3,
        patterns={
            "UN": UNIFORM,
            "permutation": {"kind": "permutation"},
            "bit reversal": {"kind": "bit_reverse"},
        },
        mechanisms={
            COUNTERS: {"kind": "clos", "allocation": "greedy", "measure": "contention"},
            "oblivious": {"kind": "clos", "allocation": "oblivious"},
            "credits": {"kind": "clos", "allocation": "greedy"},
        },
    ),
}


@study.figure(
    "topologies",
    title="Beyond the paper: counters on other networks",
    caption="Contention counters in networks of 256 endpoints, beside their usual mechanisms. In a HyperX they "
    "choose nonminimal hops within a row or column, in a torus other minimal hops, and in a folded Clos the "
    "output upwards that fewest heads have chosen.",
    parts=tuple(NETWORKS),
)
def topologies(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-D: counters that choose among several minimal or nonminimal routes."""
    of = of_beyond(setting)
    loads = FEW if setting.scale is Scale.SMOKE else LOADS
    return [
        Case(
            {"network": name, "mechanism": mechanism, "pattern": pattern, "load": load, "seed": seed},
            network.scenario(of, mechanism, pattern, load, seed),
        )
        for name, network in NETWORKS.items()
        for mechanism, pattern, load, seed in product(
            network.mechanisms, network.patterns, loads, seeds_of(seeds, of.seeds)
        )
    ]


@topologies.draw
def _topology_charts(table: pl.DataFrame, setting: Setting) -> Charts:  # noqa: ARG001
    found: Charts = {}
    for name, network in NETWORKS.items():
        rows = table.filter(pl.col("network") == name)
        if rows.is_empty():
            continue
        look = Look.of(tuple(network.mechanisms))
        columns = [
            latency_and_load(of, "mechanism", look, UNIT, title=pattern, width=300)
            for pattern in network.patterns
            if (of := rows.filter(pl.col("pattern") == pattern)).height
        ]
        notes = (seeds_note(rows), f"{LOAD_MARKS}; equal curves hide one another")
        found[name] = finished(beside(*columns), f"Section VI-D: contention counters, {network.words}", notes)
    return found


@topologies.text
def _topology_text(table: pl.DataFrame, setting: Setting) -> str:  # noqa: ARG001
    blocks = []
    for name, network in NETWORKS.items():
        rows = table.filter(pl.col("network") == name)
        if rows.height:
            top = rows.filter(pl.col("load") == max(rows["load"]))
            blocks += [_accepted(top, network), _finding(top, network)]
    return "\n\n".join(blocks)


def _row(rows: pl.DataFrame, mechanism: str, pattern: str) -> dict[str, Any] | None:
    found = rows.filter((pl.col("mechanism") == mechanism) & (pl.col("pattern") == pattern))
    return found.row(0, named=True) if found.height else None


def _carried(row: Mapping[str, Any] | None) -> str:
    return "–" if row is None else of_row(row, "accepted_load", "{:.3f}")


def _accepted(rows: pl.DataFrame, network: Network) -> str:
    """Accepted load of each mechanism under each pattern."""
    cells = [
        (mechanism, *(_carried(_row(rows, mechanism, pattern)) for pattern in network.patterns))
        for mechanism in network.mechanisms
    ]
    return markdown_table((f"accepted of {rows['load'][0]:g}, {network.words}", *network.patterns), cells)


def _finding(rows: pl.DataFrame, network: Network) -> str:
    """Accepted load of counters compared with the best other mechanism."""
    parts = []
    for pattern in network.patterns:
        own = _row(rows, COUNTERS, pattern)
        others = [row for name in network.mechanisms if name != COUNTERS and (row := _row(rows, name, pattern))]
        if own and others:
            parts.append(f"{_beside(own, others)} under {pattern}")
    *first, last = parts
    return f"**Finding:** on this network counters carry {', '.join(first)} and {last}."


def _beside(own: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """Whether the accepted load is more or less than the best of the others, beyond the effect of chance."""
    best = max(others, key=lambda row: float(row["accepted_load"]))
    mine, theirs = own["accepted_load"], best["accepted_load"]
    chance = math.hypot(own["accepted_load_half"] or 0.0, best["accepted_load_half"] or 0.0)
    if abs(mine - theirs) <= chance:
        return f"as much as {best['mechanism']}"
    change = abs(mine / theirs - 1)
    return f"{change:.0%} {'more' if mine > theirs else 'less'} than {best['mechanism']}"
