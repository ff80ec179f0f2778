"""Runs every case and writes what came out."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from phit.base.errors import InputError
from phit.document import Document
from phit.document.completing import complete
from phit.document.experiment import Experiment, Point
from phit.peers.comparison import Case, Comparison, Verdict, compare
from phit.running.sweeping import run_points
from phit.running.where import HERE, Where
from phit.store.folder import Answer, ResultsFolder
from phit.studies.validation import (
    booksim,
    booksim_cascade,
    booksim_fattree,
    document,
    figures,
    fogsim,
    more_settings,
    outflank,
    reference,
    transient,
    transient_figures,
)
from phit.studies.validation.transient import Phase, Transient


class Runs(Protocol):
    """Something that is compared, with the runs that it takes."""

    def scenarios(self, quick: bool) -> list[Document]:
        """The runs, one for each seed."""


@dataclass(frozen=True)
class Report:
    """All comparisons and the files that show them."""

    comparisons: list[Comparison]
    phases: list[Phase]
    written: list[Path]

    @property
    def differs(self) -> bool:
        """Whether anything differs more than it may."""
        verdicts = [c.verdict for c in self.comparisons] + [phase.verdict for phase in self.phases]
        return Verdict.DIFFERS in verdicts


def cases(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Case]:
    """What is compared in steady state; the cheap part of it if `quick`."""
    found = (
        *fogsim.cases(folder),
        *booksim.cases(folder),
        *booksim_fattree.cases(folder),
        *booksim_cascade.cases(folder),
        *more_settings.cases(folder),
        *outflank.cases(folder),
    )
    return [case for case in found if case.quick or not quick]


def transients(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Transient]:
    """What is compared after a change of traffic; the cheap part of it if `quick`."""
    return [found for found in transient.transients(folder) if found.quick or not quick]


def simulate(
    chosen: Sequence[Case],
    changes: Sequence[Transient] = (),
    *,
    quick: bool = False,
    where: Where = HERE,
    progress: bool = False,
    results: Path | None = None,
) -> tuple[list[Comparison], list[Phase]]:
    """Runs everything that is chosen and compares."""
    found = answers([*changes, *chosen], quick=quick, where=where, progress=progress, results=results)
    phases = [p for change, runs in zip(changes, found, strict=False) for p in transient.compare(change, runs)]
    comparisons = []
    for case, runs in zip(chosen, found[len(changes) :], strict=True):
        comparisons += compare(case, [case.measured(run) for run in runs])
    return comparisons, phases


def answers(
    chosen: Sequence[Runs],
    *,
    quick: bool = False,
    where: Where = HERE,
    progress: bool = False,
    results: Path | None = None,
) -> list[list[Answer]]:
    """Runs all scenarios of what is chosen; the answers for each in the order of the seeds.

    The folder `results`, if there is one, keeps what has finished; runs that it holds are not repeated.
    """
    runs = [[_point(one, scenario) for scenario in one.scenarios(quick)] for one in chosen]
    points = [point for of_one in runs for point in of_one]
    experiment = Experiment("validation", {}, {"name": "validation"}, {})
    found: dict[str, Answer] = {}
    run_points(
        experiment,
        points,
        results,
        where,
        progress=progress,
        each=lambda point, answer: found.update({point.hash: answer}),
    )
    if where.shard is not None:
        points = where.shard.share(points)
    if results is not None:
        kept = ResultsFolder(results, warnings.warn)
        found |= {point.hash: kept.answer(point) for point in points if point.hash not in found}
    return [[found[point.hash] for point in of_one if point.hash in found] for of_one in runs]


def _point(of: Runs, scenario: Document) -> Point:
    return Point({"case": str(of), "seed": scenario["seed"]}, complete(scenario))


def validate(
    out: Path,
    *,
    folder: Path = reference.FOLDER,
    quick: bool = False,
    where: Where = HERE,
    progress: bool = False,
    results: Path | None = None,
) -> Report:
    """Runs everything and writes the page `validation.md` and its plots below `out`.

    Of a shard nothing is written but its runs, which `results` keeps.
    """
    if where.shard is not None:
        if results is None:
            raise InputError("shard (--shard): expected a folder that keeps the runs, results (--results)")
        chosen: list[Runs] = [*transients(folder, quick=quick), *cases(folder, quick=quick)]
        answers(chosen, quick=quick, where=where, progress=progress, results=results)
        return Report([], [], [])
    comparisons, phases = simulate(
        cases(folder, quick=quick),
        transients(folder, quick=quick),
        quick=quick,
        where=where,
        progress=progress,
        results=results,
    )
    images = out / "images" / "validation"
    written = [*figures.write(comparisons, images), *transient_figures.write(phases, images)]
    page = document.write(comparisons, phases, written, out / "validation.md", quick=quick)
    return Report(comparisons, phases, [page, *written])
