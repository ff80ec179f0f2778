"""FOGSim's answers to a change of traffic, in windows of time, compared within the scatter of the seeds."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phit.base.statistics import half_width
from phit.document import Document
from phit.peers import fogsim
from phit.peers.comparison import SHARES, Known, Verdict, judge
from phit.studies.validation.reference import Row, rows

TABLE = "fogsim_h4_transient.csv"

WINDOW = 20
"""Cycles in which packets are generated that are compared together; FOGSim's bins are shorter and are joined."""

WARMUP = 5000
"""Cycles before the change; how many FOGSim ran before it is not recorded."""

ERRORS = 4.0
"""A window agrees if the difference is at most this many standard errors of it, or at most `LEAST`."""

LEAST = 0.03
"""The least limit: of latencies relative, of shares of packets absolute."""

QUICK_SEEDS = 2

MEASURES = {"latency_mean": "latency_mean", "misrouted_globally": "misrouted_percent"}
"""FOGSim's column for each column of Phit's series: the percentage of packets that took a nonminimal global link.

For PB, the column counts packets whose last decision was for the Valiant route: before and long after the change, the
table has the levels of steady state."""

PHASES = {"before": (-300, 0), "answer": (0, 300), "after": (300, 2000)}
"""Parts of the time that are judged by themselves: cycles of generation after the change, from and up to."""


@dataclass(frozen=True)
class Transient:
    """One mechanism's answer to a change of traffic."""

    mechanism: str
    network: str
    change: str
    """The two patterns and the load."""
    scenario: Document = field(repr=False)
    """The setting as a Phit scenario, without a seed; the change is at `WARMUP`."""
    theirs: Mapping[str, Mapping[int, float]] = field(repr=False)
    """By measure, by first cycle of a window after the change: means over their seeds."""
    their_seeds: int
    quick: bool = False
    known: Known | None = None
    """Where the models differ."""
    simulator: str = "FOGSim"
    our_seeds: int = 0
    """0: as many as theirs."""
    changed_at: int = WARMUP
    """The cycle of the change."""
    window: int = WINDOW
    """Cycles of a window."""

    def scenarios(self, quick: bool) -> list[Document]:
        """The runs, one for each seed."""
        seeds = QUICK_SEEDS if quick else self.our_seeds or self.their_seeds
        return [{"seed": seed, **self.scenario} for seed in range(1, seeds + 1)]

    def __str__(self) -> str:
        return f"{self.simulator} {self.network}, {self.mechanism}, {self.change}"


@dataclass(frozen=True)
class Window:
    """A measure of the packets that were generated in `WINDOW` cycles."""

    start: int
    """First cycle, counted from the change."""
    theirs: float
    ours: float
    half: float
    """Half width of the 95 % confidence interval of ours over seeds."""
    error: float
    """Standard error of the difference."""
    is_share: bool

    @property
    def difference(self) -> float:
        """The difference of ours from theirs: absolute for shares of packets, relative for latencies."""
        return self.ours - self.theirs if self.is_share else self.ours / self.theirs - 1

    @property
    def limit(self) -> float:
        """How large the difference may be."""
        return max(ERRORS * self.error / (1 if self.is_share else self.theirs), LEAST)

    @property
    def agrees(self) -> bool:
        """Whether the difference is within its limit."""
        return abs(self.difference) <= self.limit


@dataclass(frozen=True)
class Phase:
    """A measure of a transient over one part of the time."""

    transient: Transient
    measure: str
    name: str
    windows: list[Window] = field(repr=False)

    @property
    def beyond(self) -> int:
        """Windows that differ more than they may."""
        return sum(not window.agrees for window in self.windows)

    @property
    def verdict(self) -> Verdict:
        """A phase agrees if all of its windows do; a known cause must account for all that do not."""
        found = {judge(self.measure, w.difference, w.limit, self.transient.known) for w in self.windows}
        return next(v for v in (Verdict.DIFFERS, Verdict.EXPLAINED, Verdict.AGREES) if v in found)

    @property
    def note(self) -> str:
        """The explanation of a difference."""
        known = self.transient.known
        return known.cause if known and self.verdict is Verdict.EXPLAINED else ""

    @property
    def worst(self) -> Window:
        """The window with the largest difference relative to its tolerance."""
        return max(self.windows, key=lambda window: abs(window.difference) / window.limit)

    @property
    def mean_difference(self) -> float:
        """Mean of the windows' differences."""
        return statistics.fmean(window.difference for window in self.windows)


