"""Times Phit and another simulator in turn on the same network, and writes `benches/peers.json`.

`python benches/peers.py --fogsim EXECUTABLE --booksim EXECUTABLE` takes what is given: FOGSim 2 and BookSim 2, built by
whoever wants to compare (`-O3 -march=native` is what the page's are built with). The runs are rows of
`tests/reference`: `phit validate` compares the results of the same scenarios. Each program runs for a short and for a
long time in every round, so that building and warming up cancel, and the four runs of a round follow each other.

The unit is one packet (or flit, under wormhole switching) through one router. Phit counts it; the peer's is Phit's rate
per cycle times the peer's cycles, since both carry the same packets over the same routes: that both accept the
same load is checked.
"""

import argparse
import csv
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import phit
from measure import processor
from phit.studies.validation import booksim
from phit.studies.validation import fogsim as fogsim_rows

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "tests" / "reference"
RESULTS = ROOT / "benches" / "peers.json"

Row = dict[str, str]
Config = Callable[[Row, int], str]

AGREED = 0.02
"""The accepted loads of both may differ by so much."""

FOGSIM = {
    "Switch": "IOQ_SW",
    "XbarDelay": "5",
    "InternalSpeedup": "2",
    "OutQueueLength": "32",
    "ArbiterIterations": "1",
    "InjectionQueueLength": "1000",
    "InjectionChannels": "3",
    "InjectionDelay": "1",
    "LocalQueueLength": "32",
    "LocalLinkChannels": "3",
    "LocalLinkTransmissionDelay": "10",
    "GlobalQueueLength": "256",
    "GlobalChannels": "2",
    "GlobalLinkTransmissionDelay": "100",
    "RingInjectionBubble": "1",
    "PalmTreeConfiguration": "1",
    "PacketSize": "8",
    "FlitSize": "8",
    "deadlock_avoidance": "DALLY",
    "PercentLocalThreshold": "50",
    "ThMin": "0",
    "Seed": "1",
}
"""Keys of the reference runs besides those of their mechanism."""

TRAFFIC = {"UN": {"Traffic": "UN"}, "ADV+1": {"Traffic": "ADV_RANDOM_NODE", "AdvTrafficDistance": "1"}}


@dataclass(frozen=True)
class Case:
    """A row of the reference, and the cycles of the two runs of each program."""

    name: str
    peer: str
    words: str
    table: str
    chosen: Mapping[str, str]
    scenario: Callable[[Row], dict[str, Any]]
    peer_cycles: tuple[int, int]
    cycles: int
    load: float | None = None
    """Instead of the row's."""

    def row(self) -> Row:
        """The row, with this case's load."""
        with (REFERENCE / self.table).open(newline="") as file:
            for row in csv.DictReader(file):
                if all(row[key] == value for key, value in self.chosen.items()):
                    return row
        raise SystemExit(f"peers.py: {self.table} has no row with {dict(self.chosen)}")


def dragonfly(size: int, mechanism: str, pattern: str, cycles: tuple[int, int], ours: int) -> Case:
    """A canonical Dragonfly at 0.3."""
    chosen = {"mechanism": mechanism, "pattern": pattern, "offered_load": "0.3", "extra_config": ""}
    table = f"fogsim_h{size}_steady.csv"
    words = f"Dragonfly h={size}, {mechanism}, {pattern} 0.3"
    name = f"dragonfly-h{size}-{mechanism}-{pattern}"
    return Case(name, "fogsim", words, table, chosen, fogsim_rows.scenario, cycles, ours)


CASES = (
    dragonfly(4, "MIN", "UN", (1000, 3000), 20_000),
    dragonfly(4, "OLM", "UN", (1000, 3000), 20_000),
    dragonfly(4, "ECtN", "ADV+1", (1000, 3000), 20_000),
    dragonfly(8, "MIN", "UN", (400, 700), 3000),
    Case(
        "torus-1flit",
        "booksim",
        "8×8×8 torus, 1-flit packets, uniform 0.5",
        "booksim_kncube.csv",
        {"series": "a_torus888_uniform", "offered_flits_node_cycle": "0.5"},
        booksim.scenario,
        (1000, 4000),
        10_000,
    ),
    Case(
        "fat-tree-0.3",
        "booksim",
        "fat tree of 1,024, 1-flit packets, uniform 0.3",
        "booksim_fattree.csv",
        {"series": "b_ft1k_uniform_nca_1flit", "offered_flits_node_cycle": "0.3"},
        booksim.scenario,
        (400, 2400),
        10_000,
    ),
    Case(
        "fat-tree-0.7",
        "booksim",
        "fat tree of 1,024, 1-flit packets, uniform 0.7",
        "booksim_fattree.csv",
        {"series": "b_ft1k_uniform_nca_1flit", "offered_flits_node_cycle": "0.7"},
        booksim.scenario,
        (400, 2400),
        10_000,
    ),
)


