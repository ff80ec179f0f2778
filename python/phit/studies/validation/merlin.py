"""SST's merlin: sweeps of the offered load on single routers, grids, HyperX, Dragonflies and fat trees.

`docs/merlin.md` explains merlin's router and the settings that do the same. Merlin's latency ends with the head of a
packet, and counts cycles of the links. So do the numbers that are compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from phit.document import Document
from phit.peers.comparison import Case, Known, LeftOut
from phit.store.folder import Answer
from phit.studies.validation.reference import Row, rows

SIMULATOR = "merlin"

TABLE = "merlin.csv"
"""Runs by their settings. A line is a sample; samples of one run begin with an empty network."""

WARMUP, CYCLES = 6000, 24_000
"""Of every sample, in cycles of the links."""

TOLERANCES = {"accepted_load": 0.01, "latency_mean": 0.03}
"""Relative tolerances."""

ERRORS = 2.0
"""Differences of up to this many standard errors agree."""

CARRIED = 0.98
"""A run accepts at least this share of the offered load, or is saturated."""

SATURATED = "beyond saturation: latency is the growth of the source queues"

EDGE = "at the edge of saturation: the latency of one seed is up to three times that of another"

GROWING = (
    "latency grows through the run, because queues of minimal routes fill slowly: in Phit 385, 472 and 500 cycles in "
    "the 6,000 cycles from 0, 6,000 and 12,000 on"
)

WITHIN_GROUPS = Known(
    cause="merlin sends packets within a group over a random router of the group, Phit directly: 1 % fewer hops. "
    "Without packets within groups (the series with `shift`) both agree",
    limits={"latency_mean": 0.08},
)

OUTPUT_QUEUES = ("ugal", "adaptive")
"""Algorithms that compare output buffers: credits are taken at the link in their runs, as in merlin."""

MIN_A = "merlin compares the output queues of all minimal hops once; Phit has no such rule on a HyperX"

QUICK = {("single", 1, 20), ("torus", 1, 20), ("hyperx", 1, 20), ("dragonfly", 1, 20), ("fattree", 1, 20)}
"""Topology, speed of the crossbar and interval of the runs of the fast tests, with uniform traffic."""

QUICK_QUEUES = {("dragonfly", 1, 34), ("fattree", 2, 10)}
"""Those of the algorithms that compare output buffers."""

Keys = Mapping[str, str]


@dataclass(frozen=True)
class Sweep(Case):
    """A point of a sweep."""

    crossbar: int = 1
    """Cycles of the crossbar in a cycle of the links; a cycle of the scenario is one of the crossbar."""
    packet: int = 1
    """Phits of a packet."""

    def measured(self, answer: Answer) -> Mapping[str, Any]:
        """The accepted load, and the latency of heads in cycles of the links."""
        summary = super().measured(answer)
        return {**summary, "latency_mean": summary["latency_mean"] / self.crossbar - self.packet}


def keys(row: Row) -> Keys:
    """The settings of a row."""
    return dict(part.split("=", 1) for part in row["settings"].split())


def _network(given: Keys) -> tuple[Document, Document | str, int]:
    """Topology, routing and virtual channels of links between routers."""
    kind, algorithm = given["topology"], given.get("algorithm", "")
    if kind == "single":
        return {"kind": "single", "endpoints": int(given["ports"])}, "minimal", 1
    if kind in ("torus", "mesh", "hyperx"):
        dims = [int(side) for side in given["shape"].split("x")]
        topology = {"kind": kind, "dims": dims, "endpoints_per_router": int(given.get("local_ports", "1"))}
        if kind != "hyperx":
            return topology, {"kind": "dimension_order", "rings": "toggled"}, 2
        if algorithm == "valiant":
            return topology, {"kind": "valiant", "via": "router", "stop": "elsewhere"}, 2
        return topology, "dimension_order", 1
    if kind == "dragonfly":
        p, a, groups = (int(given[key]) for key in ("hosts_per_router", "routers_per_group", "groups"))
        topology = {"kind": kind, "p": p, "a": a, "h": (groups - 1) // a, "groups": groups}
        routes = {"via": "group", "stop": "third"}
        routing: dict[str, Document | str] = {
            "minimal": "minimal",
            "valiant": {"kind": "valiant", **routes},
            "ugal": {
                "kind": "ugal_l",
                **routes,
                "hop_count": "one_and_two",
                "threshold": 50 // int(given["packet"]),
                "decide": "head_and_exit",
            },
        }
        return {**topology, "arrangement": "consecutive"}, routing[algorithm], 2 if algorithm == "minimal" else 3
    levels = [[int(ports) for ports in level.split(",")] for level in given["shape"].split(":")]
    return (
        {"kind": "clos", "down": [level[0] for level in levels], "up": [level[1] for level in levels[:-1]]},
        "ftree_adaptive" if algorithm == "adaptive" else "ftree",
        1,
    )


def scenario(row: Row) -> Document:
    """The scenario of a row without a seed; its cycles are those of merlin's crossbar."""
    given = keys(row)
    times, packet, latency = int(given["crossbar"]), int(given["packet"]), int(given["latency"])
    topology, routing, vcs = _network(given)
    pattern: Document = {"kind": "uniform"}
    if "pattern" in given:
        kind, offset = given["pattern"].split(":")
        pattern = {"kind": kind, "offset": int(offset)}
    at_link = given.get("algorithm") in OUTPUT_QUEUES
    own = int(given["input_buffer"])
    link: Document = {
        "latency": times * latency + 1,
        "credit_latency": times * latency,
        "bandwidth": 1 / times,
        "buffer": own if at_link else own + int(given["output_buffer"]),
    }
    ends = {"vcs": 1, "latency": times * latency + times, "ejection_latency": times * latency}
    return {
        "topology": topology,
        "router": {
            "kind": "input_queued",
            "latency": times,
            "allocator": "sequential",
            "cut_through": "neither",
            "credit_release": "allocation",
            "output_buffer": int(given["output_buffer"]),
            **({"credit_use": "link", "decision": "front"} if at_link else {}),
            "links": {"default": {**link, "vcs": vcs}, "endpoint": {**link, **ends}},
            **({"crossbar_bandwidth": 1} if times > 1 else {}),
        },
        "routing": routing,
        "traffic": {
            "pattern": pattern,
            "process": {"kind": "periodic", "phase": "zero"},
            "load": packet / int(row["interval"]),
            "packet_size": packet,
        },
        "measure": {"warmup": times * WARMUP, "cycles": times * CYCLES},
    }


