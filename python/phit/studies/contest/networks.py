"""The three networks, and the mechanisms that are free of deadlock on each, as `phit verify` proves.

All mechanisms on one network have equal links, memory of input ports, crossbar, packets and sources. Each mechanism
divides the memory of a port by itself: into as many virtual channels as it needs, or into queues.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from phit.document import Document
from phit.studies.contest.setting import CLOS, DRAGONFLY, TORUS, Setting

PHITS = 8
"""Phits of a packet."""

LOCAL, GLOBAL = 10, 100
"""Latencies of links in cycles: most links, and global links of the Dragonfly."""

CONTENTION, CASCADE, ALLOCATION, OUTFLANK, ISOLATION, DETOURS, OBLIVIOUS, NOTIFIED = (
    "contention counters (IPDPS 2015)",
    "TPR (HOTI 2016)",
    "high-radix Clos (SC 2006)",
    "OutFlank (ICPADS 2013)",
    "FBICM (DIAB-10-04-1)",
    "global misrouting policies (INA-OCMC 2013)",
    "ACOR (JPDC 2019)",
    "QCN-Switch (CCPE 2019)",
)
"""The source of a mechanism, or the paper that compares itself with it."""


@dataclass(frozen=True)
class Contestant:
    """A mechanism in the form in which it runs on one network."""

    name: str
    paper: str
    routing: Document = field(repr=False)
    channels: Mapping[str, int]
    """Virtual channels of an input port by class of link; ports of endpoints have one."""
    queueing: Document = field(default_factory=lambda: {"kind": "virtual_channels"}, repr=False)
    queues: int = 1
    """Queues of a virtual channel."""
    credits: bool = False
    """Whether it adapts by credits or occupancies only."""


@dataclass(frozen=True)
class Network:
    """A network with its mechanisms."""

    name: str
    words: str
    topology: Document
    endpoints: int
    routers: int
    ports: int
    """Ports of a router, including those of endpoints."""
    links: Mapping[str, tuple[int, int]]
    """Latency of a link in cycles and phits of memory of the input port behind it, by class."""
    adversary: Document
    adversary_words: str
    contestants: tuple[Contestant, ...]

    def router(self, of: Contestant) -> Document:
        """`[router]` for a mechanism: only the division of an input port's memory depends on the mechanism."""
        endpoint = next(iter(self.links.values()))[1]
        links: Document = {"endpoint": {"latency": 1, "vcs": 1, "buffer": endpoint}}
        for name, (latency, memory) in self.links.items():
            vcs = of.channels[name]
            links[name] = {"latency": latency, "vcs": vcs, "buffer": memory // vcs // PHITS * PHITS}
        return {
            "latency": 5,
            "speedup": 2,
            "output_buffer": 32,
            "switching": "virtual_cut_through",
            "admittance": "per_destination",
            "links": links,
        }

    def contestant(self, name: str) -> Contestant:
        """The contestant with this name."""
        return next(of for of in self.contestants if of.name == name)


def mean_vcs(h: int) -> float:
    """Virtual channels of an input port of a balanced Dragonfly under in-transit routing, on average."""
    p, a = h, 2 * h
    return (p * 1 + (a - 1) * IN_TRANSIT["local"] + h * IN_TRANSIT["global"]) / (p + a - 1 + h)


def contention_threshold(h: int) -> int:
    """Section VI-A of the contention paper: twice the mean number of virtual channels of a port, but at most p."""
    return min(h, math.ceil(2 * mean_vcs(h)))


def combined_threshold(h: int) -> int:
    """Threshold of ECtN's combined counters: 10 at h = 8 (table I), else in proportion to the global links."""
    return max(2, round(1.25 * h))


IN_TRANSIT = {"local": 3, "global": 2}
"""Virtual channels of the in-transit mechanisms (table I of the contention paper)."""

SOURCE = {"local": 4, "global": 2}
"""Virtual channels for Valiant routes through a router."""

PROGRESSIVE = {"local": 5, "global": 2}
"""Virtual channels for routes that may leave the minimal one in the second router."""

DIRECT = {"local": 2, "global": 1}
"""Virtual channels for minimal routes."""

CANDIDATES: Document = {"queue": "port", "minimal_candidates": 2, "valiant_candidates": 2, "threshold": 0}
"""The candidates that both UGALs compare in TPR's paper."""

PACKET_TIME = PHITS
"""Cycles of a packet at its source: the unit of time of TPR's counters, because its paper has packets of one phit."""


def tpr(endpoints_per_router: int) -> Document:
    """TPR with table III's thresholds, converted from 18 endpoints and packets of one phit to another router."""
    share = endpoints_per_router / 18 / PACKET_TIME
    return {
        "kind": "tpr",
        "destinations": "group",
        "window": 128 * PACKET_TIME,
        "local_low": 0.8 * share,
        "local_high": 4.0 * share,
        "global_low": 0.33 / PACKET_TIME,
        "global_high": 0.6 / PACKET_TIME,
        "thr": 1.0 / PACKET_TIME,
    }


def isolation(memory: int) -> Document:
    """FBICM with the thresholds of its study as shares of a port's memory: 1/16, 1/32 and 1/64, in whole packets."""

    def packets(part: int) -> int:
        return max(1, round(memory / part / PHITS)) * PHITS

    stop = max(2 * PHITS, packets(32))
    return {"kind": "fbicm", "detection": max(packets(16), stop), "stop": stop, "go": min(packets(64), stop - PHITS)}


def notified() -> Document:
    """QCN-Switch with its congestion points at a queue of four packets, an eighth of the memory behind local links."""
    return {"kind": "qcn_switch", "set_point": 4 * PHITS}


def queued(channels: Mapping[str, int], ports: int, memory: int) -> list[Contestant]:
    """The queue organisations of the FBICM report, with deterministic tables.

    VOQnet is left out: a queue of two packets for each endpoint exceeds the memory of a port.
    """
    table: Document = {"kind": "table"}
    rows: list[tuple[str, Document, int]] = [
        ("DBBM", {"kind": "dbbm", "queues": 8}, 8),
        ("VOQsw", {"kind": "voqsw"}, ports),
        ("FBICM", isolation(memory), 9),
    ]
    return [Contestant(name, ISOLATION, table, channels, queueing, queues) for name, queueing, queues in rows]


def dragonfly(of: Setting) -> Network:
    """A balanced Dragonfly."""
    h = of.h
    p, a = h, 2 * h
    ports = p + a - 1 + h
    threshold: Document = {"threshold": contention_threshold(h), "comparison": "reaches"}
    restriction: Document = {"restriction": {"coefficient": 1.5, "packets": 5}}
    valiant: Document = {"second_half": "next"}
    piggyback = {"coefficient": 1.0, "local_threshold": 3, "global_threshold": 3, **valiant}
    ectn = {**threshold, "combined_threshold": combined_threshold(h), "candidates": "local", "updates": "full"}
    hybrid = {**threshold, "threshold": threshold["threshold"] + 1, "credit_threshold": 0.35, "candidates": "any"}
    contestants = (
        Contestant("MIN", CONTENTION, {"kind": "minimal"}, DIRECT),
        Contestant("VAL", CONTENTION, {"kind": "valiant", **valiant}, SOURCE),
        Contestant("UGAL-L", CASCADE, {"kind": "ugal_l", **CANDIDATES}, SOURCE, credits=True),
        Contestant("UGAL-G", CASCADE, {"kind": "ugal_g", **CANDIDATES, "cost": "queue"}, SOURCE, credits=True),
        Contestant("TPR", CASCADE, tpr(p), SOURCE),
        Contestant("PB", CONTENTION, {"kind": "piggyback", **piggyback}, SOURCE, credits=True),
        Contestant("OLM", CONTENTION, {"kind": "olm", "threshold": 0.5, **restriction}, IN_TRANSIT, credits=True),
        Contestant("Base", CONTENTION, {"kind": "contention_base", **threshold}, IN_TRANSIT),
        Contestant("Hybrid", CONTENTION, {"kind": "contention_hybrid", **hybrid, **restriction}, IN_TRANSIT),
        Contestant("ECtN", CONTENTION, {"kind": "ectn", **ectn}, IN_TRANSIT),
        *queued(DIRECT, ports, of.memory[DRAGONFLY]),
    )
    groups = a * h + 1
    states: Document = {"states": {"per": "router"}}
    heirs = (
        Contestant("CRG", DETOURS, {"kind": "oblivious", "reach": "router", "via": "router", **valiant}, SOURCE),
        Contestant("RRG", DETOURS, {"kind": "oblivious", "reach": "group", "via": "router", **valiant}, SOURCE),
        Contestant("ACOR", OBLIVIOUS, {"kind": "acor", **states, **valiant}, SOURCE),
        Contestant("ACOR (packet)", OBLIVIOUS, {"kind": "acor", "states": {"per": "packet"}, **valiant}, SOURCE),
        Contestant("SRC-ADP", DETOURS, {"kind": "src_adp", "reach": "router", **piggyback}, SOURCE, credits=True),
        Contestant("PB-ACOR", OBLIVIOUS, {"kind": "pb_acor", **states, **piggyback}, SOURCE, credits=True),
        Contestant("PAR", CASCADE, {"kind": "par"}, PROGRESSIVE, credits=True),
        Contestant("MIN-COND", OBLIVIOUS, {"kind": "min_cond"}, IN_TRANSIT, credits=True),
        Contestant("QCN", NOTIFIED, notified(), IN_TRANSIT),
    )
    return Network(
        name=DRAGONFLY,
        words=f"Dragonfly p={p} a={a} h={h}",
        topology={"kind": "dragonfly", "p": p, "a": a, "h": h},
        endpoints=p * a * groups,
        routers=a * groups,
        ports=ports,
        links={"local": (LOCAL, of.memory[DRAGONFLY]), "global": (GLOBAL, of.global_memory)},
        adversary={"kind": "adversarial", "offset": 1},
        adversary_words="ADV+1: every packet goes to the next group, over one global link if it goes minimally",
        contestants=(*contestants, *heirs),
    )


def folded_clos(of: Setting) -> Network:
    """A k-ary n-tree, the network of the FBICM report."""
    levels = [f"level{i + 1}" for i in range(of.levels - 1)]
    four, one = (dict.fromkeys(levels, vcs) for vcs in (4, 1))
    allocations: dict[str, Document] = {
        "oblivious": {"allocation": "oblivious"},
        "greedy": {"allocation": "greedy"},
        "greedy_r(2)": {"allocation": "greedy_r", "samples": 2},
        "sequential_r(2)": {"allocation": "sequential_r", "samples": 2},
        "sequential": {"allocation": "sequential"},
    }
    counters: Document = {"kind": "clos", "allocation": "sequential", "measure": "contention"}
    contestants = (
        Contestant("tables", ISOLATION, {"kind": "table"}, four),
        *(
            Contestant(name, ALLOCATION, {"kind": "clos", **rule}, four, credits=name != "oblivious")
            for name, rule in allocations.items()
        ),
        Contestant("counters", CONTENTION, counters, four),
        Contestant("VAL", CONTENTION, {"kind": "valiant"}, four),
        *queued(one, 2 * of.arity, of.memory[CLOS]),
    )
    return Network(
        name=CLOS,
        words=f"{of.arity}-ary {of.levels}-tree",
        topology={"kind": "k_ary_n_tree", "arity": of.arity, "levels": of.levels},
        endpoints=of.arity**of.levels,
        routers=of.levels * of.arity ** (of.levels - 1),
        ports=2 * of.arity,
        links=dict.fromkeys(levels, (LOCAL, of.memory[CLOS])),
        adversary={"kind": "bit_reverse"},
        adversary_words="bit reverse: by the tables all packets of a leaf switch go up over one link",
        contestants=contestants,
    )


def torus(of: Setting) -> Network:
    """A torus with an endpoint at every router."""
    dims = [f"dim{i}" for i in range(len(of.sides))]
    four, two = (dict.fromkeys(dims, vcs) for vcs in (4, 2))
    ports = 1 + 2 * len(of.sides)
    counting: Document = {"kind": "contention_grid", "threshold": 2, "comparison": "reaches"}
    contestants = (
        Contestant("DOR", OUTFLANK, {"kind": "dimension_order"}, four),
        Contestant("VAL", CONTENTION, {"kind": "valiant"}, four),
        Contestant("counters", CONTENTION, counting, four),
        Contestant("ABR", OUTFLANK, {"kind": "abr"}, four, credits=True),
        Contestant("POR", OUTFLANK, {"kind": "por"}, four, credits=True),
        Contestant("OFR", OUTFLANK, {"kind": "outflank"}, four, credits=True),
        *queued(two, ports, of.memory[TORUS]),
    )
    return Network(
        name=TORUS,
        words="torus of " + " x ".join(str(side) for side in of.sides) + " routers",
        topology={"kind": "torus", "dims": list(of.sides)},
        endpoints=math.prod(of.sides),
        routers=math.prod(of.sides),
        ports=ports,
        links=dict.fromkeys(dims, (LOCAL, of.memory[TORUS])),
        adversary={"kind": "tornado"},
        adversary_words="tornado: every packet goes almost half-way round in every dimension, all in one direction",
        contestants=contestants,
    )


MAKERS = {DRAGONFLY: dragonfly, CLOS: folded_clos, TORUS: torus}
"""Networks by name."""


def network(name: str, of: Setting) -> Network:
    """The network with this name at a scale."""
    return MAKERS[name](of)
