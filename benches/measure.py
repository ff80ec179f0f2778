"""Measures the speed and the memory of the engine and writes `docs/performance.md`.

Runs the cases of `crates/phit-engine/benches/engine.rs`, each in a process of its own: hops per CPU second, memory, and
two threads against one. Counts of instructions, mispredicted branches and cache misses per hop come from cachegrind:
the difference of two runs of different lengths, so that building and warming up the network cancel. They do not depend
on what else the machine does: `--counts` makes them, at any time, and keeps them in `benches/counts.json`, as what is
timed is kept in `benches/results.json`; the page is written anew from both. What is written by hand is in
`benches/performance.md`, where the tables go between the lines.
"""

import argparse
import json
import operator
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "benches" / "performance.md"
DOCUMENT = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "benches" / "results.json"
COUNTS = ROOT / "benches" / "counts.json"
TURNS = ROOT / "benches" / "peers.json"
ROUNDS = 3
"""Runs of each case, one after those of all other cases; the fastest is kept."""

Record = dict[str, Any]

H8, H4 = "dragonfly-h8-uniform-0.3", "dragonfly-h4-uniform-0.3"
TORUS = ("torus-1flit-0.5", "torus-4flit-0.5")
NODES = tuple(
    f"nodes-{side}-{routing}-{load}"
    for side, loads in ((8, (0.55, 0.7, 0.7)), (16, (0.7, 0.8, 0.8)))
    for routing, load in zip(("abr", "por", "outflank"), loads, strict=True)
)
"""Tori of packet-level nodes at the largest loads that the OutFlank paper's table has for uniform traffic."""
PROFILED = H8
CLOS = "clos-27648-sequential-0.5"
HYBRID = "dragonfly-h8-contention_hybrid-uniform-0.3"
ADAPTIVE = {
    "dragonfly-h8-olm-uniform-0.3": 5.0,
    "dragonfly-h8-piggyback-uniform-0.3": 5.0,
    "dragonfly-h8-contention_base-uniform-0.3": 5.0,
    "dragonfly-h8-ectn-uniform-0.3": 5.0,
    HYBRID: 4.5,
}
"""Adaptive mechanisms, and the million packet-hops per second that are required of each."""

THREADED = {
    H8: 1.6,
    H4: None,
    "clos-27648-oblivious-0.5": 1.8,
    CLOS: 1.8,
    "long-torus-0.3": 1.8,
    "long-mesh-0.04": 1.8,
    "long-hyperx-0.5": 1.8,
    "long-tree-0.4": 1.8,
    "long-multistage-0.3": 1.8,
    "long-cascade-0.3": 1.8,
}
"""Networks that two threads run, and how many times as fast as one it is to be."""

KEPT = ("endpoints", "partitions", "accepted_load", "best", "median", "bytes_per_endpoint", "resident_bytes")
"""Of a case that was timed."""

COUNTED = {
    H8: (400, 200),
    "dragonfly-h8-adversarial-0.3": (600, 100),
    "dragonfly-h4-uniform-0.1": (1000, 1500),
    H4: (1000, 1500),
    "dragonfly-h4-uniform-0.45": (1000, 700),
    TORUS[0]: (300, 200),
    TORUS[1]: (300, 200),
    CLOS: (150, 40),
    "clos-27648-oblivious-0.5": (150, 40),
    **dict.fromkeys(ADAPTIVE, (400, 100)),
    "clos-1024-sequential-0.9": (200, 100),
    "tree-256-fbicm-1": (4000, 3000),
    "tree-256-voqnet-1": (4000, 3000),
    "nodes-8-outflank-0.7": (150_000, 300_000),
}
"""Cases run under cachegrind: cycles to warm up, cycles that count."""

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""The private caches of a current core, so that counts agree between machines: the last level is the second."""

LARGE = (*CACHES[:2], "--LL=33554432,16,64")
"""The same with a last level of 32 MiB, the size of a server's third level: what misses it comes from memory."""

BLOCKS: dict[str, tuple[int | None, ...]] = {
    H8: (1, 16, None, 129),
    H4: (1, None, 33),
    "clos-27648-oblivious-0.5": (1, None),
}
"""Numbers of partitions to compare: none, the automatic one, as many as there are groups."""

