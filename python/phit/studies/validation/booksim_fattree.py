"""BookSim 2's fat tree: oblivious and adaptive ways up in a folded Clos network of 1,024 endpoints."""

from collections import defaultdict
from pathlib import Path

from phit.scenario import Document
from phit.studies.peers.booksim import UNIFORM, router
from phit.studies.validation import booksim
from phit.studies.validation.comparison import Case
from phit.studies.validation.reference import Row, rows

TABLES = ("booksim_fattree.csv", "booksim_fattree_infinite_buffers.csv")

PATTERNS: dict[str, str | Document] = {
    "uniform": UNIFORM,
    "bitcomp": "bit_complement",
    "bitrev": "bit_reverse",
}

NAMES = {"uniform": "uniform", "bitcomp": "bit complement", "bitrev": "bit reverse"}

ROUTING: dict[str, Document] = {
    "nca": {"kind": "clos", "allocation": "oblivious"},
    "anca": {
        "kind": "clos",
        "allocation": "greedy_r",
        "samples": 2,
        "precompute": 2,
        "decide": "arrival",
        "redecide": False,
        "busy": "ignored",
    },
}
"""BookSim's `anca` reads the credits of the first router when the endpoint sends the head, two cycles before it is
there and whatever waits there before it, and keeps what it has chosen. That a channel is held, or full, counts for
nothing."""

LARGE = 1000
"""Buffers of as many flits never fill."""


def series(row: Row) -> str:
    """What a curve is called."""
    given = booksim.configuration(row)
    size = "" if given["packet_size"] == "1" else f" of {given['packet_size']}-flit packets"
    buffers = "" if int(given["vc_buf_size"]) < LARGE else ", large buffers"
    return f"fat tree of 1,024, {NAMES[given['traffic']]}{size}, {given['routing_function']}{buffers}"


def scenario(row: Row) -> Document:
    """One of BookSim's runs in Phit's words."""
    given = booksim.configuration(row)
    radix = int(given["k"])
    return {
        "topology": {"kind": "clos", "down": [radix, radix], "up": [radix]},
        # Flits arrive as a whole.
        "router": router(**booksim.settings(given)) | {"cut_through": "input"},
        "routing": ROUTING[given["routing_function"]],
        **booksim.workload(row, PATTERNS[given["traffic"]], drained=row["saturated"] == "no"),
    }


def cases(folder: Path) -> list[Case]:
    """The latency-load curves."""
    grouped: dict[str, dict[float, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in (row for table in TABLES for row in rows(folder, table)):
        if row["status"] == "ok":
            grouped[series(row)][float(booksim.configuration(row)["injection_rate"])].append(row)
    found = []
    for name, points in grouped.items():
        limit = booksim.saturation([run for runs in points.values() for run in runs])
        for load, runs in sorted(points.items()):
            # Cheap, and the most telling of the mechanism.
            quick = name.endswith("bit complement, anca") and load == 0.5
            found.append(booksim.point(name, load, runs, scenario(runs[0]), limit, quick=quick))
    return found
