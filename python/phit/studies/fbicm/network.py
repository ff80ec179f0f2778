"""Scenarios of the schemes (section 5.1)."""

from typing import Any

from phit.scenario import Document
from phit.studies.fbicm.setting import Network

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

Of the scan in the figure `thresholds` these lose least against VOQnet on both cases: early stops isolate better, but
cost throughput where congestion is short.
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
"""Those of the report's figures."""

VERSIONS = ("FBICM", "FBICM first")


def buffer(scheme: str, endpoints: int) -> int:
    """Bytes of a port's memory."""
    return VOQNET_QUEUE * endpoints if scheme == "VOQnet" else MEMORY


def topology(network: Network) -> Document:
    """`[topology]`."""
    return {"kind": "k_ary_n_tree", "arity": network.arity, "levels": network.levels}


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


def scenario(
    network: Network, scheme: str, traffic: Document, measure: Document, seed: int, **queueing: Any
) -> Document:
    """One run; `queueing` are keys of `[queueing]`."""
    return {
        "seed": seed,
        "topology": topology(network),
        "router": router(scheme, network.endpoints),
        "routing": {"kind": "table"},
        "queueing": {**QUEUEING[scheme], **queueing},
        "traffic": {"packet_size": PACKET, **traffic},
        "measure": {"histogram": False, "order": True, **measure},
    }
