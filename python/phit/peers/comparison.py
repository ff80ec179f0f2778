"""Comparisons with other simulators: cases, tolerances and verdicts."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from phit.base.statistics import half_width
from phit.document import Document
from phit.store.folder import Answer

FOGSIM = {"accepted_load": 0.01, "latency_mean": 0.02, "latency_p99": 0.05, "hops_mean": 0.01}
"""Relative tolerances against FOGSim; latencies are judged below `FOGSIM_CALM` of saturation."""

FOGSIM_ADAPTIVE = {
    "accepted_load": 0.015,
    "latency_mean": 0.04,
    "latency_p99": 0.05,
    "hops_mean": 0.01,
    "misrouted_globally": 0.02,
    "misrouted_locally": 0.02,
    "misrouted_at_injection": 0.02,
}
"""Tolerances against FOGSim's adaptive mechanisms: relative, except for shares of packets, which are absolute."""

FOGSIM_CALM = 0.9

BOOKSIM = {"accepted_load": 0.01, "latency_mean": 0.03, "hops_mean": 0.01}
"""Relative tolerances against BookSim; latencies are judged below `BOOKSIM_CALM` of saturation."""

BOOKSIM_CALM = 0.8

SATURATION_THROUGHPUT = 0.03
"""Relative tolerance of the accepted load beyond BookSim's saturation."""

OUTFLANK = {"latency_mean": 0.03, "misrouted_locally": 0.02, "misrouted_globally": 0.02}
"""Tolerances against the OutFlank author's simulator below the paper's gamma*; for shares of packets absolute."""

CONTROL = {"hot_load": 0.01, "other_load": 0.01, "latency_mean": 0.03, "notifications": 0.03}
"""Relative tolerances against BookSim's branches for congestion control, or two standard errors of the seeds."""

CONTROL_FULL = 0.05
"""Relative tolerance of their latencies at loads near saturation, where windows are not steady, and of changes."""

FLUID = 1e-9
"""Relative tolerance of every flow of the fluid network's max-min rule."""

EXACT = 0.0
"""Tolerance for latencies of empty networks."""

NAMES = {
    "accepted_load": "accepted load",
    "latency_mean": "mean latency",
    "latency_p50": "latency",
    "latency_p99": "p99 latency",
    "hops_mean": "mean hops",
    "misrouted": "misrouted",
    "misrouted_globally": "globally misrouted",
    "misrouted_locally": "locally misrouted",
    "misrouted_at_injection": "misrouted at injection",
    "flow_end": "end of a flow",
    "flow_rate": "rate of a flow",
    "hot_load": "load of the hot spot",
    "other_load": "load of other endpoints",
    "notifications": "notifications",
    "reservations": "reservations",
    "acknowledgements": "acknowledgements",
    "refusals": "refusals",
    "tail_arrival": "largest difference of a tail, in cycles",
}
"""Names of measures on the page."""

SHARES = frozenset({"misrouted", "misrouted_globally", "misrouted_locally", "misrouted_at_injection"})
"""Measures that are shares of packets, from 0 to 1: their differences and tolerances are absolute."""

CYCLES = frozenset({"tail_arrival"})
"""Measures that are differences in cycles themselves."""

PRECISE = frozenset({"flow_end", "flow_rate"})
"""Measures that agree up to rounding: their differences are shown as powers of ten."""


def difference(measure: str, theirs: float, ours: float) -> float:
    """The difference of `ours` from `theirs`: absolute for shares of packets and cycles, otherwise relative."""
    return ours - theirs if measure in SHARES | CYCLES else ours / theirs - 1


class Verdict(StrEnum):
    """Whether a measure agrees."""

    AGREES = "agrees"
    DIFFERS = "differs"
    EXPLAINED = "differs, explained"
    SHOWN = "not judged"


@dataclass(frozen=True)
class Known:
    """A difference between two models whose cause has been found and tested."""

    cause: str
    limits: Mapping[str, float]
    """Largest difference that the cause explains, by measure, absolute or relative as the measure's tolerance."""


