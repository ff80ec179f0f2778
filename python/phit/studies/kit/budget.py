"""Adds seeds to the runs on which undecided claims depend, until the claims are decided or time is up."""

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
"""Receives a message for a person."""


def seconds(text: str) -> float:
    """The seconds of a budget such as `2h`, `90m` or `1h30m`."""
    return durations.seconds(text, "--budget")


LARGE = 0.5
"""A part of an error gets more seeds, too, if it is at least this share of the largest part."""

AIM = 1.1 * DECIDED
"""Margin to reach in standard errors. With exactly two, further seeds could reverse the decision."""

FIRST = 3
"""Seeds of a run whose error is unknown; with two, Student's t would make the interval useless."""


@dataclass(frozen=True)
class Step(Generic[E]):
    """The next runs for a claim."""

    judged: Judged[E]
    words: str
    """The runs in words."""
    points: list[Point]

    @property
    def work(self) -> float:
        """Work of all its runs, which orders steps independently of the machine."""
        return sum(point.work for point in self.points)


@dataclass
class Seeds(Generic[S, E]):
    """Finds runs with further seeds."""

    study: Study[S, E]
    setting: S
    _cases: dict[tuple[str, int], list[Case]] = field(default_factory=dict)

    def more(self, runs: Sequence[str], plan: Plan, seeds: int) -> list[Point]:
        """The runs with `seeds` further seeds of the case to which these runs belong; empty if there are no others."""
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
    """The step for each undecided claim, cheapest first. A claim that no seeds can decide has no step."""
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
    """The sources of the deciding value's error: those with unknown error, or else the largest parts."""
    parts = [(source, size) for source, size in of.check.sources if not source.step] if of.check else []
    unknown = [source for source, size in parts if math.isnan(size)]
    if unknown or not parts:
        return unknown
    largest = max(size for _, size in parts)
    return [source for source, size in parts if size >= LARGE * largest]


def _missing(of: Judged[E], seeds: int) -> int:
    """Seeds needed to decide the claim, at most as many as exist already, because the estimates may change."""
    margin = of.finding.margin
    if margin is None:
        return max(1, FIRST - seeds)
    wanted = seeds * (AIM / max(abs(margin), 0.1)) ** 2
    return max(1, min(seeds, math.ceil(wanted) - seeds))


@dataclass
class Budget:
    """An allowance of wall time."""

    seconds: float
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Remaining seconds."""
        return self.seconds - (time.monotonic() - self.start)


def name(of: Judged[E]) -> str:
    """The claim with its margin, and its reading if there are several."""
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
    """Runs deciding runs until seeds can decide no further claim, or the next runs do not fit into the budget.

    Args:
        budget: the allowance of time.
        judge: judges all claims on the finished runs, and returns the plan of all of them.
        run: runs some points and stores them.
        cost: estimates the wall time of points in seconds.
        seeds: finds further runs.
        workers: points that run at a time; the clock is checked after each such batch.
        say: receives messages about runs, and about claims that stay undecided.
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
        say(f"undecided when the budget was spent: {', '.join(late)}; the same command continues")
    if never:
        say(f"undecided whatever the seeds: {', '.join(never)}")
