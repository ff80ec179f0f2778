"""Runs every case and writes what came out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phit.errors import PhitError, one_line
from phit.executors import run_here, run_in_processes
from phit.experiment import Point
from phit.progress import reporter
from phit.scenario import complete, to_json
from phit.studies.validation import booksim, document, figures, fogsim, reference
from phit.studies.validation.comparison import Case, Comparison, compare


@dataclass(frozen=True)
class Report:
    """All comparisons and the files that show them."""

    comparisons: list[Comparison]
    written: list[Path]


def cases(folder: Path = reference.FOLDER, *, quick: bool = False) -> list[Case]:
    """What is compared; the cheap part of it if `quick`."""
    return [case for case in (*fogsim.cases(folder), *booksim.cases(folder)) if case.quick or not quick]


def simulate(
    chosen: Sequence[Case], *, quick: bool = False, workers: int | None = None, progress: bool = False
) -> list[Comparison]:
    """Runs the cases and compares."""
    plan = [(i, complete(scenario)) for i, case in enumerate(chosen) for scenario in case.scenarios(quick)]
    points = [Point({"case": _name(chosen[i]), "seed": scenario["seed"]}, scenario) for i, scenario in plan]
    summaries: list[list[dict[str, Any]]] = [[] for _ in chosen]
    with reporter(progress) as report:
        report.begin("validation", points, 0)
        documents = [to_json(point.scenario) for point in points]
        answers = (
            run_here(documents, report.shares) if workers == 1 else run_in_processes(documents, workers, report.shares)
        )
        for position, answer in answers:
            if isinstance(answer, Exception):
                raise PhitError(f"{_name(chosen[plan[position][0]])}: {one_line(answer)}")
            summaries[plan[position][0]].append(answer["summary"])
            report.finished(position, points[position], answer["summary"])
    # Runs end in any order; means must not depend on it.
    ordered = [sorted(of_case, key=lambda s: s["scenario"]["seed"]) for of_case in summaries]
    return [found for case, of_case in zip(chosen, ordered, strict=True) for found in compare(case, of_case)]


def _name(case: Case) -> str:
    return f"{case.simulator} {case.series} {case.setting or case.load:}"


def validate(
    out: Path,
    *,
    folder: Path = reference.FOLDER,
    quick: bool = False,
    workers: int | None = None,
    progress: bool = False,
) -> Report:
    """Runs everything and writes the page `validation.md` and its plots below `out`."""
    comparisons = simulate(cases(folder, quick=quick), quick=quick, workers=workers, progress=progress)
    images = figures.write(comparisons, out / "images" / "validation")
    page = document.write(comparisons, images, out / "validation.md", quick=quick)
    return Report(comparisons, [page, *images])
