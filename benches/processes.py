"""Two processes of MPI against two threads: `mpirun -n 2 python benches/processes.py [ROUNDS]`, in turn.

Prints one JSON object: seconds of each run by the clock on the wall, processor seconds, and what crossed between the
processes.
"""

import json
import os
import sys
import time
from statistics import median

import phit
from phit import mpi

SCENARIO = {
    "topology": {"kind": "dragonfly", "p": 8, "a": 16, "h": 8},
    "router": {
        "links": {
            "default": {"latency": 10, "vcs": 3, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    },
    "routing": "minimal",
    "traffic": {"load": 0.3, "packet_size": 8},
    "measure": {"warmup": 500, "cycles": 500, "batches": 5},
}
"""A Dragonfly of 16,512 endpoints under uniform traffic."""


def main() -> int:
    """Measures, in the first process; the others serve it."""
    job = mpi.join()
    if job.rank > 0:
        return job.serve()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    took: dict[str, list[float]] = {"threads": [], "processes": []}
    cpu: dict[str, list[float]] = {"threads": [], "processes": []}
    for _ in range(rounds):
        for way in took:
            start = time.perf_counter()
            together = way == "processes"
            found = phit.run(SCENARIO, threads=1 if together else job.count, among=job if together else None)
            took[way].append(time.perf_counter() - start)
            cpu[way].append(found["cpu_seconds"])
    sent, hops = sum(cost["sent_bytes"] for cost in job.costs), found["packet_hops"]
    ratios = [threads / processes for threads, processes in zip(took["threads"], took["processes"], strict=True)]
    shown = {
        "processes": job.count,
        "load_of_the_machine": os.getloadavg()[0],
        "seconds": took,
        "best": {way: min(times) for way, times in took.items()},
        "processor_seconds": {way: median(times) for way, times in cpu.items()},
        "efficiency_of_best": min(took["threads"]) / min(took["processes"]),
        "efficiency_median": median(ratios),
        "packet_hops": hops,
        "bytes_per_hop": sent / hops,
        "rounds": job.costs[0]["rounds"],
    }
    print(json.dumps(shown, indent=1))
    job.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
