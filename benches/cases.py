"""The measured cases, with their requirements and their names in words."""

from pathlib import Path
from typing import Any

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
H8, H4 = "dragonfly-h8-uniform-0.3", "dragonfly-h4-uniform-0.3"
TORUS = ("torus-1flit-0.5", "torus-4flit-0.5")

NODES = tuple(
    f"nodes-{side}-{routing}-{load}"
    for side, loads in ((8, (0.55, 0.7, 0.7)), (16, (0.7, 0.8, 0.8)))
    for routing, load in zip(("abr", "por", "outflank"), loads, strict=True)
)
"""Tori of packet-level nodes at the largest loads that the OutFlank paper's table has for uniform traffic."""

CLOS = "clos-27648-sequential-0.5"
HYBRID = "dragonfly-h8-contention_hybrid-uniform-0.3"

ECTN = "dragonfly-h4-ectn-fogsim-adversarial-0.3"

ADAPTIVE = {
    "dragonfly-h8-olm-uniform-0.3": 5.0,
    "dragonfly-h8-piggyback-uniform-0.3": 5.0,
    "dragonfly-h8-contention_base-uniform-0.3": 5.0,
    "dragonfly-h8-ectn-uniform-0.3": 5.0,
    HYBRID: 4.5,
}
"""Adaptive mechanisms, and the million packet-hops per second that are required of each."""

THREADED = {
    H8: 1.6,
    H4: None,
    "clos-27648-oblivious-0.5": 1.8,
    CLOS: 1.8,
    "long-torus-0.3": 1.8,
    "long-mesh-0.04": 1.8,
    "long-hyperx-0.5": 1.8,
    "long-tree-0.4": 1.8,
    "long-multistage-0.3": 1.8,
    "long-cascade-0.3": 1.8,
}
"""Networks that two threads run, and how many times as fast as one it is to be."""

COUNTED = {
    H8: (400, 200),
    "dragonfly-h8-adversarial-0.3": (600, 100),
    "dragonfly-h4-uniform-0.1": (1000, 1500),
    H4: (1000, 1500),
    "dragonfly-h4-uniform-0.45": (1000, 700),
    TORUS[0]: (300, 200),
    TORUS[1]: (300, 200),
    CLOS: (150, 40),
    "clos-27648-oblivious-0.5": (150, 40),
    **dict.fromkeys(ADAPTIVE, (400, 100)),
    ECTN: (1000, 1500),
    "clos-1024-sequential-0.9": (200, 100),
    "tree-256-fbicm-1": (4000, 3000),
    "tree-256-voqnet-1": (4000, 3000),
    "nodes-8-outflank-0.7": (150_000, 300_000),
}
"""Cases run under cachegrind: cycles to warm up, cycles that count."""

STAGED = {
    H8: "h=8",
    H4: "h=4",
    TORUS[0]: "torus",
    CLOS: "folded Clos, sequential",
    "dragonfly-h8-ectn-uniform-0.3": "h=8, ECtN",
    ECTN: "h=4, ADV+1, ECtN",
    HYBRID: "h=8, hybrid",
    "tree-256-fbicm-1": "FBICM",
    "nodes-8-outflank-0.7": "nodes, OutFlank",
}
"""Cases of which it is counted what each stage of a hop takes, and what their columns are called."""

BLOCKS: dict[str, tuple[int | None, ...]] = {
    H8: (1, 16, None, 129),
    H4: (1, None, 33),
    "clos-27648-oblivious-0.5": (1, None),
}
"""Numbers of partitions to compare: none, the automatic one, as many as there are groups."""

LONG = {
    "torus": "16×16×16 torus",
    "mesh": "64×64 mesh",
    "hyperx": "16×16 HyperX of 4,096 endpoints",
    "tree": "8-ary 4-tree",
    "multistage": "butterfly of 4,096 endpoints in four stages",
    "cascade": "33 Cascade groups of 4,224 endpoints, with 100 between them",
}
"""By the middle of a case's name, the networks that are cut at links of 10 cycles."""


def describe(case: str) -> str:
    """A case in words."""
    kind, *rest, load = case.split("-")
    words = {"uniform": "UN, minimal", "adversarial": "ADV+1, Valiant"}
    if kind == "cascade":
        return f"Cascade group of 1,728, UN, {rest[0]}, {load}"
    if kind == "torus":
        return f"8×8×8 torus, {rest[0].removesuffix('flit')}-flit packets, uniform {load}"
    if kind == "booksim":
        what = {"torus": "8×8×8 torus", "fat": "fat tree of 1,024"}[rest[0]]
        return f"{what} as imported from BookSim, 1-flit packets, uniform {load}"
    if kind == "long":
        return f"{LONG[rest[0]]}, links of 10 cycles, UN, minimal, {load}"
    if kind == "nodes":
        return f"{'×'.join([rest[0]] * 3)} torus of packet-level nodes, UN, {rest[1]}, {load}"
    if kind == "clos":
        size, traffic = ("three levels", "UN") if rest[0] == "27648" else ("two levels, 1-flit packets", "wc-UR")
        return f"folded Clos of {int(rest[0]):,} endpoints in {size}, {traffic}, {rest[1]}, {load}"
    if kind == "tree":
        return f"k-ary n-tree of {rest[0]} endpoints, UN, {rest[1]}, {load}"
    size, *options, traffic = rest
    what = words[traffic]
    if mechanism := [option for option in options if option != "fogsim"]:
        what = f"{what.partition(',')[0]}, {mechanism[0]}"
    return f"Dragonfly {size.replace('h', 'h=')}, {what}, {load}{', as FOGSim' if 'fogsim' in rest else ''}"
