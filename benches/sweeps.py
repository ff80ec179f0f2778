"""Times sweeps of many small runs: the first point, what a point costs beside the engine, and two workers against one.

The network is a Dragonfly of 72 endpoints. Every sweep runs in a process of its own as `phit sweep` does, into an empty
folder; one and two workers take turns. The engine's own time is that of runs of the same scenario in this process.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import phit

Scenario = dict[str, Any]

SCENARIO: Scenario = {
    "topology": {"kind": "dragonfly", "p": 2, "a": 4, "h": 2},
    "router": {
        "latency": 5,
        "speedup": 2,
        "links": {
            "local": {"latency": 10, "vcs": 3, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    },
    "traffic": {"packet_size": 8, "load": 0.3},
}


def scenario(cycles: int) -> Scenario:
    """One point: half of its cycles warm the network up."""
    return SCENARIO | {"measure": {"warmup": cycles // 2, "cycles": cycles // 2}}


def sweep(cycles: int, points: int, workers: int) -> dict[str, float]:
    """Runs a sweep of so many seeds: seconds on the wall, CPU seconds, and when the first point was on disk."""
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder) / "experiment.json"
        experiment.write_text(
            json.dumps(scenario(cycles) | {"sweep": {"name": "bench", "seeds": list(range(1, points + 1))}})
        )
        out = Path(folder) / "out"
        command = [sys.executable, "-m", "phit", "sweep", str(experiment), "--out", str(out)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        first = None
        process = subprocess.Popen(
            [*command, "--workers", str(workers)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None:
            if first is None and (out / "points").is_dir() and any((out / "points").glob("*.json")):
                first = time.monotonic() - start
            time.sleep(0.002 if first is None else 0.02)
        if process.returncode != 0:
            raise SystemExit(f"sweeps.py: phit sweep ended with {process.returncode}")
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"wall": wall, "cpu": cpu, "first": wall if first is None else first}


def engine_seconds(cycles: int, runs: int) -> float:
    """CPU seconds of one run of the engine."""
    times = []
    for seed in range(1, runs + 1):
        start = time.process_time()
        phit.run(scenario(cycles) | {"seed": seed})
        times.append(time.process_time() - start)
    return median(times)


def compare(cycles: int, points: int, rounds: int) -> None:
    """Prints what a sweep of points of so many cycles takes with one and two workers, in turn."""
    engine = engine_seconds(cycles, 30)
    start = min((sweep(cycles, 1, 1) for _ in range(3)), key=lambda one: one["first"])
    turns = [(sweep(cycles, points, 1), sweep(cycles, points, 2)) for _ in range(rounds)]
    one = min((turn[0] for turn in turns), key=lambda sweep: sweep["wall"])
    two = min((turn[1] for turn in turns), key=lambda sweep: sweep["wall"])
    point = (one["cpu"] - start["cpu"]) / (points - 1)
    print(f"points of {cycles:,} cycles (load of the machine {os.getloadavg()[0]:.1f}):")
    print(f"  first point {start['first']:.2f} s after the command ({start['cpu']:.2f} CPU seconds for a sweep of one)")
    print(f"  engine: {1000 * engine:.2f} ms of CPU time a point; beside it: {1000 * (point - engine):.2f} ms")
    print(f"  {points} points: {one['wall']:.2f} s with one worker, {two['wall']:.2f} s with two", end="")
    print(f", {one['wall'] / two['wall']:.2f} times as fast")


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cycles", type=int, nargs="+", default=[1000, 10_000], help="cycles of a point")
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2, help="turns of one and of two workers")
    options = parser.parse_args()
    for cycles in options.cycles:
        compare(cycles, options.points, options.rounds)


if __name__ == "__main__":
    main()
