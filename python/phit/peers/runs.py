"""Runs the scenarios of comparisons."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from phit.document import Document
from phit.document.completing import complete
from phit.document.experiment import Experiment, Point
from phit.running.sweeping import run_points
from phit.running.where import HERE, Where
from phit.store.folder import Answer, ResultsFolder


class Runs(Protocol):
    """A comparison with the runs that it needs."""

    def scenarios(self, quick: bool) -> list[Document]:
        """The runs, one for each seed."""


def answers(
    chosen: Sequence[Runs],
    *,
    quick: bool = False,
    where: Where = HERE,
    progress: bool = False,
    results: Path | None = None,
) -> list[list[Answer]]:
    """Runs all scenarios of the chosen comparisons; the answers of each are in the order of the seeds.

    The folder `results`, if given, stores finished runs; runs that it holds are not repeated.
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
