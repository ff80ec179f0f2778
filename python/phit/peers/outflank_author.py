"""The simulator of the OutFlank paper's author (F. Versaci, ICPADS 2013): its runs and numbers, and how gamma* is read.

Loads are multiples of gamma_0, the load that saturates the bisection; gamma* is the largest sustained load.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources

import polars as pl

from phit.document import Document

CYCLE = "1/60 ns"
"""The cycle in which every time of table 1 is a whole number, including those of answers and of the injection clock."""

PER_MICROSECOND = 60_000
"""Cycles of a microsecond."""

PHITS_PER_BYTE = 120
"""A phit is 1/15 bit, so that a link carries a whole number of phits in a cycle."""

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
"""Patterns by the paper's names; the last is not in the paper."""

_CHOICES: Document = {
    "half_way": "plus",
    "empty_queue": "every_way",
    "full_way": "worthless",
    "least_distance": 2,
}

ROUTINGS: dict[str, Document] = {
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
}
"""Mechanisms with the choices that the paper does not mention."""


def links() -> Document:
    """The links of table 1."""
    return {
        "default": {"latency": "200 ns", "bandwidth": "20 Gb/s", "vcs": 3, "buffer": "4096 B"},
        "endpoint": {"latency": "80 ns", "bandwidth": "64 Gb/s", "vcs": 1, "buffer": "4096 B"},
    }


def message_cycles(sides: Sequence[int], gamma: float, packets: int, per_microsecond: int = PER_MICROSECOND) -> float:
    """Cycles between two messages of a node at load gamma on a torus; gamma_0 is 8 / k of a link."""
    return max(sides) / 8 * packets * PACKET_NS / gamma * per_microsecond / 1000


def scenario(
    pattern: str, sides: Sequence[int], routing: Document, gamma: float, *, packets: int, messages: int, seed: int
) -> Document:
    """A scenario in which each node of a torus sends `messages` messages, until all are delivered."""
    return {
        "seed": seed,
        "units": {"cycle": CYCLE},
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
            "cycles": round(messages * message_cycles(sides, gamma, packets)) + 1,
            "count": "generated",
            "max_drain": 1_000_000_000,
            "histogram": False,
        },
    }


SIDES = (8, 16)
"""k of the networks of k x k x k routers."""

RANDOM = ("Uniform",)
"""Patterns with random choices. For any other pattern and the author's clocks, the seed changes nothing."""

TABLE_2 = {
    "Butterfly/FFT": {"ABR": (0.30, 0.35), "POR": (0.55, 0.55), "OFR": (0.60, 0.75)},
    "Transposition": {"ABR": (0.50, 0.55), "POR": (0.60, 0.70), "OFR": (0.50, 0.75)},
    "3D Transposition": {"ABR": (0.25, 0.20), "POR": (0.45, 0.40), "OFR": (0.45, 0.35)},
    "Uniform": {"ABR": (0.55, 0.70), "POR": (0.70, 0.80), "OFR": (0.70, 0.80)},
    "Bit-Reverse": {"ABR": (0.35, 0.40), "POR": (0.60, 0.50), "OFR": (0.50, 0.60)},
}
"""gamma* as the paper prints it, for k = 8 and 16."""


@cache
def stored_lifetimes() -> pl.DataFrame:
    """Mean lifetimes from the author's repository in microseconds, by `k`, `pattern`, `routing` and `load`.

    They belong to the paper's tables: revision 608afe3 of the simulator's `altro-results/plots.txt` for k = 8 and
    2befb19 for k = 16, in the time scale of table 1. They have no error bars, because there is one run for each.
    """
    text = resources.files(__package__).joinpath("outflank_author.csv").read_bytes()
    return pl.read_csv(text).with_columns(lifetime_us_half=pl.lit(0.0))


def sustained(pattern: str, routing: str, k: int) -> float:
    """One number of table 2."""
    return TABLE_2[pattern][routing][SIDES.index(k)]


FIRST = 0.1
"""The first load of the paper's grid, which serves as low load."""

STEP = 0.05
"""Distance between two loads of the grid."""

CUT = 1.40
"""A load counts as sustained up to this multiple of the smallest low-load lifetime."""

CUT_WORDS = (
    f"last load with a mean lifetime of at most {CUT:g} times the smallest low-load lifetime of the three routings"
)
"""The rule that reads gamma* from short runs. The paper does not say how it read gamma*."""
