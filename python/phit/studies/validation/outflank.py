"""The simulator of the OutFlank paper's author: lifetimes and derouted shares on tori."""

from collections.abc import Iterator
from pathlib import Path

from phit.document import Document
from phit.peers import outflank_author
from phit.peers.comparison import OUTFLANK, Case
from phit.peers.outflank_author import PER_MICROSECOND, ROUTINGS, SIDES, TABLE_2, sustained
from phit.studies.validation.reference import Row, rows

SIMULATOR = "OutFlank"

NAMES = {
    "Butterfly": "Butterfly/FFT",
    "Transposition": "Transposition",
    "TDTrans": "3D Transposition",
    "Uniform": "Uniform",
    "Bitreverse": "Bit-Reverse",
    "Bitcomplement": "Bit complement",
}

LAST = 0.6
"""Loads above are far beyond gamma* of most curves ..."""

BEYOND = 0.1
"""... and those that reach further are followed so far beyond the gamma* that the paper prints."""

FIRST = 0.1
"""Load of the runs of one message, which have nothing to do with it."""

QUICK = 8
"""Packets of a message that make a run cheap."""

CHAOTIC = "beyond the paper's gamma* a run depends on the order of events of one time; shown, not judged"


def _cycles(seconds: str) -> float:
    return float(seconds) * 1e6 * PER_MICROSECOND


def _theirs(row: Row, derouted: str, oidn: str, widn: str) -> dict[str, list[float]]:
    """Lifetime in cycles and shares of packets; POR's derouted packets are Phit's globally misrouted."""
    packets = float(row["packets"])
    theirs = {"latency_mean": [_cycles(row["mean_lifetime_s"])]}
    outflanked = [float(row[oidn] or 0) / packets]
    wrapped = [float(row[widn] or 0) / packets]
    if row.get("algorithm", row.get("routing")) == "POR":
        wrapped = [float(row[derouted]) / packets]
    return {**theirs, "misrouted_locally": outflanked, "misrouted_globally": wrapped}


def _single_messages(folder: Path) -> Iterator[Case]:
    """Runs of one message for each node."""
    for row in rows(folder, "outflank_micro.csv"):
        pattern, sides = NAMES[row["pattern"]], [int(row[key]) for key in ("kx", "ky", "kz")]
        packets, routing = int(row["M"]), row["algorithm"]
        scenario = outflank_author.scenario(
            pattern, sides, ROUTINGS[routing], FIRST, packets=packets, messages=int(row["count"]), seed=1
        )
        bit = ""
        if row["butterfly_bit"]:
            scenario["traffic"]["pattern"] = {"kind": "fft", "bit": int(row["butterfly_bit"])}
            bit = f", bit {row['butterfly_bit']}"
        network = "x".join(str(side) for side in sides)
        yield _case(
            f"one message, {network}, {pattern}, {routing}",
            FIRST,
            scenario,
            _theirs(row, "derouted_total", "oidn", "widn"),
            setting=f"{packets} packets{bit}",
            quick=packets <= QUICK and len(set(sides)) == 1,
        )


def _calm(pattern: str, routing: str, gamma: float) -> bool:
    """Whether gamma is below the paper's gamma*; for a pattern not in the paper, below all of the paper's gamma*."""
    patterns = [pattern] if pattern in TABLE_2 else list(TABLE_2)
    return gamma < min(sustained(name, routing, SIDES[0]) for name in patterns) - 1e-9


def _last(pattern: str, routing: str) -> float:
    """Up to which load a curve is compared."""
    return max(LAST, sustained(pattern, routing, SIDES[0]) + BEYOND) if pattern in TABLE_2 else LAST


def _curves(folder: Path) -> Iterator[Case]:
    """The author's stored results."""
    for row in rows(folder, "outflank_author_k8.csv"):
        pattern, gamma, routing = NAMES[row["pattern"]], float(row["gamma"]), row["routing"]
        if gamma > _last(pattern, routing) + 1e-9:
            continue
        sides = [int(row[key]) for key in ("kx", "ky", "kz")]
        scenario = outflank_author.scenario(pattern, sides, ROUTINGS[routing], gamma, packets=96, messages=32, seed=1)
        theirs = _theirs(row, "derouted_total", "derouted_oidn", "derouted_widn")
        network = "x".join(str(side) for side in sides)
        series = f"{network}, {pattern}, {routing}"
        yield _case(series, gamma, scenario, theirs, calm=_calm(pattern, routing, gamma))


def _again(folder: Path) -> Iterator[Case]:
    """Whole runs of a new build of the author's model."""
    for row in rows(folder, "outflank_runs_table1.csv"):
        pattern, gamma, routing = NAMES[row["pattern"]], float(row["gamma"]), row["algorithm"]
        sides, messages = [int(row[key]) for key in ("kx", "ky", "kz")], int(row["count"])
        scenario = outflank_author.scenario(
            pattern, sides, ROUTINGS[routing], gamma, packets=96, messages=messages, seed=1
        )
        network = "x".join(str(side) for side in sides)
        yield _case(
            f"run again, {network}, {pattern}, {routing}",
            gamma,
            scenario,
            _theirs(row, "derouted_total", "oidn", "widn"),
            setting=f"load {gamma:g}, {row['build']} build",
            calm=_calm(pattern, routing, gamma),
        )


def _case(
    series: str,
    gamma: float,
    scenario: Document,
    theirs: dict[str, list[float]],
    *,
    setting: str = "",
    quick: bool = False,
    calm: bool = True,
) -> Case:
    del scenario["seed"]
    tolerances = OUTFLANK if calm else {}
    notes = {} if calm else dict.fromkeys(theirs, CHAOTIC)
    return Case(
        SIMULATOR, series, gamma, scenario, theirs, tolerances, quick=quick, seeds=1, setting=setting, notes=notes
    )


def cases(folder: Path) -> list[Case]:
    """Everything that is compared."""
    return [*_single_messages(folder), *_curves(folder), *_again(folder)]
