"""Times sweeps of many small runs: the first point, what a point costs beside the engine, and two workers against one.

The network is a Dragonfly of 72 endpoints. Every sweep runs in a process of its own as `phit sweep` does, into an empty
folder; one and two workers take turns. The engine's own time is that of runs of the same scenario in this process, from
JSON to JSON. The byte code of all modules is there, as after any first use.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import phit
from phit import _phit

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


RUN = """
import resource, sys
from phit.__main__ import main
into = sys.argv.pop(1)
status = main()
own, workers = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
open(into, "w").write(f"{own.ru_utime + own.ru_stime} {workers.ru_utime + workers.ru_stime}")
sys.exit(status)
"""
"""`phit`, and how many CPU seconds it has taken itself, and its workers."""


@dataclass
class Taken:
    """The times of a sweep in seconds."""

    wall: float
    own: float
    """CPU time of its own process."""
    workers: float
    """CPU time of the workers."""
    first: float
    """On the wall until the first point was on disk."""

    @property
    def cpu(self) -> float:
        """CPU time of all processes."""
        return self.own + self.workers


def sweep(cycles: int, points: int, workers: int, code: Path) -> Taken:
    """Runs a sweep of `points` seeds, with the byte code of its modules in the folder `code`."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        experiment, cpu, out = (Path(folder) / name for name in ("experiment.json", "cpu", "out"))
        experiment.write_text(
            json.dumps(scenario(cycles) | {"sweep": {"name": "bench", "seeds": list(range(1, points + 1))}})
        )
        command = [sys.executable, "-c", RUN, str(cpu), "sweep", str(experiment), "--out", str(out)]
        start = time.monotonic()
        first = None
        process = subprocess.Popen(
            [*command, "--workers", str(workers)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment | {"PYTHONPYCACHEPREFIX": str(code)},
        )
        while first is None and process.poll() is None:
            if (out / "points").is_dir() and any((out / "points").glob("*.json")):
                first = time.monotonic() - start
            time.sleep(0.002)
        if process.wait() != 0:
            raise SystemExit(f"sweeps.py: phit sweep ended with {process.returncode}")
        wall = time.monotonic() - start
        own, theirs = map(float, cpu.read_text().split())
        return Taken(wall, own, theirs, wall if first is None else first)


def engine_seconds(cycles: int, runs: int) -> float:
    """CPU seconds of one run of the engine."""
    times = []
    for seed in range(1, runs + 1):
        text = json.dumps(phit.complete(scenario(cycles) | {"seed": seed}))
        start = time.process_time()
        _phit.run(text)
        times.append(time.process_time() - start)
    return median(times)


def compare(cycles: int, points: int, rounds: int, code: Path) -> None:
    """Prints the times of a sweep of `points` points of `cycles` cycles with one and two workers, in turn."""
    engine = engine_seconds(cycles, 30)
    start = min((sweep(cycles, 1, 1, code) for _ in range(3)), key=lambda one: one.first)
    turns = [(sweep(cycles, points, 1, code), sweep(cycles, points, 2, code)) for _ in range(rounds)]
    one = min((turn[0] for turn in turns), key=lambda sweep: sweep.wall)
    two = min((turn[1] for turn in turns), key=lambda sweep: sweep.wall)
    point = (one.cpu - start.cpu) / (points - 1)
    print(f"points of {cycles:,} cycles (load of the machine {os.getloadavg()[0]:.1f}):")
    print(f"  first point {start.first:.2f} s after the command ({start.cpu:.2f} CPU seconds for a sweep of one)")
    print(f"  engine: {1000 * engine:.2f} ms of CPU time a point; beside it: {1000 * (point - engine):.2f} ms")
    shares = (two.own - start.own) / (points - 1), two.workers / points
    print(f"  of two workers: {1000 * shares[0]:.2f} ms a point in the sweep's own process", end="")
    print(f", {1000 * shares[1]:.2f} ms in the workers")
    print(f"  {points} points: {one.wall:.2f} s with one worker, {two.wall:.2f} s with two", end="")
    print(f", {one.wall / two.wall:.2f} times as fast")


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cycles", type=int, nargs="+", default=[1000, 10_000], help="cycles of a point")
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2, help="turns of one and of two workers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as code:
        sweep(100, 2, 2, Path(code))
        for cycles in options.cycles:
            compare(cycles, options.points, options.rounds, Path(code))


if __name__ == "__main__":
    main()