def _series(given: Keys) -> str:
    """Network, algorithm and pattern in words."""
    kind = given["topology"]
    names = {
        "single": "router of {ports} ports",
        "torus": "torus {shape}",
        "mesh": "mesh {shape}",
        "hyperx": "HyperX {shape}, {local_ports} endpoints each",
        "dragonfly": "Dragonfly p={hosts_per_router} a={routers_per_group}, {groups} groups",
        "fattree": "fat tree {shape}",
    }
    words = [names[kind].format(**given), given.get("algorithm", ""), given.get("pattern", "uniform").replace(":", " ")]
    return ", ".join([*filter(None, words), f"crossbar {given['crossbar']}x"])


def _grouped(folder: Path) -> dict[tuple[str, str], list[tuple[int, Row]]]:
    """Lines and rows of each run; nothing without the table."""
    grouped: dict[tuple[str, str], list[tuple[int, Row]]] = {}
    if (folder / TABLE).exists():
        for line, row in enumerate(rows(folder, TABLE), 2):
            grouped.setdefault((row["settings"], row["interval"]), []).append((line, row))
    return grouped


def cases(folder: Path) -> list[Case]:
    """Every run that Phit can express."""
    found = []
    for samples in _grouped(folder).values():
        of_run = [row for _, row in samples]
        given = keys(of_run[0])
        if given.get("algorithm") == "MIN-A":
            continue
        load = int(given["packet"]) / int(of_run[0]["interval"])
        theirs = {measure: [float(row[measure]) for row in of_run] for measure in TOLERANCES}
        notes = {}
        if fmean(theirs["accepted_load"]) < CARRIED * load:
            notes["latency_mean"] = SATURATED
        if (given["topology"], given["crossbar"], of_run[0]["interval"]) == ("torus", "2", "11"):
            notes["latency_mean"] = EDGE
        if given.get("algorithm") == "ugal" and "pattern" in given and of_run[0]["interval"] == "50":
            notes["latency_mean"] = GROWING
        dragonfly, pattern = given["topology"] == "dragonfly", given.get("pattern", "")
        plain = given.get("algorithm", "minimal") in ("minimal", "DOR", "deterministic")
        queues = given.get("algorithm") in OUTPUT_QUEUES
        place = (given["topology"], int(given["crossbar"]), int(of_run[0]["interval"]))
        found.append(
            Sweep(
                simulator=SIMULATOR,
                series=_series(given),
                load=round(load, 4),
                scenario=scenario(of_run[0]),
                theirs=theirs,
                tolerances={measure: limit for measure, limit in TOLERANCES.items() if measure not in notes},
                quick=place in (QUICK if plain else QUICK_QUEUES if queues else ()),
                notes=notes,
                known=WITHIN_GROUPS if dragonfly and given["algorithm"] == "valiant" and not pattern else None,
                errors=ERRORS,
                crossbar=int(given["crossbar"]),
                packet=int(given["packet"]),
            )
        )
    return list(found)


def left_out(folder: Path) -> list[LeftOut]:
    """The runs that Phit cannot express, with the reason."""
    return [
        LeftOut(SIMULATOR, f"{TABLE}:{line}", f"{_series(keys(row))}, interval {interval}", MIN_A)
        for (settings, interval), samples in _grouped(folder).items()
        for line, row in samples
        if "algorithm=MIN-A" in settings
    ]
