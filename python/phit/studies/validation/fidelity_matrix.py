"""The error of the fluid network in a matrix: every program on every network, on exact routers and as flows.

`make fidelity` measures it, and writes `docs/fluid-fidelity.md`.

Routes, buffers, packets and the share of time that ranks compute vary over the networks and programs. Defaults of the
fluid network may be tuned on the rows for which `tuned` is true. The other half of the rows judges them.
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from phit.base.markdown import markdown_table
from phit.document import Document

RESULTS = Path(__file__).with_name("fidelity_matrix.csv")
"""The numbers of the page, in the order of `cells`."""

LIMIT = 0.05
"""The largest error of the completion that is small."""

SHARE = 0.9
"""The share of rows whose error is to be small."""


def _network(topology: Document, routing: Document | str, buffer: int, vcs: int = 1, **more: Any) -> Document:
    """Routers with buffers of `buffer` phits for each of `vcs` channels."""
    links = {"default": {"latency": 20, "buffer": buffer, "vcs": vcs}}
    return {"topology": topology, "router": {"latency": 20, "links": links, **more}, "routing": routing}


_DRAGONFLY = {"kind": "dragonfly", "p": 2, "a": 4, "h": 2}

NETWORKS: dict[str, Document] = {
    "tree": _network({"kind": "clos", "down": [4, 6], "up": [4]}, "minhop", 128),
    "tree, adaptive": _network({"kind": "clos", "down": [4, 6], "up": [4]}, "clos", 512, speedup=2),
    "tree 2:1": _network({"kind": "clos", "down": [6, 4], "up": [3]}, "minhop", 512),
    "tree of three levels": _network({"kind": "k_ary_n_tree", "arity": 3, "levels": 3}, "ftree", 256),
    "rails": _network(
        {"kind": "rail_optimised", "rails": 4, "hosts": 6, "pods": 2, "spines": 3}, "minhop", 256, speedup=2
    ),
    "torus": _network({"kind": "torus", "dims": [5, 5]}, "dimension_order", 256, 2),
    "mesh": _network({"kind": "mesh", "dims": [5, 5]}, "dimension_order", 128, 1, speedup=2),
    "HyperX": _network({"kind": "hyperx", "dims": [4, 4], "endpoints_per_router": 2}, "minimal", 256, 2, speedup=2),
    "Slim Fly": _network({"kind": "slim_fly", "q": 4, "endpoints_per_router": 1}, "minimal", 128, 2, speedup=2),
    "Dragonfly": _network(_DRAGONFLY, "minimal", 512, 3, speedup=2),
    "Dragonfly, Valiant": _network(_DRAGONFLY, "valiant", 256, 5, speedup=2),
    "Dragonfly, PAR": _network(_DRAGONFLY, "par", 256, 5, speedup=2),
}
"""Routers and routes, by name."""

PROGRAMS: dict[str, Document] = {
    "ring all-reduce": {"kind": "collective", "collective": "all_reduce", "algorithm": "ring", "bytes": "256 KiB"},
    "halving and doubling": {
        "kind": "collective",
        "collective": "all_reduce",
        "algorithm": "halving_doubling",
        "ranks": 16,
        "bytes": "128 KiB",
    },
    "all-to-all, pairwise": {"kind": "collective", "collective": "all_to_all", "bytes": "4 KiB"},
    "all-to-all, skewed": {"kind": "collective", "collective": "all_to_all", "bytes": "3 KiB", "skew": 0.8},
    "broadcast": {"kind": "collective", "collective": "broadcast", "algorithm": "binomial", "bytes": "128 KiB"},
    "incast": {"kind": "incast", "ranks": 16, "bytes": "8 KiB", "times": 2},
    "permutation": {"kind": "permutation", "bytes": "32 KiB", "times": 4, "calc": 1000},
    "halo": {"kind": "halo", "dims": [4, 5], "periodic": True, "bytes": "8 KiB", "calc": 2000, "times": 6},
    "Fourier transform": {"kind": "fft", "rows": 4, "columns": 4, "bytes": "64 KiB", "calc": 2000, "times": 2},
    "training": {
        "kind": "training",
        "data": 5,
        "tensor": 2,
        "pipeline": 2,
        "layers": 4,
        "micro_batches": 4,
        "forward": 2000,
        "activation_bytes": "16 KiB",
        "gradient_bytes": "32 KiB",
    },
}
"""Programs by name."""

PACKETS = (16, 32, 64)
"""Phits of a packet, in turn from program to program."""


@dataclass(frozen=True)
class Row:
    """A program on a network, with both completions in cycles."""

    network: str
    program: str
    exact: int
    fluid: int
    cause: str
    """The cause of an error that is not small, as `phit fidelity` finds it."""

    @property
    def error(self) -> float:
        """How much later the fluid network completes the program, as a share; negative: earlier."""
        return self.fluid / max(self.exact, 1) - 1

    @property
    def tuned(self) -> bool:
        """Whether defaults may be tuned on this row: those of a chessboard's one colour."""
        return (list(NETWORKS).index(self.network) + list(PROGRAMS).index(self.program)) % 2 == 0


