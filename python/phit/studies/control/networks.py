"""The networks, and the schemes that protect victims: queue organisations, congestion controls, and both together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from phit.document import Document
from phit.studies.control.setting import DRAGONFLY, NETWORKS, SLIM_FLY, TREE, Setting
from phit.studies.kit.scale import Scale

MEMORY = 8192
"""Phits of the memory of an input port."""

VOQNET_QUEUE = 256
"""Phits of a queue of VOQnet, of which a port has one for each endpoint."""

PACKET = 64
"""Phits of a packet."""

ONE_QUEUE: Document = {"kind": "virtual_channels"}

FBICM: Document = {"kind": "fbicm", "cfqs": 8, "destinations": 8, "detection": 512, "stop": 256, "go": 128}
"""The thresholds of the study `fbicm`."""

INFINIBAND: Document = {"kind": "infiniband", "threshold": 15, "ccti_timer": 2000}
"""The highest threshold of the annex, one entry more for each notification, and a timer from the figure `tuning`."""

DCQCN: Document = {
    "kind": "dcqcn",
    "kmin": 512,
    "kmax": 4096,
    "pmax": 0.1,
    "notification_interval": 1000,
    "alpha_timer": 1000,
    "increase_timer": 1000,
    "increase_phits": 100_000,
    "gain": 0.0625,
}
"""Thresholds within a port's memory and timers from the figure `tuning`. The defaults belong to memories of
megabytes."""

ECN: Document = {"kind": "ecn", "threshold": 1024, "root_threshold": 4096, "timer": 300}

QCN: Document = {
    "kind": "qcn",
    "set_point": 1024,
    "sample_base": 4096,
    "byte_reset": 16_384,
    "time_reset": 8000,
    "active_increase": 0.005,
    "hyper_increase": 0.02,
}
"""The standard's intervals belong to links of 10 Gb/s and memories of megabytes; these are shorter in proportion."""


SMSRP: Document = {"kind": "smsrp", "time_to_live": 1000, "overhead": 1.05}

LHRP: Document = {"kind": "lhrp", "threshold": 1000, "overhead": 1}

KINDS_OF_PACKETS = {"smsrp": 5, "lhrp": 3}
"""Kinds of packets of the protocols by which sources reserve time. Each kind has virtual channels of its own."""

DROPPING: Document = {
    "switching": "wormhole",
    "flit_size": PACKET,
    "vc_allocation": "stage",
    "vc_eligible": "with_packet_room",
    "allocator": {"kind": "separable_input_first", "priority": "class"},
}
"""`[router]` of these protocols: packets are dropped while they wait for a virtual channel, and a packet is a flit."""


@dataclass(frozen=True)
class Scheme:
    """A way to protect victims."""

    name: str
    queueing: Document = field(default_factory=lambda: ONE_QUEUE, repr=False)
    congestion: Document | None = field(default=None, repr=False)
    tables: bool = False
    """Whether it needs routing by tables."""

    @property
    def isolates(self) -> bool:
        """Whether it gives packets to a hot spot queues of their own."""
        return self.queueing != ONE_QUEUE

    @property
    def throttles(self) -> bool:
        """Whether it slows sources down."""
        return self.congestion is not None

    @property
    def kinds(self) -> int:
        """Kinds of packets with virtual channels of their own."""
        return KINDS_OF_PACKETS.get(self.congestion["kind"], 1) if self.congestion else 1

    @property
    def reserves(self) -> bool:
        """Whether sources reserve time at destinations: such a scheme takes no programs and no adaptive routes."""
        return self.kinds > 1


NONE = "none"

COORDINATED = "ICI"
"""FBICM and DCQCN of which switches mark isolated packets only, as Improved Congestion Isolation (arXiv 2511.04639)."""

SCHEMES = (
    Scheme(NONE),
    Scheme("DBBM", {"kind": "dbbm", "queues": 8}),
    Scheme("VOQnet", {"kind": "voqnet"}),
    Scheme("FBICM", FBICM, tables=True),
    Scheme("InfiniBand", congestion=INFINIBAND),
    Scheme("DCQCN", congestion=DCQCN),
    Scheme("ECN", congestion=ECN),
    Scheme("QCN", congestion=QCN),
    Scheme("SMSRP", congestion=SMSRP),
    Scheme("LHRP", congestion=LHRP),
    Scheme("FBICM + InfiniBand", FBICM, INFINIBAND, tables=True),
    Scheme("FBICM + DCQCN", FBICM, DCQCN, tables=True),
    Scheme(COORDINATED, {**FBICM, "marks": "isolated"}, DCQCN, tables=True),
    Scheme("DBBM + InfiniBand", {"kind": "dbbm", "queues": 8}, INFINIBAND),
)
"""Every scheme, in the order of tables and legends."""

