"""Spraying with 32, 64 and 128 labels beside a published table: python benches/spraying.py [LEAVES [MEGABYTES ...]].

Every endpoint of a leaf-spine network sends one message to another one (a permutation). The results of UEC htsim
(`htsim/sim/datacenter/results/200g_nscc.txt` of github.com/ultraethernet/uet-htsim) are for 8,192 endpoints, links of
200 Gb/s and a microsecond, and packets of 4 KB. They say when the first and the last message have arrived.

Phit runs 1,024 endpoints, 32 leaves of 32, with as many labels for each flow. Each link carries as many labels on
average as the other network's links do. So the imbalance by chance is alike. The other simulator drops and trims
packets and controls congestion. Phit's network is lossless, and nothing slows sources down. So trends are compared.
"""

import sys
from itertools import pairwise
from typing import Any

import phit

LABELS = (32, 64, 128)

PUBLISHED: dict[int, tuple[float, tuple[float, float, float]]] = {
    1: (44.9417, (59.8538, 59.071, 58.8088)),
    2: (85.7839, (106.723, 103.738, 101.958)),
    4: (167.507, (216.674, 191.531, 188.485)),
    8: (330.909, (458.548, 377.524, 363.502)),
    16: (657.606, (925.41, 755.038, 717.164)),
    32: (1311.24, (1824.32, 1509.96, 1423.16)),
    64: (2618.35, (3648.0, 2999.98, 2825.87)),
}
"""By megabytes of a message: microseconds until the first message has arrived, and the last with 32, 64, 128 paths."""

RULES: dict[str, dict[str, Any]] = {
    "flow": {"rule": "flow"},
    **{f"entropy, {labels}": {"rule": "entropy", "labels": labels} for labels in LABELS},
    "random": {"rule": "random"},
    "round_robin": {"rule": "round_robin", "turn": "source"},
    "least_queued": {"rule": "least_queued"},
}


def scenario(routing: dict[str, Any], megabytes: int, leaves: int) -> dict[str, Any]:
    """A permutation on a leaf-spine network of so many leaves, each with as many endpoints."""
    return {
        "units": {"phit": "512 B", "cycle": "20.48 ns"},
        "topology": {"kind": "clos", "down": [leaves, leaves], "up": [leaves]},
        "router": {
            "speedup": 4,
            "output_buffer": 400,
            "links": {"default": {"vcs": 1, "latency": 49, "buffer": 4096}},
        },
        "routing": {"kind": "spray", **routing},
        "workload": {"kind": "permutation", "bytes": megabytes * 10**6, "packet_size": 8, "reorder": {}},
        "measure": {"order": True},
    }


def alone(megabytes: int) -> int:
    """Cycles of a message that no other one meets."""
    document = scenario({"rule": "flow"}, megabytes, 1)
    document["topology"]["down"] = [1, 2]
    document["workload"] |= {"order": "shift", "by": 1}
    return int(phit.run(document)["completion"])


def holds(what: str, which: list[bool]) -> str:
    """A line about a trend and the sizes of messages for which it holds."""
    return f"{'holds' if all(which) else 'does not hold'} ({sum(which)} of {len(which)}): {what}"


def main() -> None:
    """Prints a row for each rule and size, and which trends of the published table hold."""
    leaves = int(sys.argv[1]) if len(sys.argv) > 1 else 32
    sizes = [int(size) for size in sys.argv[2:]] or [1, 2, 4]
    tails: dict[int, list[float]] = {}
    print("| message | rule | last message, over one alone | published | out of order | extent | packets that wait |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for size in sizes:
        least, (first, published) = alone(size), PUBLISHED[size]
        others = dict(zip(LABELS, published, strict=True))
        for name, rule in RULES.items():
            run = phit.run(scenario(rule, size, leaves))
            tail = run["completion"] / least
            other = others.get(rule.get("labels", 0))
            tails.setdefault(size, []).extend([tail] if other else [])
            extent, waiting = run["order_extent_max"] or 0, run["reorder_memory_max"] // 8
            beside = f"{other / first:.2f}" if other else ""
            share = f"{run['out_of_order_share']:.1%}"
            print(f"| {size} MB | `{name}` | {tail:.2f} | {beside} | {share} | {extent} | {waiting} |", flush=True)
    print(holds("the more labels, the sooner the last message arrives", [a > b > c for a, b, c in tails.values()]))
    print(
        holds("64 labels instead of 32 save more than 128 instead of 64", [a - b > b - c for a, b, c in tails.values()])
    )
    grows = [after[0] - after[2] > before[0] - before[2] for before, after in pairwise(tails.values())]
    print(holds("few labels cost more, the longer messages are", grows))


if __name__ == "__main__":
    main()
