"""Two processes of MPI against as many threads: `mpirun -n 2 python benches/processes.py [ROUNDS]`, in turn.

Every run is done twice, for a short and for a long time, so that building and warming up cancel. Prints one JSON
object: seconds by the clock on the wall, processor seconds (what is spent in exchanges told apart, for MPI waits
busily), what crossed between the processes, and what an exchange of such letters takes if nobody waits for the other.
"""

import json
import os
import sys
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import phit
from phit import mpi

SCENARIO: dict[str, Any] = {
    "topology": {"kind": "dragonfly", "p": 8, "a": 16, "h": 8},
    "router": {
        "links": {
            "default": {"latency": 10, "vcs": 3, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    },
    "routing": "minimal",
    "traffic": {"load": 0.3, "packet_size": 8},
    "measure": {"warmup": 500, "batches": 5},
}
"""A Dragonfly of 16,512 endpoints under uniform traffic."""

CYCLES = (500, 3000)
"""Measured, of a short and a long run."""

ECHOES = 60


@dataclass
class Way:
    """The additional time of the long runs of one way over its short runs."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    exchanging: list[float] = field(default_factory=list)
    """Part of `cpu` within exchanges, including waiting for others."""


def main() -> int:
    """Measures, in the first process; the others serve it."""
    job = mpi.join()
    # Launchers tie each process to a core, and then a process's two threads are no faster than one.
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    if job.rank > 0:
        status = job.serve()
        echo(job, 0)
        return status
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    ways = {name: Way() for name in ("one thread", "threads", "processes")}
    grown: dict[str, float] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            took = []
            for cycles in CYCLES:
                begin = time.perf_counter()
                found = phit.run(
                    SCENARIO | {"measure": SCENARIO["measure"] | {"cycles": cycles}},
                    threads=job.count if name == "threads" else 1,
                    among=job if name == "processes" else None,
                )
                costs = job.costs if name == "processes" else []
                of = {key: sum(cost[key] for cost in costs) for key in ("exchange_seconds", "sent_bytes", "rounds")}
                took.append((time.perf_counter() - begin, found["cpu_seconds"], of["exchange_seconds"]))
                now = {"hops": found["packet_hops"], "bytes": of["sent_bytes"], "rounds": of["rounds"] / job.count}
                grown = {key: value - grown[key] for key, value in now.items()} if len(took) > 1 else now
            for own, short, long in zip((way.wall, way.cpu, way.exchanging), *took, strict=True):
                own.append(long - short)
    job.end()
    # Letters of the size of a round's mail: of the rounds of a step, one has hardly any bytes.
    letter = int(2 * grown["bytes"] / grown["rounds"] / job.count / max(1, job.count - 1))
    seconds = echo(job, letter)
    among = ways["processes"]
    computing = [cpu - within for cpu, within in zip(among.cpu, among.exchanging, strict=True)]
    exchanging = job.count * grown["rounds"] / 2 * seconds
    shown = {
        "processes": job.count,
        "load_of_the_machine": os.getloadavg()[0],
        "ways": {name: vars(way) for name, way in ways.items()},
        "efficiency_by_the_clock": median(
            threads / processes for threads, processes in zip(ways["threads"].wall, ways["processes"].wall, strict=True)
        ),
        "efficiency_by_processor_time": median(ways["threads"].cpu) / (median(computing) + exchanging),
        "computing_seconds": median(computing),
        "exchanging_seconds": exchanging,
        "hops": grown["hops"],
        "bytes_per_hop": grown["bytes"] / grown["hops"],
        "rounds": grown["rounds"],
        "seconds_of_a_round": seconds,
        "bytes_of_a_letter": letter,
    }
    print(json.dumps(shown, indent=1))
    return 0


def echo(job: mpi.Job, length: int) -> float:
    """Seconds of an exchange of such letters, the quickest of some, when all are ready: for the first process."""
    told = job.exchange([length.to_bytes(8, "big")] * job.count)[0]
    letters = [bytearray(length or int.from_bytes(told, "big")) for _ in range(job.count)]
    took = []
    for _ in range(ECHOES):
        begin = time.perf_counter()
        job.exchange(letters)
        took.append(time.perf_counter() - begin)
    return min(took)


if __name__ == "__main__":
    sys.exit(main())
