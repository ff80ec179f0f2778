"""What executing a program costs beside drawn traffic of the same load: hops per CPU second, bytes of a large program.

A collective on a Dragonfly network with its ranks at random endpoints, in turn with uniform traffic of the load that it
came to: of single packets, and of messages of as many packets, which come at once and so wait for one another in the
network as those of the collective do. Best of the rounds, so that what else the machine does counts least.

"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import phit
from phit import workload

ROOT = Path(__file__).resolve().parent.parent

PACKET = 8
"""Phits; a phit has 8 bytes."""


def network(h: int) -> dict[str, Any]:
    """A canonical Dragonfly network with ``h`` global links a router."""
    links = {
        "endpoint": {"latency": 1, "vcs": 1, "buffer": 64},
        "local": {"latency": 10, "vcs": 2, "buffer": 64},
        "global": {"latency": 100, "vcs": 1, "buffer": 256},
    }
    return {
        "units": {"phit": "8 B"},
        "topology": {"kind": "dragonfly", "p": h, "a": 2 * h, "h": h},
        "router": {"latency": 5, "speedup": 2, "links": links},
        "routing": "minimal",
    }


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ring all-reduce, 1,024 ranks": (
        network(4),
        {"kind": "collective", "collective": "all_reduce", "algorithm": "ring", "ranks": 1024},
    ),
    "pairwise all-to-all, 4,096 ranks": (
        network(6),
        {"kind": "collective", "collective": "all_to_all", "algorithm": "pairwise", "ranks": 4096},
    ),
}


def rate(document: dict[str, Any]) -> tuple[float, phit.Result]:
    """Packet-hops per CPU second of a run, and the run."""
    result = phit.run(document)
    return result["packet_hops"] / result["cpu_seconds"], result


def speed(name: str, size: int, rounds: int) -> str:
    """A row: a program beside uniform traffic at its load."""
    base, program = CASES[name]
    program = {**program, "bytes": size, "packet_size": PACKET, "placement": "random"}
    # A ring cuts its vector into a block for each rank.
    packets = (size // program["ranks"] if program["algorithm"] == "ring" else size) // (8 * PACKET)
    speeds: list[list[float]] = []
    for _ in range(rounds):
        own, result = rate({**base, "workload": program})
        # There is no warm-up: its cycles would take time without being counted.
        cycles = max(2000, min(20_000, result["completion"]))
        traffic = {"pattern": "uniform", "load": result["accepted_load"], "packet_size": PACKET}
        window = {"measure": {"warmup": 0, "cycles": cycles}}
        single, _ = rate({**base, **window, "traffic": traffic})
        several, _ = rate({**base, **window, "traffic": {**traffic, "message": {"packets": packets}}})
        speeds.append([own, single, several])
    own, single, several = map(max, zip(*speeds, strict=True))
    hops, load = result["packet_hops"], result["accepted_load"]
    first = (name, f"{size:,}", f"{packets}", f"{hops / 1e6:.1f}", f"{load:.3f}")
    rates = (f"{speed / 1e6:.2f}" for speed in (own, single, several))
    return f"| {' | '.join((*first, *rates))} | {own / single:.2f} | {own / several:.2f} |"


def resident() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def large(operations: int) -> str:
    """One row: reads and executes a stored program of `operations` operations."""
    ranks = 1024
    # A rank of a ring of all-gathers does a send and a receive a step.
    times = round(operations / (ranks * 2 * (ranks - 1)))
    parameters = {"kind": "collective", "collective": "all_gather", "algorithm": "ring", "bytes": 64, "times": times}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.goal"
        found = workload.make(parameters, file, ranks=ranks)
        script = [sys.executable, __file__, "--file", str(file)]
        ran = subprocess.run(script, check=True, capture_output=True, text=True).stdout.split()
        size = file.stat().st_size
    read, bytes_ = float(ran[0]), int(ran[1])
    count = found["operations"]
    per = found["dependencies"] / count
    return f"| {count:,} | {per:.2f} | {size / 1e6:,.0f} | {read:.1f} | {bytes_ / count:.1f} |"


def execute(file: str) -> None:
    """In a process of its own: CPU seconds to read a program, and by how many bytes the process grew with its run."""
    ideal = {
        "units": {"phit": "8 B"},
        "topology": {"kind": "single", "endpoints": 1024},
        "router": {"kind": "ideal", "model": "constant", "latency": 10},
    }
    phit.run({**ideal, "workload": {"kind": "collective", "collective": "barrier"}})
    before, start = resident(), time.process_time()
    workload.info(file)
    middle = time.process_time()
    phit.run({**ideal, "workload": {"kind": "goal", "file": file}})
    print(middle - start, resident() - before)


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="runs of each, in turn")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=[packets * 64 * 1024 for packets in (2, 4, 8, 16)],
        help="of the all-reduce, bytes",
    )
    parser.add_argument("--messages", type=int, nargs="*", default=[64, 256], help="of the all-to-all, bytes")
    parser.add_argument("--operations", type=int, default=10_000_000, help="of the large program; 0 for none")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        execute(options.file)
        return
    heads = ("bytes", "packets a message", "million hops", "load", "million hops/s", "uniform packets", "messages")
    print(f"| program | {' | '.join(heads)} | to packets | to messages |")
    print(f"| --- |{' ---: |' * (len(heads) + 2)}")
    ring, pairwise = CASES
    for name, sizes in ((ring, options.sizes), (pairwise, options.messages)):
        for size in sizes:
            print(speed(name, size, options.rounds), flush=True)
    if options.operations:
        print("\n| operations | dependencies each | MB of text | CPU seconds to read | bytes each, at most |")
        print("| ---: | ---: | ---: | ---: | ---: |")
        print(large(options.operations), flush=True)


if __name__ == "__main__":
    main()
