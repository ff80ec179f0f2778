"""Measures the speed and the memory of the engine and writes `docs/performance.md`.

Runs the cases of `crates/phit-engine/benches/engine/cases.rs`, each in a process of its own: hops per CPU second,
memory, and two threads against one. Counts of instructions, mispredicted branches and cache misses per hop come from
cachegrind. They are the difference of two runs of different lengths, so the cost of building and warming up the network
cancels. Counts do not depend on other work on the machine. `--counts` makes them, at any time, and stores them in
`benches/counts.json`. Times are stored in `benches/results.json`, and the page is written from both. Handwritten text
is in `benches/performance.md`; the tables go between its lines.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from cases import BLOCKS, COUNTED, H8, ROOT, THREADED, Record, describe
from executable import LARGE, Engine, build
from page import COUNTS, PROFILED, RESULTS, page, write_page

RUNS = 5
"""Runs of each case, one after those of all other cases; the fastest is kept."""

ROUNDS = 3
"""Turns of two threads and one, in the same way."""

KEPT = ("endpoints", "partitions", "accepted_load", "best", "median", "bytes_per_endpoint", "resident_bytes")
"""Values that are stored for a timed case."""


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
    """The speed with two threads on each network."""
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


def processor() -> str:
    """The processor of the machine."""
    cpu = "a processor of unknown model"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = dict(re.findall(r"^(model name|cpu MHz|cache size)\s*: (.+)$", cpuinfo.read_text(), re.MULTILINE))
        cpu = found.get("model name", cpu)
        cpu += f" at {float(found['cpu MHz']) / 1000:.1f} GHz" if "cpu MHz" in found else ""
        cpu += f", {found['cache size']} of cache as `/proc/cpuinfo` has it" if "cache size" in found else ""
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}"


def machine_text(before: float, after: float) -> str:
    """The machine and how busy it was."""
    rustc = subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1]
    return (
        f"{processor()}, rustc {rustc}, optimised as wheels are, no `target-cpu`. Mean "
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
        timed = {"threads": time_threads(engine), "threads_machine": processor()}
        write_results(json.loads(RESULTS.read_text()) | timed)
        return
    # Before anything is measured: a case without words would lose it all.
    list(map(describe, engine.cases()))
    before = os.getloadavg()[0]
    runs: dict[str, Record] = {}
    # A shared machine is slow for minutes: the runs of one case are as far apart.
    for _, case in product(range(RUNS), engine.cases()):
        (run,) = engine.run(case)
        runs[case] = max(runs.get(case, kept(run)), kept(run), key=lambda run: run["best"])
        print(f"{case:<32} {run['best'] / 1e6:6.2f} million hops per CPU second", file=sys.stderr)
    blocks = time_blocks(engine)
    threads = time_threads(engine)
    machine = machine_text(before, os.getloadavg()[0])
    results: Record = {
        "runs": runs,
        "blocks": blocks,
        "threads": threads,
        "threads_machine": processor(),
        "machine": machine,
    }
    if options.dry_run:
        print(page(results))
        return
    write_results(results)


def write_results(results: Record) -> None:
    """Stores the times, and writes the page from them."""
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_page()


def kept(run: Record) -> Record:
    """The stored values of a run; speeds and bytes have four digits."""
    found: Record = {key: run[key] for key in KEPT}
    for key in ("accepted_load", "best", "median", "bytes_per_endpoint"):
        found[key] = float(f"{run[key]:.4g}")
    return found | {"hops_per_cycle": float(f"{sum(run['hops']) / (len(run['hops']) * run['cycles']):.4g}")}


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