CONTROLS = tuple(of.name for of in SCHEMES if of.throttles and not of.isolates)
"""Controls alone."""

THROTTLES = tuple(name for name in CONTROLS if not next(of for of in SCHEMES if of.name == name).reserves)
"""Controls alone that slow sources down by notifications."""

TOGETHER = {
    "FBICM + InfiniBand": "InfiniBand",
    "FBICM + DCQCN": "DCQCN",
    COORDINATED: "DCQCN",
    "DBBM + InfiniBand": "InfiniBand",
}
"""Isolation together with a control, and that control alone."""


def scheme(name: str) -> Scheme:
    """The scheme with this name."""
    return next(of for of in SCHEMES if of.name == name)


@dataclass(frozen=True)
class Network:
    """A network."""

    name: str
    words: str
    topology: Document
    endpoints: int
    channels: Mapping[str, int]
    """Virtual channels of an input port by class of link, for minimal routing by tables; ports of endpoints have
    one."""
    adaptive: Document | None = field(default=None, repr=False)
    """Routing that chooses among several ways, where that needs no more virtual channels."""

    def target(self) -> int:
        """The endpoint of the incast: in the middle."""
        return self.endpoints // 2

    def aggressors(self, count: int) -> list[int]:
        """Endpoints spread over the network, the target left out."""
        others = [endpoint for endpoint in range(self.endpoints) if endpoint != self.target()]
        return [others[i * len(others) // count] for i in range(count)]

    def router(self, of: Scheme) -> Document:
        """`[router]`: crossbars as fast as links, and the same memory for every scheme but VOQnet."""
        memory = VOQNET_QUEUE * self.endpoints if of.queueing["kind"] == "voqnet" else MEMORY
        links: Document = {}
        for name, hops in {"default": 1, **self.channels, "endpoint": 1}.items():
            channels = hops * of.kinds
            links[name] = {"latency": 1, "vcs": channels, "buffer": memory // channels}
        router: Document = {"latency": 1, "speedup": 1, "links": links}
        if of.reserves:
            router |= DROPPING
        # A congestion control has a queue for each destination at every endpoint. The others have them, too.
        return router if of.throttles else {**router, "admittance": "per_destination"}


def tree(of: Setting) -> Network:
    """A k-ary n-tree."""
    return Network(
        TREE,
        f"{of.arity}-ary {of.levels}-tree",
        {"kind": "k_ary_n_tree", "arity": of.arity, "levels": of.levels},
        of.arity**of.levels,
        {},
        adaptive={"kind": "clos", "allocation": "greedy"},
    )


def dragonfly(of: Setting) -> Network:
    """A balanced Dragonfly."""
    p, a = of.h, 2 * of.h
    return Network(
        DRAGONFLY,
        f"Dragonfly p={p} a={a} h={of.h}",
        {"kind": "dragonfly", "p": p, "a": a, "h": of.h},
        p * a * (a * of.h + 1),
        {"local": 2, "global": 1},
    )


def slim_fly(of: Setting) -> Network:
    """A Slim Fly with the usual number of endpoints: half of a router's links to others, rounded up."""
    routers = 2 * of.q**2
    degree = (3 * of.q - (1 if of.q % 4 == 1 else -1)) // 2
    each = math.ceil(degree / 2)
    return Network(
        SLIM_FLY,
        f"Slim Fly q={of.q}",
        {"kind": "slim_fly", "q": of.q, "endpoints_per_router": each},
        routers * each,
        {"default": 2},
    )


MAKERS = {TREE: tree, DRAGONFLY: dragonfly, SLIM_FLY: slim_fly}


def network(name: str, of: Setting) -> Network:
    """The network with this name at a scale."""
    return MAKERS[name](of)


def chosen(of: Setting) -> list[Network]:
    """The networks of a scale: the smallest has the tree alone."""
    return [network(name, of) for name in (NETWORKS[:1] if of.scale is Scale.SMOKE else NETWORKS)]