def cpu_seconds(command: list[str], folder: Path) -> tuple[float, str]:
    """CPU time of a command, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 255):  # 255 is what BookSim says of such runs
        raise SystemExit(f"peers.py: {command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def run_fogsim(executable: Path, row: Row, cycles: int, folder: Path) -> tuple[float, float, float]:
    """CPU seconds, cycles and accepted load. Half of the cycles warm up."""
    keys = FOGSIM | {"P": row["P"], "A": row["A"], "H": row["H"], "MaxCycles": str(cycles // 2)}
    keys |= {"Probability": str(round(100 * float(row["offered_load"])))}
    keys |= {**TRAFFIC[row["pattern"]], **fogsim_rows.configuration(row)}
    (folder / "config").write_text("[CONFIG]\n" + "".join(f"{key}={value}\n" for key, value in keys.items()))
    seconds, _ = cpu_seconds([str(executable), "config", "OutputFileName=out"], folder)
    text = (folder / "out").read_text()
    received = found(r"^Packets Received: (\d+)", text)
    endpoints = int(row["P"]) * int(row["A"]) * (int(row["A"]) * int(row["H"]) + 1)
    return seconds, 2 * (cycles // 2), 8 * received / (endpoints * (cycles // 2))


def run_booksim(executable: Path, row: Row, cycles: int, folder: Path) -> tuple[float, float, float]:
    """CPU seconds, cycles and accepted load. It never stops before its time."""
    keys = booksim.configuration(row) | {
        "sim_type": "throughput",
        "sample_period": str(cycles // 2),
        "warmup_periods": "1",
        "max_samples": "2",
        "acc_stopping_thres": "0.0",
        "latency_thres": "100000.0",
    }
    (folder / "config").write_text("".join(f"{key} = {value};\n" for key, value in keys.items()))
    seconds, text = cpu_seconds([str(executable), "config"], folder)
    return seconds, found(r"^Time taken is (\d+) cycles", text), found(r"^Accepted flit rate average = ([\d.]+)", text)


PEERS = {"fogsim": ("FOGSim 2", run_fogsim), "booksim": ("BookSim 2", run_booksim)}


def found(pattern: str, text: str) -> float:
    """The last number that matches."""
    numbers = re.findall(pattern, text, re.MULTILINE)
    if not numbers:
        raise SystemExit(f"peers.py: the peer printed nothing like {pattern!r}")
    return float(numbers[-1])


def run_phit(scenario: dict[str, Any], cycles: int) -> tuple[float, float, float]:
    """CPU seconds on one thread, hops in the window and accepted load."""
    scenario = scenario | {"measure": {"warmup": 2000, "cycles": cycles}}
    start = time.process_time()
    result = phit.run(scenario, threads=1)
    hops = result.flit_hops if scenario["router"].get("switching") == "wormhole" else result.packet_hops
    return time.process_time() - start, hops, result.accepted_load


def take_turns(case: Case, executable: Path) -> tuple[float, float]:
    """A round of both programs: the rate of the peer, and Phit's, in hops per CPU second."""
    row = case.row()
    scenario = case.scenario(row)
    _, run_peer = PEERS[case.peer]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        short, first, _ = run_peer(executable, row, case.peer_cycles[0], folder)
        early, few, _ = run_phit(scenario, 100)
        long, last, theirs = run_peer(executable, row, case.peer_cycles[1], folder)
        late, many, ours = run_phit(scenario, 100 + case.cycles)
    if abs(theirs - ours) > AGREED * ours:
        raise SystemExit(f"peers.py: {case.name}: accepted {theirs:.4f}, Phit {ours:.4f}")
    per_cycle = (many - few) / case.cycles
    return per_cycle * (last - first) / (long - short), (many - few) / (late - early)


def compared(case: Case, rounds: list[tuple[float, float]]) -> dict[str, Any]:
    """The stored values of a case's rounds."""
    ratios = [ours / theirs for theirs, ours in rounds]
    return {
        "case": case.name,
        "words": case.words,
        "peer": PEERS[case.peer][0],
        "theirs": median(theirs for theirs, _ in rounds),
        "ours": median(ours for _, ours in rounds),
        "rounds": len(rounds),
        "times": median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "machine": processor(),
    }


def main() -> None:
    """Runs the requested cases; rows of other cases stay in the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for peer, (words, _) in PEERS.items():
        parser.add_argument(f"--{peer}", type=Path, metavar="EXECUTABLE", help=words)
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each case [7]")
    options = vars(parser.parse_args())
    rows = {row["case"]: row for row in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    chosen = [case for case in CASES if options[case.peer] and options["case"] in case.name]
    rounds: dict[str, list[tuple[float, float]]] = {case.name: [] for case in chosen}
    # Other work on a shared machine varies from minute to minute, so the rounds of one case are spread over time.
    for _, case in product(range(options["rounds"]), chosen):
        rounds[case.name].append(take_turns(case, options[case.peer].resolve()))
        rows[case.name] = row = compared(case, rounds[case.name])
        print("{words}, {rounds}: {times:.1f} times ({least:.1f} to {most:.1f})".format(**row), file=sys.stderr)
        RESULTS.write_text(json.dumps([rows[c.name] for c in CASES if c.name in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
