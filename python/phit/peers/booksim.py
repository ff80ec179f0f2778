"""BookSim 2: its input-queued router, and what a packet takes through an empty network of such routers."""

import math

from phit.document import Document

UNIFORM: Document = {"kind": "uniform", "include_self": True}
"""Its uniform traffic: an endpoint may draw itself."""

OBLIVIOUS_UP: Document = {"kind": "clos", "allocation": "oblivious"}
"""Its `nca`: every way up a fat tree is drawn."""

ADAPTIVE_UP: Document = {
    "kind": "clos",
    "allocation": "greedy_r",
    "samples": 2,
    "precompute": 2,
    "decide": "arrival",
    "redecide": False,
    "busy": "ignored",
}
"""Its `anca`. It reads the credits of the first router when the endpoint sends the head, two cycles before it is there
and whatever waits there before it, and keeps what it chose. That a channel is held, or full, counts for nothing."""


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

    On a speculative pipeline a head asks for channel and crossbar at once. iSLIP knows no priorities: it grants heads
    without a channel as others, the other allocators after them.
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
    """Latency in cycles of a packet through so many of these routers, or of packets that pass so many in the mean.

    One cycle in the source, one on the injection and one on the ejection channel, the stages of every router, the
    channels between them, and the flits behind the head. The other settings of `router` play no part, as long as the
    buffers hold the flits that are on their way. A speedup that is a fraction has routers in which a head takes a cycle
    more or less than in others: this is the latency if it begins every router at a first step of a period.
    """
    stages = routing_delay + (1 if speculative else 2) + switch_delay
    return 3 + routers * math.ceil(stages / speedup) + (routers - 1) * channel + packet - 1
