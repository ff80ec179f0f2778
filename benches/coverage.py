"""How many confidence intervals hold: many short runs of networks whose long-run means are known.

    python benches/coverage.py [FILE] [--runs 200] [--processes N] [--only NAME] [--share SHARE]

Writes the table into FILE, between two marks, if one is named. The truth is a closed form, or the mean of long runs
with other seeds. Each network and load is one line of the table.
"""

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import phit

WARMUP, CYCLES = 2_000, 8_000
"""Cycles of a run that is judged."""

LONG_WARMUP, LONG_CYCLES, LONG_SEEDS = 50_000, 400_000, 16
"""Cycles and seeds of the runs that determine the true mean."""

FIRST_LONG_SEED = 1_000_000

SHARES = (0.3, 0.6, 0.8, 0.95)
"""Loads as shares of the network's capacity."""

BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"

Document = dict[str, Any]

DRAGONFLY: Document = {
    "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
    "router": {
        "latency": 5,
        "speedup": 2,
        "links": {
            "local": {"latency": 10, "vcs": 4, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    },
}
"""The network of `examples/dragonfly_smoke.toml`."""

ADVERSARIAL = {"kind": "adversarial", "offset": 1}


@dataclass(frozen=True)
class Network:
    """A network with its routing and traffic, but the load."""

    name: str
    words: str
    carries: float
    """The largest load that it sustains, in phits/(endpoint·cycle), by `phit saturate` with long runs."""
    document: Document
    packet: int
    pattern: Any = "uniform"
    latency: Callable[[float], float] | None = None
    """The mean latency in cycles at a load, where there is a closed form."""

    def scenario(self, load: float, seed: int, warmup: int, cycles: int) -> Document:
        """A run."""
        traffic = {"pattern": self.pattern, "packet_size": self.packet, "load": load}
        measure = {"warmup": warmup, "cycles": cycles, "histogram": False}
        return {**self.document, "traffic": traffic, "measure": measure, "seed": seed}


def switch_latency(load: float) -> float:
    """Mean latency of packets of a phit through an output-queued switch of four endpoints.

    In each cycle, each input sends to an output with probability load / 4, and one packet leaves. The mean wait is that
    of Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet switch" (IEEE Transactions on
    Communications 35(12), 1987). The empty switch takes 5 cycles.
    """
    return 5.0 + 3 / 4 * load / (2 * (1 - load))


NETWORKS = (
    Network(
        "switch",
        "output-queued switch, 4 endpoints (closed form)",
        1.0,
        {"topology": {"kind": "single", "endpoints": 4}, "router": {"allocator": "ideal"}},
        1,
        {"kind": "uniform", "include_self": True},
        switch_latency,
    ),
    Network(
        "torus",
        "torus 4 x 4, dimension order",
        0.84,
        {
            "topology": {"kind": "torus", "dims": [4, 4]},
            "router": {"latency": 2, "links": {"default": {"latency": 2, "vcs": 2, "buffer": 16}}},
            "routing": {"kind": "dimension_order"},
        },
        4,
    ),
    Network(
        "tree",
        "4-ary 2-tree",
        0.6,
        {
            "topology": {"kind": "k_ary_n_tree", "arity": 4, "levels": 2},
            "router": {"links": {"default": {"vcs": 1, "latency": 2, "buffer": 64}}},
        },
        4,
    ),
    Network("minimal", "Dragonfly of 72, minimal", 0.87, {**DRAGONFLY, "routing": {"kind": "minimal"}}, 8),
    Network("valiant", "Dragonfly of 72, Valiant", 0.47, {**DRAGONFLY, "routing": {"kind": "valiant"}}, 8),
    Network("ugal", "Dragonfly of 72, UGAL-L", 0.75, {**DRAGONFLY, "routing": {"kind": "ugal_l"}}, 8),
    Network(
        "ugal-adv", "Dragonfly of 72, UGAL-L, ADV+1", 0.27, {**DRAGONFLY, "routing": {"kind": "ugal_l"}}, 8, ADVERSARIAL
    ),
)


@dataclass(frozen=True)
class Seen:
    """The means of a run, the half widths of their intervals, and whether the run shows a steady state."""

    latency: float
    latency_half: float | None
    accepted: float
    accepted_half: float | None
    steady: str


def seen(scenario: Document) -> Seen:
    """Runs a scenario."""
    found = phit.run(scenario).summary
    names = ("latency_mean", "latency_ci", "accepted_load", "accepted_ci", "steady")
    return Seen(*(found[name] for name in names))


@dataclass(frozen=True)
class Judged:
    """Intervals of one quantity of the runs of a network and load."""

    given: int
    held: int
    width: float | None
    """Half the width, relative to the truth: the median."""

    @classmethod
    def of(cls, pairs: list[tuple[float, float | None]], truth: float) -> "Judged":
        """From means with half widths."""
        given = [(mean, half) for mean, half in pairs if half is not None]
        held = sum(abs(mean - truth) <= half for mean, half in given)
        return cls(len(given), held, statistics.median(half for _, half in given) / truth if given else None)

    def cells(self, runs: int) -> list[str]:
        """For the table."""
        held = f"{100 * self.held / self.given:.0f} %" if self.given else "–"
        return [f"{100 * self.given / runs:.0f} %", held, "–" if self.width is None else f"{100 * self.width:.1f} %"]

    @property
    def good(self) -> bool:
        """Whether nine of ten intervals hold, within the effect of chance for this number."""
        return self.held >= 0.9 * self.given - 2 * math.sqrt(0.09 * self.given)


HEADINGS = (
    "network",
    "load",
    "steady: yes",
    "no",
    "unknown",
    "latency: given",
    "hold",
    "± (median)",
    "accepted load: given",
    "hold",
    "± (median)",
)


def lines(
    networks: tuple[Network, ...], shares: tuple[float, ...], runs: int, pool: Executor
) -> Iterator[tuple[list[str], bool]]:
    """The rows of the table, and whether all intervals of a row are good."""
    for network in networks:
        for share in shares:
            load = round(share * network.carries, 4)
            short = [network.scenario(load, seed, WARMUP, CYCLES) for seed in range(1, runs + 1)]
            seeds = range(FIRST_LONG_SEED, FIRST_LONG_SEED + LONG_SEEDS)
            long = [network.scenario(load, seed, LONG_WARMUP, LONG_CYCLES) for seed in seeds]
            # The long ones first, so that none is left for the end.
            truths = pool.map(seen, long)
            found = list(pool.map(seen, short, chunksize=4))
            mean = network.latency(load) if network.latency else statistics.fmean(one.latency for one in truths)
            latency = Judged.of([(one.latency, one.latency_half) for one in found], mean)
            # A network that sustains a load accepts exactly this load.
            accepted = Judged.of([(one.accepted, one.accepted_half) for one in found], load)
            words = [sum(one.steady == word for one in found) for word in ("yes", "no", "unknown")]
            steady = [f"{100 * count / runs:.0f} %" for count in words]
            row = [network.words, f"{load:.3g} ({share:g})", *steady, *latency.cells(runs), *accepted.cells(runs)]
            yield row, latency.good and accepted.good


def main() -> int:
    """Makes the table; the exit status is 1 if too few intervals hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="page that has the table")
    parser.add_argument("--runs", type=int, default=200, help="runs of each network and load")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--only", action="append", choices=[network.name for network in NETWORKS])
    parser.add_argument("--share", action="append", type=float, choices=SHARES)
    given = parser.parse_args()
    networks = tuple(network for network in NETWORKS if given.only is None or network.name in given.only)
    start, bad = time.monotonic(), 0
    text = [f"| {' | '.join(HEADINGS)} |", "| --- | --- " + "| ---: " * (len(HEADINGS) - 2) + "|"]
    with ProcessPoolExecutor(given.processes) as pool:
        for row, good in lines(networks, tuple(given.share or SHARES), given.runs, pool):
            text.append(f"| {' | '.join(row)} |")
            bad += not good
            print(f"{text[-1]}{'' if good else '  too few hold'}", flush=True)
    print(f"{time.monotonic() - start:.0f} s")
    if given.file is not None:
        page = given.file.read_text(encoding="utf-8")
        head, rest = page.split(BEGIN)
        tail = rest.split(END)[1]
        note = f"{given.runs} runs each, of {CYCLES:,} cycles after a warm-up of {WARMUP:,}."
        given.file.write_text(f"{head}{BEGIN}\n\n{note}\n\n{chr(10).join(text)}\n\n{END}{tail}", encoding="utf-8")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
