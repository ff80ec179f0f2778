"""The executable of the benchmarks: hops per CPU second, and counts per hop under cachegrind."""

import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cases import COUNTED, ROOT, Record

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""The private caches of a current core, so that counts agree between machines: the last level is the second."""

LARGE = (*CACHES[:2], "--LL=33554432,16,64")
"""Caches with a last level of 32 MiB, the size of a server's third level: its misses go to memory."""

COLUMNS = {
    "instructions": ("Ir",),
    "mispredicted": ("Bcm", "Bim"),
    "l1": ("I1mr", "D1mr", "D1mw"),
    "l2": ("ILmr", "DLmr", "DLmw"),
}


def build() -> Path:
    """Builds the benchmark and returns its executable."""
    command = ["cargo", "bench", "--quiet", "-p", "phit-engine", "--bench", "engine", "--no-run"]
    output = subprocess.run(
        [*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    for message in map(json.loads, output.stdout.splitlines()):
        if message.get("target", {}).get("name") == "engine" and message.get("executable"):
            return Path(message["executable"])
    raise SystemExit("cargo has built no benchmark")


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
    """The name of a source file in a table; files of other authors are combined."""
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