LONG = {
    "torus": "16×16×16 torus",
    "mesh": "64×64 mesh",
    "hyperx": "16×16 HyperX of 4,096 endpoints",
    "tree": "8-ary 4-tree",
    "multistage": "butterfly of 4,096 endpoints in four stages",
    "cascade": "33 Cascade groups of 4,224 endpoints, with 100 between them",
}
"""By the middle of a case's name, the networks that are cut at links of 10 cycles."""

COLUMNS = {
    "instructions": ("Ir",),
    "mispredicted": ("Bcm", "Bim"),
    "l1": ("I1mr", "D1mr", "D1mw"),
    "l2": ("ILmr", "DLmr", "DLmw"),
}

AUTHOR = (("the OutFlank author's, as published", 0.07e6), ("the OutFlank author's, with cached lookups", 0.13e6))
"""Packet-hops per CPU second of the model of OutFlank's author on the torus of 8x8x8 nodes, on a quiet machine."""


def build() -> Path:
    """Builds the benchmark and returns its executable."""
    command = ["cargo", "bench", "--quiet", "-p", "phit-engine", "--bench", "engine", "--no-run"]
    output = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    for message in map(json.loads, output.stdout.splitlines()):
        if message.get("target", {}).get("name") == "engine" and message.get("executable"):
            return Path(message["executable"])
    raise SystemExit("measure.py: cargo has built no benchmark")


@dataclass
class Engine:
    """The benchmark's executable."""

    executable: Path
    quick: bool

    def cases(self) -> list[str]:
        """Names of all cases."""
        command = [str(self.executable), "--bench", "--list"]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return output.stdout.split()

    def run(self, case: str, *options: str, under: Iterable[str] = ()) -> list[Record]:
        """Runs one case and returns a record per number of threads."""
        command = [*under, str(self.executable), "--bench", "--json", "--case", f"={case}", *options]
        command += ["--quick"] if self.quick else []
        quiet = subprocess.DEVNULL if under else None
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=quiet, text=True)
        return [json.loads(line) for line in output.stdout.splitlines()]

    def count(self, case: str, caches: tuple[str, ...] = CACHES) -> Record:
        """Counts per hop of a case, in all, by compiled function and by source file."""
        warmup, cycles = COUNTED[case]
        with ThreadPoolExecutor(2) as pool:
            (_, none), (hops, some) = pool.map(lambda cycles: self._count(case, warmup, cycles, caches), (0, cycles))
        some.subtract(none)
        counts: Record = {"hops": hops, "all": {}, "functions": {}, "files": {}}
        for (part, name, column), count in some.items():
            if count:
                counts[part].setdefault(name, dict.fromkeys(COLUMNS, 0.0))[column] += count / hops
        counts["all"] = counts["all"][""]
        return counts

    def _count(
        self, case: str, warmup: int, cycles: int, caches: tuple[str, ...]
    ) -> tuple[int, Counter[tuple[str, str, str]]]:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "counts"
            valgrind = ["valgrind", "--tool=cachegrind", "--branch-sim=yes", "--cache-sim=yes", *caches]
            valgrind.append(f"--cachegrind-out-file={output}")
            spans = ["--spans", "1", "--warmup", str(warmup), "--cycles", str(cycles)]
            plain = Engine(self.executable, quick=False)
            (record,) = plain.run(case, *spans, under=valgrind)
            return sum(record["hops"]), read_counts(output)


def read_counts(path: Path) -> Counter[tuple[str, str, str]]:
    """Sums up an output file of cachegrind: (part, name, column) to count."""
    counts: Counter[tuple[str, str, str]] = Counter()
    events: list[str] = []
    file = function = ""
    columns: dict[str, list[int]] = {}
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("events: "):
            events = line.split()[1:]
            columns = {column: [events.index(e) for e in wanted] for column, wanted in COLUMNS.items()}
        elif line.startswith("fl="):
            file = source(line[3:])
        elif line.startswith("fn="):
            function = short(line[3:])
        elif line[:1].isdigit():
            numbers = [int(number) for number in line.split()[1:]]
            for column, places in columns.items():
                if count := sum(numbers[place] for place in places):
                    counts["all", "", column] += count
                    counts["functions", function, column] += count
                    counts["files", file, column] += count
    return counts


def source(path: str) -> str:
    """What a table calls a source file: those of other authors together."""
    if found := re.search(r"phit-engine/(?:src|benches)/(.+)", path):
        return found[1]
    if found := re.search(r"registry/src/[^/]+/([a-z_0-9-]+?)-[0-9.]+/", path):
        return f"crate {found[1]}"
    if "/rustc/" in path or "library/" in path:
        return "Rust's standard library"
    return "C library"


