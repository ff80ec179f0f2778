"""Measures the cost of a trigger in Python: Base in the engine and Base as a Python function, in turn.

Both give the same results, to the last bit. Their processor times are compared, pair by pair, so that what else the
machine does meanwhile weighs on both.
"""

import argparse
import statistics
import time
from typing import Any

import phit

THRESHOLD = 6


@phit.trigger
def base(view: Any, packet: Any, threshold: int = 6) -> bool:  # noqa: ARG001
    """A packet leaves an output that more heads want than this."""
    return bool(view.heads(view.minimal) > threshold)


@base.admits
def calm(view: Any, packet: Any, port: int, threshold: int = 6) -> bool:  # noqa: ARG001
    """It leaves for outputs that fewer heads want."""
    return bool(view.heads(port) < threshold)


def scenario(load: float, offset: int, cycles: int, routing: dict[str, Any]) -> dict[str, Any]:
    """A Dragonfly of 1,056 endpoints."""
    pattern = {"kind": "adversarial", "offset": offset} if offset else "uniform"
    return {
        "topology": {"kind": "dragonfly", "p": 4, "a": 8, "h": 4},
        "router": {
            "latency": 5,
            "speedup": 2,
            "output_buffer": 32,
            "links": {
                "endpoint": {"vcs": 3},
                "local": {"latency": 10, "vcs": 3, "buffer": 32},
                "global": {"latency": 100, "vcs": 2, "buffer": 256},
            },
        },
        "routing": routing,
        "traffic": {"pattern": pattern, "load": load, "packet_size": 8},
        "measure": {"warmup": 1000, "cycles": cycles},
    }


def timed(document: dict[str, Any]) -> tuple[float, Any]:
    """Processor seconds of a run, and its result."""
    start = time.process_time()
    result = phit.run(document)
    return time.process_time() - start, result


def main() -> None:
    """Prints the ratio for some kinds of traffic."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cycles", type=int, default=3000)
    options = parser.parse_args()
    for name, load, offset in (
        ("uniform", 0.3, 0),
        ("uniform", 0.8, 0),
        ("adversarial", 0.3, 1),
        ("adversarial", 0.5, 1),
    ):
        ratios = []
        for pair in range(options.pairs + 1):
            engine, native = timed(
                scenario(load, offset, options.cycles, {"kind": "contention_base", "threshold": THRESHOLD})
            )
            python, own = timed(scenario(load, offset, options.cycles, base.table(threshold=THRESHOLD)))
            same = all(native[key] == own[key] for key in ("accepted_load", "latency_mean", "misrouted", "packets"))
            if not same:
                raise SystemExit(f"{name} at {load}: the results differ")
            # The first pair compiles.
            if pair:
                ratios.append(engine / python)
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        print(f"{name} at {load}: {middle:.2f} of the speed ({low:.2f} to {high:.2f}, {len(ratios)} pairs)")


if __name__ == "__main__":
    main()
