"""BookSim on one Cascade group: networks that the release can describe, and a local extension with the real group."""

from collections import defaultdict
from pathlib import Path

from phit.document import Document
from phit.peers.booksim import UNIFORM, router
from phit.peers.comparison import Case
from phit.studies.validation import booksim
from phit.studies.validation.reference import Row, rows

GROUP: Document = {"kind": "cascade", "rows": 6, "columns": 16, "endpoints_per_router": 18}

SINGLE: Document = {"kind": "hyperx", "dims": [16, 6], "endpoints_per_router": 18}
"""BookSim's `anynet` has one link between two routers at most, and one route, in one order of the dimensions."""

CANDIDATES: Document = {
    "queue": "port",
    "threshold": 0,
    "stop": "anywhere",
    "minimal_candidates": 2,
    "valiant_candidates": 2,
}

ROUTING: dict[str, Document] = {
    "min": {"kind": "minimal"},
    "vlb": {"kind": "valiant", "stop": "anywhere"},
    "ugal_l": {"kind": "ugal_l", **CANDIDATES},
    "ugal_g": {"kind": "ugal_g", **CANDIDATES, "cost": "queue"},
}

PATTERNS: dict[str, Document] = {
    "uniform": UNIFORM,
    "shift_router(18)": {"kind": "shift", "offset": 18},
}

EXTENDED, RELEASED = "booksim_cascade_extended.csv", "booksim_cascade.csv"


def series(row: Row) -> str:
    """The name of a curve."""
    given = booksim.configuration(row)
    if given["topology"] != "cascade":
        return "16x6 group without parallel links, uniform, min"
    traffic = "uniform" if given["traffic"] == "uniform" else "router i to i+1"
    return f"Cascade group, {traffic}, {given['routing_function']} (extended BookSim)"


def scenario(row: Row) -> Document:
    """One of BookSim's runs in Phit's words."""
    given = booksim.configuration(row)
    group = given["topology"] == "cascade"
    return {
        "topology": GROUP if group else SINGLE,
        "router": router(channel=10, **booksim.settings(given)),
        "routing": ROUTING[given["routing_function"]],
        "traffic": {
            "pattern": PATTERNS[given["traffic"]],
            "process": "bernoulli",
            "load": float(given["injection_rate"]),
            "packet_size": 1,
        },
        "measure": {
            "warmup": int(given["sample_period"]),
            "cycles": int(row["measured_cycles"]),
            "count": "delivered" if row["saturated"] == "yes" else "generated",
        },
    }


def cases(folder: Path) -> list[Case]:
    """The latency-load curves; a run that BookSim gave up is left out."""
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in (row for table in (RELEASED, EXTENDED) for row in rows(folder, table)):
        if row["status"] == "ok":
            grouped[series(row)].append(row)
    found = []
    for name, points in grouped.items():
        limit = LIMITS.get(name) or booksim.saturation(points)
        for row in points:
            load = float(row["offered_flits_node_cycle"])
            quick = "i+1" in name and load in (0.02, 0.05)
            found.append(booksim.point(name, load, [row], scenario(row), limit, quick=quick))
    return found


LIMITS = {
    "Cascade group, router i to i+1, ugal_l (extended BookSim)": 0.31,
    "Cascade group, router i to i+1, ugal_g (extended BookSim)": 0.16,
    "Cascade group, uniform, ugal_l (extended BookSim)": 0.88,
}
"""The most that curves accept whose rows do not reach their saturation: BookSim's own figure at a load where it gave
up, or else Phit's."""