def short(function: str) -> str:
    """A function's name without hashes, generic parameters and all but the last parts of its path."""
    name = re.sub(r"::h[0-9a-f]{16}$", "", function)
    if found := re.match(r"<(.+) as (.+)>::(\w+)$", name):
        return "::".join([*found[1].split("::")[-2:], found[3]])
    name = re.sub(r"::\{\{closure\}\}|::_\{\{closure\}\}", "", name)
    if found := re.match(r"(.*)::<impl .+>::(\w+)$", name):
        name = f"{found[1]}::{found[2]}"
    name = re.sub(r"<.*>", "", name)
    return "::".join(name.split("::")[-2:])


def show(number: float, digits: int = 2) -> str:
    """A number for a table."""
    return f"{number:,.{digits}f}"


def table(heads: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown, all columns but the first to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def describe(case: str) -> str:
    """A case in words."""
    kind, *rest, load = case.split("-")
    words = {"uniform": "UN, minimal", "adversarial": "ADV+1, Valiant"}
    if kind == "cascade":
        return f"Cascade group of 1,728, UN, {rest[0]}, {load}"
    if kind == "torus":
        return f"8×8×8 torus, {rest[0].removesuffix('flit')}-flit packets, uniform {load}"
    if kind == "booksim":
        what = {"torus": "8×8×8 torus", "fat": "fat tree of 1,024"}[rest[0]]
        return f"{what} as imported from BookSim, 1-flit packets, uniform {load}"
    if kind == "long":
        return f"{LONG[rest[0]]}, links of 10 cycles, UN, minimal, {load}"
    if kind == "nodes":
        return f"{'×'.join([rest[0]] * 3)} torus of packet-level nodes, UN, {rest[1]}, {load}"
    if kind == "clos":
        size, traffic = ("three levels", "UN") if rest[0] == "27648" else ("two levels, 1-flit packets", "wc-UR")
        return f"folded Clos of {int(rest[0]):,} endpoints in {size}, {traffic}, {rest[1]}, {load}"
    if kind == "tree":
        return f"k-ary n-tree of {rest[0]} endpoints, UN, {rest[1]}, {load}"
    size, *options, traffic = rest
    what = words[traffic]
    if options and options != ["fogsim"]:
        what = f"UN, {options[0]}"
    return f"Dragonfly {size.replace('h', 'h=')}, {what}, {load}{', as FOGSim' if 'fogsim' in rest else ''}"


def speed_table(runs: dict[str, Record]) -> str:
    """Speed and memory of all cases."""
    rows = [
        [
            describe(case),
            show(run["accepted_load"], 3),
            show(run["best"] / 1e6),
            show(run["median"] / 1e6),
            f"{run['bytes_per_endpoint']:,.0f}",
            f"{run['resident_bytes'] / run['endpoints']:,.0f}" if run["resident_bytes"] else "–",
            str(run["partitions"]),
        ]
        for case, run in runs.items()
    ]
    heads = ["network, traffic, load", "accepted", "best", "median", "tables", "resident", "partitions"]
    return table(heads, rows)


def required_table(runs: dict[str, Record], counts: dict[str, Record], threads: dict[str, Record]) -> str:
    """What is required and aimed at, and what was measured."""
    rows = []

    def row(what: str, sign: str, required: float, aim: float | None, measured: float | None, digits: int = 2) -> None:
        meets = operator.ge if sign == "≥" else operator.le
        verdict = "not measured"
        if measured is not None:
            verdict = (
                "aim" if aim is not None and meets(measured, aim) else "yes" if meets(measured, required) else "**no**"
            )
        bounds = [f"{sign} {bound:,g}" if bound is not None else "–" for bound in (required, aim)]
        rows.append([what, *bounds, "–" if measured is None else show(measured, digits), verdict])

    row("h=8, UN 0.3: million packet-hops/s", "≥", 5, 12, runs[H8]["best"] / 1e6)
    row("h=4, UN 0.3: million packet-hops/s", "≥", 6, 14, runs[H4]["best"] / 1e6)
    for case, required in ADAPTIVE.items():
        row(f"{describe(case)}: million packet-hops/s", "≥", required, None, runs[case]["best"] / 1e6)
    for case, required in (("tree-256-fbicm-1", 2.5), ("tree-256-voqnet-1", 3), ("clos-1024-sequential-0.9", 6)):
        row(f"{describe(case)}: million packet-hops/s", "≥", required, None, runs[case]["best"] / 1e6)
    for case in TORUS:
        what = f"8×8×8 torus, 0.5, {case[6]}-flit packets: million flit-hops/s"
        row(what, "≥", 3, 10, runs[case]["best"] / 1e6)
    for case in NODES:
        row(f"{describe(case)}: million packet-hops/s", "≥", 9, None, runs[case]["best"] / 1e6)
    for case, required in (("clos-27648-oblivious-0.5", 5.5), (CLOS, 3.3)):
        row(
            f"{describe(case)}: million packet-hops/s",
            "≥",
            required,
            7 if required > 4 else 5,
            runs[case]["best"] / 1e6,
        )
    bounds = {H8: (730, 600), H4: (730, 600), TORUS[0]: (1200, 900), CLOS: (1500, None), HYBRID: (1700, None)}
    for case, (required, aim) in bounds.items():
        measured = counts[case]["all"]["instructions"] if case in counts else None
        row(f"{describe(case)}: instructions per hop", "≤", required, aim, measured, 0)
    row("h=8, UN 0.3: bytes per endpoint", "≤", 1300, None, runs[H8]["bytes_per_endpoint"], 0)
    for case, wanted in THREADED.items():
        if wanted is not None:
            row(f"{describe(case)}: two threads against one", "≥", wanted, None, threads[case]["speedup"])
    return table(["", "required", "aim", "measured", "met"], rows)


def peers_table(turns: list[Record]) -> str:
    """The speed of this engine over that of its peers, timed in turn."""
    rows = [
        [
            turn["words"],
            turn["peer"],
            show(turn["theirs"] / 1e6, 3),
            show(turn["ours"] / 1e6),
            f"{turn['times']:.0f} ({turn['least']:.0f} to {turn['most']:.0f})",
        ]
        for turn in turns
    ]
    return table(["network, mechanism, traffic", "peer", "the peer", "Phit", "times"], rows)


def author_table(runs: dict[str, Record]) -> str:
    """The speed of this engine beside that of OutFlank's author."""
    rows = [
        [describe(case), peer, show(theirs / 1e6), show(runs[case]["best"] / 1e6), f"{runs[case]['best'] / theirs:.0f}"]
        for case in NODES
        if case.startswith("nodes-8")
        for peer, theirs in AUTHOR
    ]
    return table(["network, traffic, load", "peer", "the peer", "Phit", "times"], rows)


def counts_table(counts: dict[str, Record]) -> str:
    """Counts per hop of all cases run under cachegrind."""
    rows = [[describe(case), *counted(count["all"])] for case, count in counts.items()]
    return table(["network, traffic, load", "instructions", "mispredicted", "L1 misses", "L2 misses"], rows)


def profile_table(count: Record, part: str, head: str, rows: int) -> str:
    """The parts with most instructions per hop."""
    parts: list[tuple[str, dict[str, float]]] = sorted(count[part].items(), key=lambda item: -item[1]["instructions"])
    rest = {column: sum(other[column] for _, other in parts[rows:]) for column in COLUMNS}
    shown = [[f"`{name}`" if "::" in name or ".rs" in name else name, *counted(own)] for name, own in parts[:rows]]
    return table(
        [head, "instructions", "mispredicted", "L1 misses", "L2 misses"], [*shown, ["all others", *counted(rest)]]
    )


def counted(count: dict[str, float]) -> list[str]:
    """The columns of a table of counts."""
    return [show(count["instructions"], 0), *(show(count[column]) for column in ("mispredicted", "l1", "l2"))]


def compare_threads(engine: Engine, case: str) -> Record:
    """Two threads against one, timed in turn by the clock on the wall, and two processes that share nothing."""
    cycles = ["--cycles", "300"] if case == H8 else []
    one, two = engine.run(case, "--threads", "1,2", "--spans", "11", *cycles)
    apart = partial(engine.run, case, "--threads", "1", "--spans", "11", *cycles)
    with ThreadPoolExecutor(2) as both:
        beside = [started.result()[0]["wall_seconds"] for started in [both.submit(apart), both.submit(apart)]]
    alone = min(one["wall_seconds"])
    return {
        "one": alone,
        "two": min(two["wall_seconds"]),
        "speedup": alone / min(two["wall_seconds"]),
        "median_speedup": median(a / b for a, b in zip(one["wall_seconds"], two["wall_seconds"], strict=True)),
        "cpu": min(two["cpu_seconds"]) / min(one["cpu_seconds"]),
        "apart": sum(alone / median(seconds) for seconds in beside),
    }


def time_threads(engine: Engine) -> dict[str, Record]:
    """What two threads give on each network."""
    threads: dict[str, Record] = {}
    # A shared machine is slow for minutes: the turns of one case are as far apart.
    for _, case in product(range(ROUNDS), THREADED):
        found = compare_threads(engine, case)
        print(f"{case:<32} {found['speedup']:6.2f} times one thread, apart {found['apart']:.2f}", file=sys.stderr)
        threads[case] = max(threads.get(case, found), found, key=lambda it: it["median_speedup"])
    return {case: {key: float(f"{it[key]:.4g}") for key in it} for case, it in threads.items()}


def time_blocks(engine: Engine) -> list[Record]:
    """Speed by number of partitions on one thread."""
    found = []
    for case, numbers in BLOCKS.items():
        for number in numbers:
            (run,) = engine.run(case, *(["--partitions", str(number)] if number else []), "--spans", "5")
            found.append({"case": case, "automatic": number is None} | kept(run))
    return found


def blocks_table(blocks: list[Record]) -> str:
    """Speed by number of partitions on one thread."""
    rows = [
        [
            describe(run["case"]),
            f"{run['partitions']}{' (automatic)' if run['automatic'] else ''}",
            show(run["best"] / 1e6),
            f"{run['bytes_per_endpoint']:,.0f}",
        ]
        for run in blocks
    ]
    return table(["network, traffic, load", "partitions", "million hops/s", "bytes/endpoint"], rows)


def block_bytes(run: Record) -> float:
    """Bytes of the tables of one partition."""
    return float(run["bytes_per_endpoint"] * run["endpoints"] / run["partitions"])


def reloaded_lines(run: Record) -> float:
    """Cache lines per hop if every partition fetches all of its tables once in the 100 cycles of a global link."""
    return float(block_bytes(run) * run["partitions"] / 64 / (100 * run["hops_per_cycle"]))


def threads_table(threads: dict[str, Record]) -> str:
    """What two threads give."""
    rows = [
        [
            describe(case),
            show(it["one"], 3),
            show(it["two"], 3),
            show(it["speedup"]),
            show(it["median_speedup"]),
            show(it["cpu"]),
            show(it["apart"]),
        ]
        for case, it in threads.items()
    ]
    heads = ["network, traffic, load", "one, s", "two, s", "times as fast", "median", "CPU time", "two processes"]
    return table(heads, rows)


def machine_text(before: float, after: float) -> str:
    """The machine and how busy it was."""
    cpu = "a processor of unknown model"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = dict(re.findall(r"^(model name|cpu MHz|cache size)\s*: (.+)$", cpuinfo.read_text(), re.MULTILINE))
        cpu = found.get("model name", cpu)
        cpu += f" at {float(found['cpu MHz']) / 1000:.1f} GHz" if "cpu MHz" in found else ""
        cpu += f", {found['cache size']} of cache as `/proc/cpuinfo` has it" if "cache size" in found else ""
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    return (
        f"{cpu}, {os.cpu_count()} cores, {platform.system()}, rustc {rustc}, release profile, no `target-cpu`. Mean "
        f"load of the machine before the timed runs {before:.1f}, after them {after:.1f} (the runs themselves account "
        "for 1 to 2 of it); what is above that shared the cores and caches with them."
    )


def main() -> None:
    """Runs everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a third of the time, for a first impression")
    parser.add_argument("--counts", action="store_true", help="count under cachegrind, and nothing else")
    parser.add_argument("--threads", action="store_true", help="time two threads against one, and nothing else")
    parser.add_argument("--page", action="store_true", help="write the page anew, and measure nothing")
    parser.add_argument("--case", default="", help="with --counts: only cases whose name contains this")
    parser.add_argument("--executable", type=Path, help="the benchmark, if it is not to be built")
    parser.add_argument("--dry-run", action="store_true", help="print the document instead of writing it")
    options = parser.parse_args()

    if options.page:
        write_page()
        return
    engine = Engine(options.executable or build(), options.quick)
    if options.counts:
        count_anew(engine, options.case)
        print(f"written: {COUNTS.relative_to(ROOT)}", file=sys.stderr)
        write_page()
        return
    if options.threads:
        write_results(json.loads(RESULTS.read_text()) | {"threads": time_threads(engine)})
        return
    # Before anything is measured: a case without words would lose it all.
    list(map(describe, engine.cases()))
    before = os.getloadavg()[0]
    runs: dict[str, Record] = {}
    # A shared machine is slow for minutes: the runs of one case are as far apart.
    for _, case in product(range(ROUNDS), engine.cases()):
        (run,) = engine.run(case)
        runs[case] = max(runs.get(case, kept(run)), kept(run), key=lambda run: run["best"])
        print(f"{case:<32} {run['best'] / 1e6:6.2f} million hops per CPU second", file=sys.stderr)
    blocks = time_blocks(engine)
    threads = time_threads(engine)
    machine = machine_text(before, os.getloadavg()[0])
    results = {"runs": runs, "blocks": blocks, "threads": threads, "machine": machine}
    if options.dry_run:
        print(page(results))
        return
    write_results(results)


def write_results(results: Record) -> None:
    """Keeps what was timed, and writes the page from it."""
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_page()


def kept(run: Record) -> Record:
    """What is kept of a run; speeds and bytes to four digits."""
    found: Record = {key: run[key] for key in KEPT}
    for key in ("accepted_load", "best", "median", "bytes_per_endpoint"):
        found[key] = float(f"{run[key]:.4g}")
    return found | {"hops_per_cycle": float(f"{sum(run['hops']) / (len(run['hops']) * run['cycles']):.4g}")}


def write_page() -> None:
    """Writes the page from what was timed last and counted last."""
    DOCUMENT.write_text(page(json.loads(RESULTS.read_text())))
    print(f"written: {DOCUMENT.relative_to(ROOT)}", file=sys.stderr)


def page(results: Record) -> str:
    """The page, of what was timed, and of the counts and the peers' turns that there are."""
    runs, threads = results["runs"], results["threads"]
    counts: dict[str, Record] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    from_memory = show(counts.pop("large", {}).get("all", {}).get("l2", float("nan")))
    missing = "Not measured: `make bench-counts` does."
    turns: list[Record] = json.loads(TURNS.read_text()) if TURNS.exists() else []
    parts = {
        "required": required_table(runs, counts, threads),
        "peers": peers_table(turns) if turns else "Not measured: `benches/peers.py` does.",
        "author": author_table(runs),
        "speed": speed_table(runs),
        "counts": counts_table(counts) if counts else missing,
        "functions": profile_table(counts[PROFILED], "functions", "function", 14) if counts else missing,
        "files": profile_table(counts[PROFILED], "files", "source", 16) if counts else missing,
        "torus": profile_table(counts[TORUS[0]], "functions", "function", 10) if counts else missing,
        "blocks": blocks_table(results["blocks"]),
        "from_memory": from_memory,
        "reloaded": show(reloaded_lines(runs[PROFILED])),
        "block_size": f"{block_bytes(runs[PROFILED]) / 1000:.0f}",
        "threads": threads_table(threads),
        "machine": results["machine"],
    }
    return re.sub(r"<!-- ([a-z_]+) -->", lambda found: parts[found[1]], TEMPLATE.read_text())


def count_anew(engine: Engine, wanted: str) -> None:
    """Counts the cases whose names contain a text, and one with a larger cache; each is written when it is there."""
    if shutil.which("valgrind") is None:
        raise SystemExit("measure.py: counts need valgrind")
    counts: dict[str, Record] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    for case in COUNTED:
        if wanted not in case:
            continue
        counts[case] = trimmed(engine.count(case))
        print(f"{case:<32} {counts[case]['all']['instructions']:6.0f} instructions per hop", file=sys.stderr)
        if case == PROFILED:
            counts["large"] = {"all": engine.count(PROFILED, LARGE)["all"]}
        kept = [name for name in (*COUNTED, "large") if name in counts]
        COUNTS.write_text(json.dumps({name: counts[name] for name in kept}, indent=1) + "\n")


def trimmed(count: Record) -> Record:
    """Counts to four digits, without functions and files that hardly count."""

    def parts(of: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        return {name: rounded(own) for name, own in of.items() if own["instructions"] >= 0.5}

    def rounded(own: dict[str, float]) -> dict[str, float]:
        return {column: float(f"{number:.4g}") for column, number in own.items()}

    return {
        "hops": count["hops"],
        "all": rounded(count["all"]),
        "functions": parts(count["functions"]),
        "files": parts(count["files"]),
    }


if __name__ == "__main__":
    main()
