"""Victims of a hot spot under several protections: python benches/victim.py [ROW ...].

Runs `examples/victim.toml` with other controls and queues, and prints the table of docs/congestion.md. Without numbers
of rows, which count from 0, all are run: some minutes.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import phit
from phit.document.loading import load
from phit.studies.control.networks import DCQCN, ECN, INFINIBAND

EXAMPLE = Path(__file__).parents[1] / "examples" / "victim.toml"

FBICM = {"queueing": {"kind": "fbicm"}, "router": {"admittance": "per_destination"}}
VOQNET = {"queueing": {"kind": "voqnet"}, "router": {"admittance": "per_destination"}}

ROWS: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("none, one queue", {"kind": "none"}, {}),
    ("none, `voqnet`", {"kind": "none"}, VOQNET),
    ("none, `fbicm`", {"kind": "none"}, FBICM),
    ("`infiniband` of the example", INFINIBAND, {}),
    ("`infiniband`, `ccti_timer = 200`", {**INFINIBAND, "ccti_timer": 200}, {}),
    ("`infiniband`, `ccti_timer = 20000`", {**INFINIBAND, "ccti_timer": 20_000}, {}),
    ('`infiniband`, `index_of = "service_level"`', {**INFINIBAND, "index_of": "service_level"}, {}),
    (
        "`ecn`, `threshold = 2048`, `root_threshold = 4096`",
        {"kind": "ecn", "threshold": 2048, "root_threshold": 4096},
        {},
    ),
    ("`ecn`, `threshold = 1024`, `root_threshold = 4096`, `timer = 300`", ECN, {}),
    ("`dcqcn`, defaults", {"kind": "dcqcn"}, {}),
    ("`dcqcn`, fast timers", DCQCN, {}),
]
"""Words of the table, `[congestion]`, and what else differs from the example."""


def scenario(congestion: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The example with this `[congestion]` and these keys of other tables."""
    document = load(EXAMPLE)
    document["congestion"] = dict(congestion)
    for table, keys in others.items():
        document[table] = {**document.get(table, {}), **keys}
    return document


def measured(document: Mapping[str, Any]) -> tuple[float, ...]:
    """Mean and smallest load of a victim, load of the hot endpoint, Jain's index of its sources, and notifications.

    Loads are phits/(endpoint·cycle): those of sources as they inject, that of the hot endpoint as it accepts, with
    notifications.
    """
    (part,) = document["traffic"]["pattern"]["parts"]
    sources, (target,) = part["endpoints"], part["pattern"]["targets"]
    run = phit.run(document)
    endpoints = run.tables["endpoints"]
    injected = endpoints["injected_load"].to_list()
    victims = [rate for endpoint, rate in enumerate(injected) if endpoint not in (*sources, target)]
    hot = [injected[endpoint] for endpoint in sources]
    jain = sum(hot) ** 2 / (len(hot) * sum(rate**2 for rate in hot))
    counts = run["congestion"] or {"notifications": 0}
    return fmean(victims), min(victims), endpoints["accepted_load"][target], jain, float(counts["notifications"])


def main() -> None:
    """Prints the rows of the table."""
    chosen = [ROWS[int(number)] for number in sys.argv[1:]] or ROWS
    for words, congestion, others in chosen:
        mean, smallest, hot, jain, notifications = measured(scenario(congestion, others))
        sent = f"{notifications:.0f} |" if notifications else "|"
        print(f"| {words} | {mean:.3f} | {smallest:.3f} | {hot:.3f} | {jain:.3f} | {sent}", flush=True)


if __name__ == "__main__":
    main()
