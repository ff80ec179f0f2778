"""BookSim 2's fat tree: oblivious and adaptive ways up in a folded Clos network of 1,024 endpoints."""

from collections import defaultdict
from pathlib import Path

from phit.peers.comparison import Case
from phit.studies.validation import booksim
from phit.studies.validation.reference import Row, rows

TABLES = ("booksim_fattree.csv", "booksim_fattree_infinite_buffers.csv")

NAMES = {"uniform": "uniform", "bitcomp": "bit complement", "bitrev": "bit reverse"}

LARGE = 1000
"""A buffer size in flits that never fills."""


def series(row: Row) -> str:
    """The name of a curve."""
    given = booksim.configuration(row)
    size = "" if given["packet_size"] == "1" else f" of {given['packet_size']}-flit packets"
    buffers = "" if int(given["vc_buf_size"]) < LARGE else ", large buffers"
    return f"fat tree of 1,024, {NAMES[given['traffic']]}{size}, {given['routing_function']}{buffers}"


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
            document = booksim.scenario(runs[0], drained=runs[0]["saturated"] == "no")
            quick = name.endswith("bit complement, anca") and load == 0.5
            found.append(booksim.point(name, load, runs, document, limit, quick=quick))
    return found