def scenario(network: str, program: str) -> Document:
    """A cell of the matrix, on exact routers."""
    packet = PACKETS[list(PROGRAMS).index(program) % len(PACKETS)]
    workload = {**PROGRAMS[program], "packet_size": packet}
    return {"units": {"cycle": "1 ns", "phit": "16 B"}, "seed": 1, **NETWORKS[network], "workload": workload}


def cells() -> Iterator[tuple[str, str]]:
    """Networks and programs."""
    return ((network, program) for network in NETWORKS for program in PROGRAMS)


def measure(network: str, program: str) -> Row:
    """Runs a cell on both networks; looks for the cause of an error that is not small."""
    from phit.running.fidelity import fidelity

    found = fidelity(scenario(network, program), whole=True, causes=False)
    cause = ""
    if abs(found.error) > LIMIT:
        cause = fidelity(scenario(network, program), whole=True).cause
    exact, fluid = (round(run["completion"]) for run in (found.exact, found.fluid))
    return Row(network, program, exact, fluid, cause)


def read(path: Path = RESULTS) -> list[Row]:
    """The rows of a file that `write` wrote."""
    with path.open(newline="") as file:
        return [
            Row(one["network"], one["program"], int(one["exact"]), int(one["fluid"]), one["cause"])
            for one in csv.DictReader(file)
        ]


def write(rows: Iterable[Row], path: Path = RESULTS) -> None:
    """Writes rows as CSV."""
    names = [field.name for field in fields(Row)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows)


def small(rows: Iterable[Row]) -> int:
    """The number of rows whose error is small."""
    return sum(abs(row.error) <= LIMIT for row in rows)


PAGE = """# The error of the fluid network

*For users who ask how far to trust the fluid network: {programs} programs on {networks} networks, exact and as flows.*

Each program runs on exact routers and on the [fluid network](fluid.md) with its defaults. The table shows by how much
the fluid network completes it later (+) or earlier (-), in percent. `phit fidelity FILE` does the same for a scenario
of your own.

Networks have 24 to 72 endpoints, buffers of 128 to 512 phits, and packets of 16 to 64 phits. Messages are short: most
of them fit in a few buffers. This is the hard case for flows, because buffers take up what a flow would have to wait
with.

Of {all} rows, {small} are off by at most {limit:.0%} ({share:.0%}). The goal is {goal:.0%} of the rows, and is {met}.
Only one half of the rows may tune the defaults, like the black fields of a chessboard: {tuned} of {tuned_all} are
within the limit there, and {tested} of {tested_all} in the other half. Tuned were three rules: when an endpoint begins
its next message, how much of its router's buffer the next message passes, and which flow of an input goes first.
The other half had been seen once before the last of these rules was chosen.

{table}

## Larger errors

The cause is the one that `phit fidelity` finds: the one property whose change removes most of the error. It is unknown
if no change removes three tenths.

{larger}

The two networks differ in more than these properties. How much of which error these differences explain has not been
measured:

- Messages that are under way at once share links at every moment. Packets in a queue pass a link one after another. So
  a message that has to wait for others, as in a pairwise all-to-all, may end later as a flow.
- Routers without speedup lose time when packets in one queue want different outputs. Flows lose none.
- Messages in the same buffers share their space. A flow counts on the whole of each buffer.
- A nonminimal adaptive mechanism decides for each packet. A flow decides once, when it begins.
- Packets choose among equal routes by load. A flow takes all of them in equal parts.
"""


def page(rows: list[Row]) -> str:
    """The page with the matrix, in Markdown."""
    by_cell = {(row.network, row.program): row for row in rows}
    lines = [
        [network, *(f"{100 * by_cell[network, program].error:+.1f}" for program in PROGRAMS)] for network in NETWORKS
    ]
    larger = sorted((row for row in rows if abs(row.error) > LIMIT), key=lambda row: -abs(row.error))
    named = [[row.network, row.program, f"{100 * row.error:+.1f} %", row.cause] for row in larger]
    tuned, tested = ([row for row in rows if row.tuned is half] for half in (True, False))
    share = small(rows) / len(rows)
    return PAGE.format(
        programs=len(PROGRAMS),
        networks=len(NETWORKS),
        all=len(rows),
        small=small(rows),
        limit=LIMIT,
        share=share,
        goal=SHARE,
        met="met" if share >= SHARE else "not met yet",
        tuned=small(tuned),
        tuned_all=len(tuned),
        tested=small(tested),
        tested_all=len(tested),
        table=markdown_table(("network", *PROGRAMS), lines),
        larger=markdown_table(("network", "program", "error", "cause"), named),
    )


def main() -> None:
    """Measures every cell, or the networks whose names are given, and writes results and page (`docs/`)."""
    known = {(row.network, row.program): row for row in read()} if RESULTS.exists() else {}
    wanted = sys.argv[1:] or list(NETWORKS)
    for network, program in cells():
        if network in wanted:
            row = measure(network, program)
            known[network, program] = row
            sys.stdout.write(f"{network}, {program}: {100 * row.error:+.1f} % {row.cause}\n")
            sys.stdout.flush()
    rows = [known[cell] for cell in cells() if cell in known]
    write(rows)
    if len(rows) == len(NETWORKS) * len(PROGRAMS):
        (Path("docs") / "fluid-fidelity.md").write_text(page(rows))


if __name__ == "__main__":
    main()
