"""Compares a run whose output another simulator has printed with the same run in Phit."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.table import Table

from phit.base.statistics import half_width
from phit.document import Document
from phit.document.paths import get_path
from phit.importing.found import Imported
from phit.importing.printed import Printed
from phit.importing.simulators import recognised
from phit.peers.comparison import NAMES, SATURATION_THROUGHPUT, Verdict, difference, signed
from phit.peers.runs import answers
from phit.running.where import Where
from phit.store.quantities import SATURATED_BELOW

WITHIN = {"accepted_load": 0.01, "latency_mean": 0.02, "hops_mean": 0.01}
"""Largest relative differences between two equivalent models."""

_NORMAL = statistics.NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Measure:
    """One measure of both runs."""

    name: str
    theirs: float
    ours: float
    half: float
    """Half width of the 95 % confidence interval of our mean over the seeds."""
    limit: float
    """Largest relative difference that counts as agreement: a tolerance, or the effect of chance if that is larger."""
    judged: bool

    @property
    def difference(self) -> float:
        """The difference of ours from theirs."""
        return difference(self.name, self.theirs, self.ours) if self.theirs else 0.0

    @property
    def verdict(self) -> Verdict:
        """Whether the two agree."""
        if not self.judged:
            return Verdict.SHOWN
        return Verdict.AGREES if abs(self.difference) <= self.limit else Verdict.DIFFERS


@dataclass(frozen=True)
class Agreement:
    """All measures of a run."""

    imported: Imported
    measures: list[Measure]

    @property
    def differs(self) -> bool:
        """Whether any difference exceeds its limit."""
        return any(measure.verdict is Verdict.DIFFERS for measure in self.measures)

    def to_rich(self) -> Table:
        """The comparison as a table for a terminal."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("measure")
        for heading in (self.imported.simulator, "Phit", "±", "difference", "limit"):
            table.add_column(heading, justify="right")
        table.add_column("verdict")
        for m in self.measures:
            numbers = (f"{m.theirs:.5g}", f"{m.ours:.5g}", f"{m.half:.2g}", signed(m.name, m.difference))
            limit = f"{m.limit:.1%}" if m.judged else ""
            style = "bold red" if m.verdict is Verdict.DIFFERS else None
            table.add_row(NAMES[m.name], *numbers, limit, m.verdict, style=style)
        return table

    def to_dict(self) -> list[dict[str, object]]:
        """The rows of the comparison for programs."""
        return [
            {
                "measure": m.name,
                "theirs": m.theirs,
                "phit": m.ours,
                "half_width": m.half,
                "difference": m.difference,
                "limit": m.limit if m.judged else None,
                "verdict": str(m.verdict),
            }
            for m in self.measures
        ]


@dataclass(frozen=True)
class _Seeds:
    """The runs of a scenario with several seeds."""

    document: Document
    seeds: int
    name: str = field(default="imported")

    def scenarios(self, quick: bool) -> list[Document]:  # noqa: ARG002
        return [{**self.document, "seed": seed} for seed in range(1, self.seeds + 1)]

    def __str__(self) -> str:
        return self.name


def against(path: Path, *, seeds: int = 5, workers: int | None = None, progress: bool = False) -> Agreement:
    """Runs the scenario of an output that another simulator printed into the file `path`, and compares.

    A difference counts as agreement within a tolerance of 1 % in accepted load and hops, and 2 % in latency. If chance
    makes larger differences between the mean of Phit's runs and a single run, its effect is the limit. If either run is
    saturated, only the accepted load is judged, at 3 %.
    """
    printed = recognised(path)
    document = {key: value for key, value in printed.imported.document.items() if key != "sweep"}
    (runs,) = answers([_Seeds(document, seeds, path.name)], where=Where(workers=workers), progress=progress)
    return Agreement(printed.imported, _measures(printed, [run["summary"] for run in runs]))


def _measures(printed: Printed, summaries: Sequence[dict[str, float]]) -> list[Measure]:
    offered = float(get_path(printed.imported.document, "traffic.load", 0.0) or 0.0)
    accepted = [printed.numbers.get("accepted_load", offered)]
    accepted.append(statistics.fmean(float(summary["accepted_load"]) for summary in summaries))
    counted = _by_counting(summaries)
    # The latency of a saturated run depends on its length.
    saturated = printed.saturated or min(accepted) < (SATURATED_BELOW - counted) * offered
    found = []
    for name, theirs in printed.numbers.items():
        runs = [float(summary[name]) for summary in summaries]
        half = half_width(runs) if len(runs) > 1 else 0.0
        # A single run of theirs is assumed to scatter like single runs of ours.
        chance = half * math.sqrt(len(runs) + 1) / theirs if theirs else 0.0
        if name == "accepted_load":
            chance = max(chance, counted)
        within = SATURATION_THROUGHPUT if saturated and name == "accepted_load" else WITHIN[name]
        judged = not saturated or name == "accepted_load"
        found.append(Measure(name, theirs, statistics.fmean(runs), half, max(within, chance), judged))
    return found


def _by_counting(summaries: Sequence[dict[str, float]]) -> float:
    """Relative difference of the accepted load between a single run and our mean that the number of packets explains.

    Independent arrivals scatter by the root of their number; this is half the width of a 95 % interval.
    """
    packets = statistics.fmean(float(summary["packets"]) for summary in summaries)
    return _NORMAL * math.sqrt((1 + 1 / len(summaries)) / packets) if packets else 0.0
