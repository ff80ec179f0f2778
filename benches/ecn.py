"""The steady states of `ecn` beside those of the simulator of its paper: python benches/ecn.py.

One switch of 16 ports, twelve senders to one endpoint, packets of 32 flits. The other simulator's numbers are of one
run each of the branch of BookSim with which N. Jiang et al. made "Network Congestion Avoidance Through Speculative
Reservation" (HPCA 2012), with 300,000 measured cycles after 300,000 others. Phit's are means of four seeds.
"""

from statistics import mean, stdev
from typing import Any

import phit

SENDERS = [0, 2, 3, 5, 6, 8, 9, 10, 11, 13, 14, 15]
SEEDS = range(1, 5)

ROWS: list[tuple[dict[str, int], float, int]] = [
    ({}, 0.95922, 378),
    ({"limit": 32}, 0.99891, 642),
    ({"timer": 100}, 0.98704, 2237),
    ({"increase": 4, "timer": 100, "delay": 1}, 1.0, 9375),
    ({"increase": 256, "limit": 4096, "timer": 40, "delay": 1}, 0.948663, 361),
]
"""Settings besides the defaults; load of the hot link and notifications in the other simulator."""


def scenario(settings: dict[str, int], seed: int) -> dict[str, Any]:
    """The switch with these settings of the control."""
    link = {"vcs": 1, "buffer": 512, "latency": 1, "injection_credit_latency": 5, "ejection_latency": 5}
    hot = {"endpoints": SENDERS, "pattern": {"kind": "hotspot", "targets": [4], "share": 1.0}}
    return {
        "seed": seed,
        "topology": {"kind": "single", "endpoints": 16},
        "router": {
            "latency": 2,
            "switching": "wormhole",
            "flit_size": 1,
            "vc_allocation": "stage",
            "vc_reuse": "tail",
            "speedup": 2,
            "clock": "crossbar",
            "output_buffer": 64,
            "connection": "packet",
            "links": {"default": {"vcs": 1, "buffer": 512, "latency": 5}, "endpoint": link},
        },
        "congestion": {"kind": "ecn", "threshold": 500, **settings},
        "traffic": {
            "load": 1.0,
            "packet_size": 32,
            "message": {"packets": 8},
            "pattern": {"kind": "by_endpoint", "parts": [hot]},
        },
        "measure": {"warmup": 300_000, "cycles": 300_000},
    }


def main() -> None:
    """Prints a row of the table in docs/congestion.md for each setting."""
    for settings, hot, notifications in ROWS:
        runs = [phit.run(scenario(settings, seed)) for seed in SEEDS]
        loads = [16 * run["accepted_load"] for run in runs]
        sent = mean(run["congestion"]["notifications"] for run in runs)
        words = ", ".join(f"`{key} = {value}`" for key, value in settings.items()) or "none"
        error = stdev(loads) / len(loads) ** 0.5
        print(f"| {words} | {mean(loads):.3f} ± {error:.3f} | {hot:.3f} | {sent:.0f} | {notifications} |", flush=True)


if __name__ == "__main__":
    main()
