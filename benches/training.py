"""Time and memory to simulate a training step of thousands of ranks: python benches/training.py [--ranks 1024].

A step of GPT-3 175B, tensor 8, pipeline 8 and the other ranks for data, with 8 micro-batches, merged rings and large
buckets, over a fluid network: rail-optimised, and a fat tree of three levels. Each runs in a process of its own. Prints
the numbers at the end of docs/training.md.
"""

import argparse
import json
import resource
import subprocess
import sys
from typing import Any

import phit

NETWORKS = ("rail_optimised", "clos")


def topology(kind: str, ranks: int) -> dict[str, Any]:
    """A network for `ranks` accelerators, a multiple of 512."""
    if kind == "clos":
        # Pods of 512: 32 switches of 16 endpoints, below 16; each of these has a way to 16 switches above.
        return {"kind": "clos", "down": [16, 32, ranks // 512], "up": [16, 16]}
    return {"kind": "rail_optimised", "rails": 8, "hosts": 64, "pods": ranks // 512, "spines": 64}


def scenario(kind: str, ranks: int) -> dict[str, Any]:
    """The step on a network of this kind."""
    links: dict[str, Any] = {"default": {"latency": "100 ns"}}
    if kind == "rail_optimised":
        links |= {key: {"latency": "100 ns", "bandwidth": "450 GB/s"} for key in ("host", "endpoint")}
    return {
        "units": {"cycle": "1 ns", "phit": "50 B"},
        "topology": topology(kind, ranks),
        "router": {"kind": "fluid", "latency": "300 ns", "links": links},
        "routing": {"kind": "table"},
        "workload": {
            "kind": "training",
            "tensor": 8,
            "pipeline": 8,
            "data": ranks // 64,
            "micro_batches": 8,
            "model": {"name": "gpt3_175b"},
            "accelerator": {"name": "h100", "efficiency": 0.5},
            "bucket_bytes": "1 GB",
            "rounds": 2,
        },
    }


def run(kind: str, ranks: int) -> None:
    """Runs the step, and prints its cycles, CPU seconds, and the memory of the process."""
    result = phit.run(scenario(kind, ranks))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps([result["completion"], result["cpu_seconds"], memory]))


def main() -> None:
    """Prints a row for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=8192, help="accelerators, a multiple of 512")
    parser.add_argument("--network", choices=NETWORKS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.network:
        run(given.network, given.ranks)
        return
    print("| network | accelerators | step | CPU seconds | memory |\n| --- | ---: | ---: | ---: | ---: |")
    for kind in NETWORKS:
        command = [sys.executable, __file__, "--network", kind, "--ranks", str(given.ranks)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        completion, seconds, memory = json.loads(output)
        step, size = f"{completion / 1e9:.2f} s", f"{memory / 1e9:.2f} GB"
        print(f"| {kind} | {given.ranks:,} | {step} | {seconds:.0f} | {size} |", flush=True)


if __name__ == "__main__":
    main()
