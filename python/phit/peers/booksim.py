"""BookSim 2: its input-queued router, and the zero-load latency of networks of such routers."""

import math

from phit.document import Document

UNIFORM: Document = {"kind": "uniform", "include_self": True}
"""BookSim's uniform traffic: an endpoint may draw itself."""

OBLIVIOUS_UP: Document = {"kind": "clos", "allocation": "oblivious"}
"""BookSim's `nca`: every upward hop in a fat tree is drawn at random."""

ADAPTIVE_UP: Document = {
    "kind": "clos",
    "allocation": "greedy_r",
    "samples": 2,
    "precompute": 2,
    "decide": "arrival",
    "redecide": False,
    "busy": "ignored",
}
"""BookSim's `anca`.

An endpoint reads the credits of the first router when it sends the head, two cycles and any wait before the head
arrives, and keeps the choice. A channel that is held, or full, does not count.
"""


def router(
    *,
    vcs: int = 4,
    buffer: int = 8,
    routing_delay: int = 0,
    switch_delay: int = 1,
    credit_delay: int = 2,
    speedup: float = 1,
    channel: int = 1,
    allocator: str = "islip",
    speculative: bool = False,
) -> Document:
    """BookSim's input-queued router: stages of one router cycle each, flits of one phit.

    On a speculative pipeline, a head requests channel and crossbar at once. iSLIP has no priorities and so treats a
    head without a channel like any other; the other allocators grant such heads last.
    """
    return {
        "latency": 1 + switch_delay,
        "allocation_delay": routing_delay,
        "vc_allocation": "speculative" if speculative else "stage",
        **({"speculation": "alike"} if speculative and allocator == "islip" else {}),
        "speedup": speedup,
        "clock": "crossbar",
        "switching": "wormhole",
        "flit_size": 1,
        "credit_release": "input",
        "credit_channel": "one_per_cycle",
        "credit_delay": credit_delay,
        "injection_queue": "round_robin",
        "allocator": {"kind": allocator},
        "links": {
            "endpoint": {
                "latency": 1,
                "injection_credit_latency": 2,
                "ejection_latency": 0,
                "ejection_buffer": buffer,
                "vcs": vcs,
                "buffer": buffer,
            },
            "default": {"latency": channel, "vcs": vcs, "buffer": buffer},
        },
    }


def latency_when_empty(
    routers: float,
    *,
    packet: int = 1,
    routing_delay: int = 0,
    switch_delay: int = 1,
    speedup: float = 1,
    channel: int = 1,
    speculative: bool = False,
) -> float:
    """Latency in cycles of a packet through `routers` empty routers, which may be a mean over packets.

    The latency is the sum of one cycle in the source, one on the injection channel and one on the ejection channel, the
    stages of every router, the channels between routers, and the flits behind the head. The other settings of `router`
    have no effect, as long as buffers hold the flits that are on their way. With a fractional speedup, a head takes a
    cycle more or less in some routers; this is the latency if it begins every router at the first step of a period.
    """
    stages = routing_delay + (1 if speculative else 2) + switch_delay
    return 3 + routers * math.ceil(stages / speedup) + (routers - 1) * channel + packet - 1
