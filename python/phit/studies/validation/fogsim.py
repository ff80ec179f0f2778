"""FOGSim, version 2: minimal and Valiant routing on Dragonflies."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from phit.studies.validation.comparison import FOGSIM, FOGSIM_CALM, Case, Document
from phit.studies.validation.reference import Row, rows

ROUTING: dict[str, Document] = {"MIN": {"kind": "minimal"}, "VAL": {"kind": "valiant", "second_half": "next"}}

MEASURES = {
    "accepted_load": "accepted_load",
    "latency_mean": "avg_packet_latency",
    "latency_p99": "p99",
    "hops_mean": "avg_hops",
}

NEAR_SATURATION = "above 90 % of saturation"

FULL_QUEUES = (
    "above 90 % of saturation; an endpoint's backlog exceeds its injection queues, and while one is full FOGSim makes "
    "no packets, which Phit's sources do (no option for this was tried)"
)

INJECTION_QUEUE = 1000
"""Phits in each of an endpoint's three injection queues."""


def router(local_vcs: int) -> Document:
    """FOGSim's input-output-queued router."""
    return {
        "latency": 5,
        "speedup": 2,
        "clock": "link",
        "switching": "virtual_cut_through",
        "cut_through": "input",
        "output_buffer": 32,
        "credit_release": "output",
        "transit_priority": True,
        "injection_queue": "destination",
        "allocator": {
            "kind": "separable_input_first",
            "arbiter": "least_recently_served",
            "update": "request",
        },
        "links": {
            "endpoint": {"latency": 0, "injection_bandwidth": "infinite", "vcs": 3, "buffer": 1000},
            "local": {"latency": 10, "vcs": local_vcs, "buffer": 32},
            "global": {"latency": 100, "vcs": 2, "buffer": 256},
        },
    }


def scenario(row: Row) -> Document:
    """One of FOGSim's runs in Phit's words."""
    name = row["pattern"]
    pattern: Any = {"kind": "uniform"} if name == "UN" else {"kind": "adversarial", "offset": int(name[4:])}
    return {
        "topology": {"kind": "dragonfly", "p": int(row["P"]), "a": int(row["A"]), "h": int(row["H"])},
        "router": router(4 if row["mechanism"] == "VAL" else 3),
        "routing": ROUTING[row["mechanism"]],
        "traffic": {
            "pattern": pattern,
            "process": "bernoulli",
            "load": float(row["offered_load"]),
            "packet_size": 8,
        },
        "measure": {"warmup": int(row["warmup_cycles"]), "cycles": int(row["measured_cycles"])},
    }


def cases(folder: Path) -> list[Case]:
    """Every row of minimal and Valiant routing; runs that differ in their seed alone are one case."""
    tables = ("fogsim_h4_steady.csv", "fogsim_h4_sensitivity.csv", "fogsim_h8_steady.csv")
    grouped: dict[str, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in (row for table in tables for row in rows(folder, table)):
        if row["mechanism"] in ROUTING and not row["extra_config"]:
            network = f"Dragonfly p={row['P']} a={row['A']} h={row['H']}"
            series = f"{network}, {row['mechanism']}, {row['pattern']}"
            grouped[series][float(row["offered_load"])].append(row)
    return [
        _case(series, load, runs, saturation([run for others in loads.values() for run in others]))
        for series, loads in grouped.items()
        for load, runs in sorted(loads.items())
    ]


def saturation(runs: list[Row]) -> float:
    """The most that a curve accepts; without limit if it shows no saturation."""
    accepted = [float(run["accepted_load"]) for run in runs]
    saturates = any(a < 0.98 * float(run["offered_load"]) for a, run in zip(accepted, runs, strict=True))
    return max(accepted) if saturates else float("inf")


def _case(series: str, load: float, runs: list[Row], limit: float) -> Case:
    near = load > FOGSIM_CALM * limit
    small = runs[0]["H"] == "4"
    return Case(
        simulator="FOGSim",
        series=series,
        load=load,
        scenario=scenario(runs[0]),
        theirs={ours: [float(run[theirs]) for run in runs] for ours, theirs in MEASURES.items()},
        tolerances={m: t for m, t in FOGSIM.items() if not (near and m.startswith("latency"))},
        quick=small and load == 0.3,
        seeds=5 if small else 3,
        notes={m: _reason(runs[0]) for m in FOGSIM if near and m.startswith("latency")},
    )


def _reason(run: Row) -> str:
    """Why latencies are not judged; adversarial traffic uses one injection queue, uniform traffic all three."""
    cycles = int(run["warmup_cycles"]) + int(run["measured_cycles"])
    backlog = (float(run["offered_load"]) - float(run["accepted_load"])) * cycles
    queues = 3 if run["pattern"] == "UN" else 1
    return FULL_QUEUES if backlog > queues * INJECTION_QUEUE else NEAR_SATURATION