def judge(measure: str, difference: float, tolerance: float, known: Known | None) -> Verdict:
    """Whether a difference is within its tolerance, or within the limits of a known cause."""
    if abs(difference) <= tolerance:
        return Verdict.AGREES
    explained = known is not None and abs(difference) <= known.limits.get(measure, 0.0)
    return Verdict.EXPLAINED if explained else Verdict.DIFFERS


@dataclass(frozen=True)
class LeftOut:
    """A row of another simulator's table that Phit cannot be compared with."""

    simulator: str
    place: str
    """Table, and line if it is a single one."""
    words: str
    """The run in words."""
    reason: str


@dataclass(frozen=True)
class Case:
    """One setting at one load, with the numbers of another simulator."""

    simulator: str
    series: str
    """Network and setting; the cases of a series are points of one curve."""
    load: float
    scenario: Document = field(repr=False)
    """The setting as a Phit scenario, without a seed."""
    theirs: Mapping[str, Sequence[float]]
    """The other simulator's values, by measure, one for each run."""
    tolerances: Mapping[str, float]
    """Tolerances by measure. A measure without a tolerance is shown but not judged."""
    quick: bool = False
    """Cheap enough for the fast tests."""
    seeds: int = 5
    setting: str = ""
    """Words that distinguish the case in its series, if the load does not."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Reasons why a measure is not judged, by measure."""
    known: Known | None = None
    """A known difference between the models."""
    of_class: int | None = None
    """The class of packets that is compared; all packets if `None`."""
    errors: float = 0.0
    """A difference of up to this many standard errors agrees, whatever the tolerance."""

    def scenarios(self, quick: bool) -> list[Document]:
        """The runs of this case, one for each seed."""
        seeds = min(self.seeds, 2) if quick else self.seeds
        return [{"seed": seed, **self.scenario} for seed in range(1, seeds + 1)]

    def measured(self, answer: Answer) -> Mapping[str, Any]:
        """The values that a run has measured, by measure."""
        if self.of_class is None:
            summary: Mapping[str, Any] = answer["summary"]
            return summary
        return {column: values[self.of_class] for column, values in answer["tables"]["classes"].items()}

    def __str__(self) -> str:
        return f"{self.simulator} {self.series} {self.setting or self.load:}"


@dataclass(frozen=True)
class Comparison:
    """One measure of a case: theirs, ours, and the verdict."""

    case: Case
    measure: str
    theirs: float
    ours: float
    half: float
    """Half width of the 95 % confidence interval of our mean over seeds."""
    tolerance: float | None
    verdict: Verdict

    @property
    def difference(self) -> float:
        """The difference of ours from theirs: absolute for shares of packets, relative for all other measures."""
        return 0.0 if self.theirs == self.ours else difference(self.measure, self.theirs, self.ours)

    @property
    def note(self) -> str:
        """The explanation of a difference; empty if there is none."""
        if self.verdict is Verdict.EXPLAINED and self.case.known:
            return self.case.known.cause
        return self.case.notes.get(self.measure, "")


def compare(case: Case, measured: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Compares the means over our seeds with the means over their runs."""
    found = []
    for measure, values in case.theirs.items():
        theirs = statistics.fmean(values)
        runs = [float(run[measure]) for run in measured]
        ours = statistics.fmean(runs)
        tolerance = case.tolerances.get(measure)
        if tolerance is not None and case.errors and len(runs) > 1:
            # Their runs are few, so they are taken to scatter as ours do.
            error = statistics.stdev(runs) * (1 / len(runs) + 1 / len(values)) ** 0.5
            tolerance = max(tolerance, round(case.errors * error / (1 if measure in SHARES else theirs), 4))
        if tolerance is None:
            verdict = Verdict.SHOWN
        else:
            verdict = judge(measure, difference(measure, theirs, ours), tolerance, case.known)
        found.append(Comparison(case, measure, theirs, ours, half_width(runs), tolerance, verdict))
    return found


def signed(measure: str, difference: float) -> str:
    """A difference with its sign, in percent of the other simulator's number, or of packets."""
    if measure in PRECISE:
        return f"{difference:+.1e}"
    if measure in CYCLES:
        return f"{difference:+g}"
    return f"{difference:+.4f}" if measure in SHARES else f"{difference:+.2%}"