def transients(folder: Path) -> list[Transient]:
    """Every curve of the table."""
    grouped: dict[str, list[Row]] = {}
    for row in rows(folder, TABLE):
        grouped.setdefault(row["mechanism"], []).append(row)
    return [_transient(mechanism, bins) for mechanism, bins in grouped.items()]


def _transient(mechanism: str, bins: list[Row]) -> Transient:
    first = bins[0]
    return Transient(
        mechanism=mechanism,
        network=f"Dragonfly p={first['p']} a={first['a']} h={first['h']}",
        change=f"{first['first_pattern']} to {first['second_pattern']} at a load of {first['load']}",
        scenario=scenario(first),
        theirs={
            ours: joined(bins, column, 0.01 if ours in SHARES else 1.0, WINDOW) for ours, column in MEASURES.items()
        },
        their_seeds=int(first["seeds"]),
        quick=mechanism == "Base",
    )


def configuration(row: Row) -> fogsim.Keys:
    """The keys of a run that concern routing."""
    return fogsim.configuration(row["mechanism"], int(row["h"]), {})


def joined(bins: list[Row], column: str, unit: float, window: int) -> dict[int, float]:
    """Means over windows of `window` cycles, by their start; each bin has the weight of its packets."""
    packets: dict[int, int] = {}
    sums: dict[int, float] = {}
    for row in bins:
        start = int(row["generation_cycle_bin_start"]) // window * window
        packets[start] = packets.get(start, 0) + int(row["packets"])
        sums[start] = sums.get(start, 0.0) + unit * float(row[column]) * int(row["packets"])
    return {start: sums[start] / packets[start] for start in packets if packets[start]}


def scenario(row: Row) -> Document:
    """FOGSim's change of traffic in Phit's words."""
    begin, end = PHASES["before"][0], PHASES["after"][1]
    change = {"cycle": WARMUP, "pattern": fogsim.PATTERNS[row["second_pattern"]]}
    return {
        **fogsim.network(int(row["p"]), int(row["a"]), int(row["h"]), configuration(row)),
        "traffic": {**fogsim.traffic(row["first_pattern"], float(row["load"])), "changes": [change]},
        "measure": {
            "warmup": WARMUP + begin,
            "cycles": end - begin,
            "count": "generated",
            "series": {"by": "generation", "bin": WINDOW},
        },
    }


def compare(transient: Transient, answers: Sequence[Mapping[str, Any]]) -> list[Phase]:
    """Sets our windows beside theirs, phase by phase."""
    found = []
    for measure, theirs in transient.theirs.items():
        ours = [_by_start(answer["tables"]["series"], measure, transient.changed_at) for answer in answers]
        windows = [
            _window(start, value, [run[start] for run in ours], transient.their_seeds, measure in SHARES)
            for start, value in sorted(theirs.items())
            if all(start in run for run in ours)
        ]
        for name, (begin, end) in PHASES.items():
            chosen = [window for window in windows if begin <= window.start < end]
            if chosen:
                found.append(Phase(transient, measure, name, chosen))
    return found


def _by_start(series: Mapping[str, Sequence[float | None]], measure: str, changed_at: int) -> dict[int, float]:
    """The values of windows in which packets were generated."""
    values = zip(series["cycle"], series[measure], strict=True)
    return {int(cycle or 0) - changed_at: value for cycle, value in values if value is not None}


def _window(start: int, theirs: float, ours: list[float], their_seeds: int, is_share: bool) -> Window:
    # Their seeds are not in the table one by one, so theirs are taken to scatter as ours do.
    spread = statistics.stdev(ours)
    error = spread * (1 / len(ours) + 1 / their_seeds) ** 0.5
    return Window(start, theirs, statistics.fmean(ours), half_width(ours), error, is_share)
