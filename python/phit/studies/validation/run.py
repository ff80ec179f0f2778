"""Runs every case and writes what came out."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from phit.errors import PhitError, one_line
from phit.executors import Answer, run_here, run_in_processes
from phit.experiment import Experiment, Point
from phit.progress import reporter
from phit.results import ResultsFolder
from phit.scenario import complete, to_json
from phit.studies.validation import (
    booksim,
    booksim_cascade,
    booksim_fattree,
    document,
    figures,
    fogsim,
    outflank,
    reference,
    transient,
    transient_figures,
)
from phit.studies.validation.comparison import Case, Comparison, Document, Verdict, compare
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
    workers: int | None = None,
    progress: bool = False,
    results: Path | None = None,
) -> tuple[list[Comparison], list[Phase]]:
    """Runs everything that is chosen and compares."""
    found = answers([*changes, *chosen], quick=quick, workers=workers, progress=progress, results=results)
    phases = [p for change, runs in zip(changes, found, strict=False) for p in transient.compare(change, runs)]
    comparisons = []
    for case, runs in zip(chosen, found[len(changes) :], strict=True):
        comparisons += compare(case, [run["summary"] for run in runs])
    return comparisons, phases


def answers(
    chosen: Sequence[Runs],
    *,
    quick: bool = False,
    workers: int | None = None,
    progress: bool = False,
    results: Path | None = None,
) -> list[list[Answer]]:
    """Runs all scenarios of what is chosen; the answers for each in the order of the seeds.

    The folder `results`, if there is one, keeps what has finished; runs that it holds are not repeated.
    """
    plan = [(i, complete(scenario)) for i, runs in enumerate(chosen) for scenario in runs.scenarios(quick)]
    points = [Point({"case": str(chosen[i]), "seed": scenario["seed"]}, scenario) for i, scenario in plan]
    found: list[list[Answer]] = [[] for _ in chosen]
    with reporter(progress) as report, ResultsFolder(results, report.warn) if results else nullcontext() as kept:
        missing = list(range(len(points)))
        if kept is not None:
            there = kept.adopt(Experiment("validation", {}, {"name": "validation"}, {}), points)
            missing = [position for position in missing if points[position].hash not in there]
            for position in set(range(len(points))).difference(missing):
                found[plan[position][0]].append(kept.answer(points[position]))
        report.begin("validation", [points[position] for position in missing], len(points) - len(missing))
        documents = [to_json(points[position].scenario) for position in missing]
        runs = (
            run_here(documents, report.shares) if workers == 1 else run_in_processes(documents, workers, report.shares)
        )
        for i, answer in runs:
            position = missing[i]
            index = plan[position][0]
            if isinstance(answer, Exception):
                raise PhitError(f"{chosen[index]}: {one_line(answer)}")
            found[index].append(answer)
            if kept is not None:
                kept.add(points[position], answer)
            report.finished(i, points[position], answer["summary"])
    # Runs end in any order; means must not depend on it.
    return [sorted(of_one, key=lambda answer: answer["summary"]["scenario"]["seed"]) for of_one in found]


def validate(
    out: Path,
    *,
    folder: Path = reference.FOLDER,
    quick: bool = False,
    workers: int | None = None,
    progress: bool = False,
    results: Path | None = None,
) -> Report:
    """Runs everything and writes the page `validation.md` and its plots below `out`."""
    comparisons, phases = simulate(
        cases(folder, quick=quick),
        transients(folder, quick=quick),
        quick=quick,
        workers=workers,
        progress=progress,
        results=results,
    )
    images = out / "images" / "validation"
    written = [*figures.write(comparisons, images), *transient_figures.write(phases, images)]
    page = document.write(comparisons, phases, written, out / "validation.md", quick=quick)
    return Report(comparisons, phases, [page, *written])
