"""The two readings of the paper as scenarios.

`author`: the node of the simulator that made its numbers, with the choices that the text does not mention. `paper`:
what the text says, and credits in place of answers, in the input-queued router.
"""

from collections.abc import Sequence

from phit.scenario import Document

AUTHOR, PAPER = "author", "paper"

CYCLE = {AUTHOR: "1/60 ns", PAPER: "1.6 ns"}
"""In 1/60 ns every time of table 1 is a whole number, those of answers and of the clock of the injection among them."""

PHITS_PER_BYTE = 120
"""In the author's node: of 1/15 bit, so that what a link carries in a cycle is a whole number."""

PER_MICROSECOND = {AUTHOR: 60_000, PAPER: 625}
"""Cycles of a microsecond."""

PACKET_NS = 204.8
"""512 B at 20 Gb/s."""

PATTERNS: dict[str, Document] = {
    "Butterfly/FFT": {"kind": "fft"},
    "Transposition": {"kind": "transpose"},
    "3D Transposition": {"kind": "rotation"},
    "Uniform": {"kind": "uniform", "include_self": True},
    "Bit-Reverse": {"kind": "bit_reverse"},
    "Bit complement": {"kind": "bit_complement"},
}

_CHOICES: Document = {
    "half_way": "plus",
    "empty_queue": "every_way",
    "full_way": "worthless",
    "least_distance": 2,
}

ROUTINGS: dict[str, dict[str, Document]] = {
    AUTHOR: {
        "ABR": {"kind": "abr", "half_way": "plus"},
        "POR": {"kind": "por", "eta": 1.0, "mean": "all_dimensions", **_CHOICES},
        "OFR": {
            "kind": "outflank",
            "delta": 2,
            "eta": 2.0,
            "midpoint": "folded",
            "collinear": "negative_side",
            "mean": "second_leg",
            **_CHOICES,
        },
    },
    PAPER: {
        "ABR": {"kind": "abr"},
        "POR": {"kind": "por", "eta": 1.0},
        "OFR": {"kind": "outflank", "delta": 2, "eta": 2.0},
    },
}


def dims(pattern: str, k: int) -> list[int]:
    """Sides of the network: a transposition needs a square number of nodes, so that k = 8 becomes 8 x 8 x 16."""
    return [k, k, 2 * k] if pattern == "Transposition" and (k**3).bit_length() % 2 == 0 else [k, k, k]


def links(vcs: int = 3) -> Document:
    """Table 1."""
    return {
        "default": {"latency": "200 ns", "bandwidth": "20 Gb/s", "vcs": vcs, "buffer": "4096 B"},
        "endpoint": {"latency": "80 ns", "bandwidth": "64 Gb/s", "vcs": 1, "buffer": "4096 B"},
    }


def message_cycles(sides: Sequence[int], gamma: float, packets: int, reading: str) -> float:
    """Cycles between two messages of a node at load gamma on a torus: gamma_0 is 8 / k of a link."""
    return max(sides) / 8 * packets * PACKET_NS / gamma * PER_MICROSECOND[reading] / 1000


def author(
    pattern: str, sides: Sequence[int], routing: Document, gamma: float, *, packets: int, messages: int, seed: int
) -> Document:
    """One of the author's runs: so many messages of each node, until everything is delivered."""
    return {
        "seed": seed,
        "units": {"cycle": CYCLE[AUTHOR]},
        "topology": {"kind": "torus", "dims": list(sides)},
        "router": {
            "node": {"answer": "10 B", "injection_rate": 2.4, "injection_room": "more_than_half"},
            "links": links(),
        },
        "routing": routing,
        "traffic": {
            "pattern": PATTERNS[pattern],
            "load": gamma,
            "load_unit": "bisection",
            "packet_size": "512 B",
            "process": {"kind": "periodic", "phase": "zero"},
            "message": {"packets": packets, "count": messages},
        },
        "measure": {
            "warmup": 0,
            "cycles": round(messages * message_cycles(sides, gamma, packets, AUTHOR)) + 1,
            "count": "generated",
            "max_drain": 1_000_000_000,
            "histogram": False,
        },
    }


def steady(
    topology: Document,
    pattern: Document,
    routing: Document,
    gamma: float,
    *,
    warmup: int,
    cycles: int,
    seed: int,
    packets: int = 96,
    switching: str = "store_and_forward",
) -> Document:
    """A steady state of the input-queued router with credits: the same links, queues and messages."""
    return {
        "seed": seed,
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
