"""What is compared, how far it may differ, and what came out."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from phit.plots import half_width

Document = dict[str, Any]

FOGSIM = {"accepted_load": 0.01, "latency_mean": 0.02, "latency_p99": 0.05, "hops_mean": 0.01}
"""Relative tolerances against FOGSim; latencies are judged below `FOGSIM_CALM` of saturation."""

FOGSIM_CALM = 0.9

BOOKSIM = {"accepted_load": 0.01, "latency_mean": 0.03, "hops_mean": 0.01}
"""Relative tolerances against BookSim; latencies are judged below `BOOKSIM_CALM` of saturation."""

BOOKSIM_CALM = 0.8

SATURATION_THROUGHPUT = 0.03
"""Relative tolerance of the accepted load beyond BookSim's saturation."""

EXACT = 0.0
"""Latencies of empty networks have no tolerance."""

NAMES = {
    "accepted_load": "accepted load",
    "latency_mean": "mean latency",
    "latency_p50": "latency",
    "latency_p99": "p99 latency",
    "hops_mean": "mean hops",
}
"""What the measures are called on the page."""


class Verdict(StrEnum):
    """Whether a measure agrees."""

    AGREES = "agrees"
    DIFFERS = "differs"
    SHOWN = "not judged"


@dataclass(frozen=True)
class Case:
    """One setting at one load, with what another simulator says about it."""

    simulator: str
    series: str
    """Network and setting; the cases of a series are points of one curve."""
    load: float
    scenario: Document = field(repr=False)
    """The same in Phit's words, without a seed."""
    theirs: Mapping[str, Sequence[float]]
    """By measure, one value for each of their runs."""
    tolerances: Mapping[str, float]
    """By measure; a measure without one is shown but not judged."""
    quick: bool = False
    """Cheap enough for the fast tests."""
    seeds: int = 5
    setting: str = ""
    """What distinguishes the case in its series where the load does not."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By measure, what explains a difference."""

    def scenarios(self, quick: bool) -> list[Document]:
        """The runs of this case, one for each seed."""
        seeds = min(self.seeds, 2) if quick else self.seeds
        return [{"seed": seed, **self.scenario} for seed in range(1, seeds + 1)]


@dataclass(frozen=True)
class Comparison:
    """One measure of a case: theirs, ours, and the verdict."""

    case: Case
    measure: str
    theirs: float
    ours: float
    half: float
    """Half width of the 95 % confidence interval of ours over seeds."""
    tolerance: float | None
    verdict: Verdict

    @property
    def difference(self) -> float:
        """Of ours from theirs, relative."""
        return self.ours / self.theirs - 1

    @property
    def note(self) -> str:
        """What explains a difference."""
        return self.case.notes.get(self.measure, "")


def compare(case: Case, summaries: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Sets the means over our seeds beside the means over their runs."""
    found = []
    for measure, values in case.theirs.items():
        theirs = statistics.fmean(values)
        runs = [float(summary[measure]) for summary in summaries]
        ours = statistics.fmean(runs)
        tolerance = case.tolerances.get(measure)
        if tolerance is None:
            verdict = Verdict.SHOWN
        else:
            verdict = Verdict.AGREES if abs(ours / theirs - 1) <= tolerance else Verdict.DIFFERS
        found.append(Comparison(case, measure, theirs, ours, half_width(runs), tolerance, verdict))
    return found
