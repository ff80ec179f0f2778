"""More seeds for exactly those runs that decide claims which are undecided, until they are decided or time is up."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from phit.base import durations
from phit.base.durations import duration
from phit.document.experiment import Point
from phit.studies.kit.claim import E, Judged, Verdict, margin_sign
from phit.studies.kit.margin import DECIDED
from phit.studies.kit.plan import Case, Plan, point_of
from phit.studies.kit.scale import S
from phit.studies.kit.study import Study
from phit.studies.kit.uncertain import Source

Say = Callable[[str], None]
"""Tells a person something."""


def seconds(text: str) -> float:
    """The seconds of a budget as `2h`, `90m` or `1h30m`."""
    return durations.seconds(text, "--budget")


LARGE = 0.5
"""Share of the largest part of an error from which on another part is worth more seeds, too."""

AIM = 1.1 * DECIDED
"""Standard errors that are aimed at: with just two the next seeds may undo what was decided."""

FIRST = 3
"""Seeds of a run whose error is not known: with two, Student's t would make next to nothing of them."""


@dataclass(frozen=True)
class Step(Generic[E]):
    """What is run next for a claim."""

    judged: Judged[E]
    words: str
    """Of which runs, in words."""
    points: list[Point]

    @property
    def work(self) -> float:
        """Of all its runs, by which steps are ordered: it does not depend on the machine."""
        return sum(point.work for point in self.points)


@dataclass
class Seeds(Generic[S, E]):
    """Finds the runs of further seeds."""

    study: Study[S, E]
    setting: S
    _cases: dict[tuple[str, int], list[Case]] = field(default_factory=dict)

    def more(self, runs: Sequence[str], plan: Plan, seeds: int) -> list[Point]:
        """The runs of further seeds, so many, of the case whose runs these are; none if it has but these."""
        seeded = (
            (name, [case for case, point in those if point.hash in runs and "seed" in case.labels])
            for name, those in plan.cases.items()
        )
        name, of_case = next((found for found in seeded if found[1]), ("", []))
        if not of_case:
            return []
        had = max(int(case.labels["seed"]) for case in of_case)
        same = [_without_seed(case) for case in of_case]
        cases = [case for case in self._of(name, had + seeds) if _without_seed(case) in same]
        return [point_of(case) for case in cases if had < int(case.labels["seed"]) <= had + seeds]

    def _of(self, figure: str, seeds: int) -> list[Case]:
        if (figure, seeds) not in self._cases:
            self._cases[figure, seeds] = self.study.figures[figure].cases(self.setting, seeds)
        return self._cases[figure, seeds]


def _without_seed(case: Case) -> Mapping[str, object]:
    return {key: value for key, value in case.labels.items() if key != "seed"}


def undecided(found: Iterable[Judged[E]]) -> list[Judged[E]]:
    """The claims, under each reading, that further seeds may decide."""
    return [each for each in found if each.finding.verdict is Verdict.UNDECIDED]


def steps(found: Iterable[Judged[E]], plan: Plan, seeds: Seeds[S, E]) -> list[Step[E]]:
    """What to run for each undecided claim, that first which costs least; claims that no seeds can decide have none."""
    every = (_step(each, plan, seeds) for each in undecided(found))
    return sorted((step for step in every if step.points), key=lambda step: step.work)


def _step(of: Judged[E], plan: Plan, seeds: Seeds[S, E]) -> Step[E]:
    points: dict[str, Point] = {}
    names = []
    for source in _decisive(of):
        have = max(1, len(source.runs))
        for point in seeds.more(source.runs, plan, _missing(of, have)):
            points[point.hash] = point
            if source.name not in names:
                names.append(source.name)
    return Step(of, "; ".join(names), list(points.values()))


def _decisive(of: Judged[E]) -> list[Source]:
    """Where the error of what decides comes from: what is not known, or the largest parts."""
    parts = [(source, size) for source, size in of.check.sources if not source.step] if of.check else []
    unknown = [source for source, size in parts if math.isnan(size)]
    if unknown or not parts:
        return unknown
    largest = max(size for _, size in parts)
    return [source for source, size in parts if size >= LARGE * largest]


def _missing(of: Judged[E], seeds: int) -> int:
    """Seeds that are missing until it is decided, at most as many as there are: the estimates may change."""
    margin = of.finding.margin
    if margin is None:
        return max(1, FIRST - seeds)
    wanted = seeds * (AIM / max(abs(margin), 0.1)) ** 2
    return max(1, min(seeds, math.ceil(wanted) - seeds))


@dataclass
class Budget:
    """Wall time that may be spent."""

    seconds: float
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - (time.monotonic() - self.start)


def name(of: Judged[E]) -> str:
    """A claim with its margin, and its reading if there are several."""
    reading = f", {of.finding.reading}" if of.finding.reading else ""
    return f"{of.finding.id}{reading} ({margin_sign(of.finding.margin)})"


def spend(
    budget: Budget,
    judge: Callable[[], tuple[Sequence[Judged[E]], Plan]],
    run: Callable[[Sequence[Point]], None],
    cost: Callable[[Sequence[Point]], float],
    seeds: Seeds[S, E],
    workers: int,
    say: Say,
) -> None:
    """Runs what decides until nothing is undecided that seeds could decide, or the next runs do not fit.

    Args:
        budget: what may be spent.
        judge: judges all claims on what is there, with the plan of all that is there.
        run: runs some points and keeps them.
        cost: the wall time in seconds that points would take.
        seeds: finds further runs.
        workers: points that are run at a time; between two times the clock is looked at.
        say: told what is run, and what is left undecided.
    """
    while True:
        found, plan = judge()
        step = next((one for one in steps(found, plan, seeds) if cost(one.points[:workers]) <= budget.left), None)
        if step is None:
            break
        count = f"{len(step.points)} more run{'s' * (len(step.points) > 1)}"
        say(f"{name(step.judged)}: {count} of {step.words}, about {duration(cost(step.points))}")
        for begin in range(0, len(step.points), workers):
            some = step.points[begin : begin + workers]
            if begin and cost(some) > budget.left:
                break
            run(some)
    _report(found, plan, seeds, say)


def _report(found: Sequence[Judged[E]], plan: Plan, seeds: Seeds[S, E], say: Say) -> None:
    left = undecided(found)
    if not left:
        say("nothing is undecided")
        return
    possible = {id(step.judged) for step in steps(found, plan, seeds)}
    late = [name(each) for each in left if id(each) in possible]
    never = [name(each) for each in left if id(each) not in possible]
    if late:
        say(f"undecided when the budget was spent: {', '.join(late)}; the same command goes on from there")
    if never:
        say(f"undecided whatever the seeds: {', '.join(never)}")
