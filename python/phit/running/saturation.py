"""The largest sustained load of a scenario, searched on a grid or by bisection."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phit.base.errors import InputError, ScenarioError, one_line
from phit.document import Document, Source
from phit.document.completing import complete
from phit.document.experiment import between, expand_range
from phit.document.loading import load
from phit.document.paths import get_path, set_path
from phit.document.sections import leave_out
from phit.running.run import run
from phit.store.quantities import SATURATED_BELOW
from phit.store.result import Result

KEY = "traffic.load"

LONGER = 5
"""Factor by which a run is repeated longer if it was too short to show a steady state."""

TIMES = ("measure.warmup", "measure.cycles")
"""Keys for the length of a run."""

ENDS = ("traffic.message.count", "traffic.requests.count")
"""Keys that give a run an end: a longer run cannot make it steady."""

FINEST = 1e-6
"""Smallest step and tolerance."""


@dataclass(frozen=True)
class Trial:
    """A load that was tried."""

    load: float
    sustained: bool
    accepted: float
    """Accepted over offered load, the smallest of all seeds."""
    latency: float | None
    """Mean latency in cycles, the greatest of all seeds; `None` if a seed delivered nothing."""
    steady: str | None = None
    """Whether the runs show a steady state: "no" if one does not, "unknown" if one is too short to tell."""
    longer: int = 1
    """Factor by which warm-up and measurement were longer than in the scenario."""
    decided: bool = True
    """False if longer runs of this load decide."""


@dataclass(frozen=True)
class Saturation:
    """The outcome of a search."""

    sustained: float | None
    """The largest load that is sustained; `None` if the first is not."""
    saturated: float | None
    """The smallest load known not to be sustained; `None` if the last is sustained."""
    trials: list[Trial]
    """The tried loads, in the order of the runs."""


@dataclass(frozen=True)
class Rule:
    """Which loads are tried, and when a load is sustained: the arguments of `saturate`."""

    first: float = 0.05
    last: float = 1.0
    step: float | None = None
    tolerance: float = 0.01
    share: float = SATURATED_BELOW
    latency_factor: float | None = None
    latency_limit: float | None = None

    def __post_init__(self) -> None:
        _check("last (--to)", self.last, True, "a number")
        least = f"a number between 0 and the last load, {self.last:g}"
        _check("first (--from)", self.first, 0 < self.first < self.last, least)
        _check("tolerance (--tolerance)", self.tolerance, self.tolerance >= FINEST, "a number, 0.000001 or more")
        _check("share (--share)", self.share, 0 < self.share <= 1, "a number above 0, 1 at most")
        if self.step is not None:
            _check("step (--grid)", self.step, self.step >= FINEST, "a number, 0.000001 or more")
        if (factor := self.latency_factor) is not None:
            _check("latency_factor (--latency)", factor, factor >= 1, "a number, 1 or more")
        if (limit := self.latency_limit) is not None:
            _check("latency_limit (--latency-limit)", limit, limit > 0, "a number of cycles, more than 0")

    @property
    def latency(self) -> bool:
        """Whether the rule limits latency."""
        return self.latency_factor is not None or self.latency_limit is not None

    @property
    def loads(self) -> list[float]:
        """The loads of a grid, or the ends of a bisection."""
        if self.step is None:
            return [self.first, self.last]
        found = expand_range("--grid", {"start": self.first, "stop": self.last, "step": self.step})
        return [load for load in found if not isinstance(load, str)]

    def trial(
        self,
        load: float,
        runs: Sequence[tuple[Document, Mapping[str, Any]]],
        before: Sequence[Trial],
        longer: int = 1,
    ) -> Trial:
        """The outcome of a load: of the `runs` of all seeds, which were `longer` times as long as the scenario's.

        `before` are the earlier trials, whose first sets the limit of latency.
        """
        accepted = min(_share(scenario, summary) for scenario, summary in runs)
        found = [summary.get("steady") for _, summary in runs]
        steady = next((word for word in ("no", "unknown", "yes") if word in found), None)
        latencies = [summary["latency_mean"] for _, summary in runs]
        latency = max((float(x) for x in latencies if x is not None), default=None)
        delivered = all(x is not None for x in latencies)
        fast = latency is not None and latency <= self._longest(before)
        lasting = delivered and fast and accepted >= self.share
        repeated = longer < LONGER and not any(_ends(scenario) for scenario, _ in runs)
        if lasting and steady in ("no", "unknown") and repeated:
            return Trial(load, False, accepted, latency, steady, longer, decided=False)
        # A falling latency is no sign of saturation: queues that had grown by chance become shorter.
        growing = steady == "no" and accepted < 1
        return Trial(load, lasting and not growing, accepted, latency, steady, longer)

    def _longest(self, trials: Sequence[Trial]) -> float:
        """The largest allowed mean latency in cycles, given the earlier trials."""
        limits = [] if self.latency_limit is None else [self.latency_limit]
        if self.latency_factor is not None and trials and trials[0].latency is not None:
            limits.append(self.latency_factor * trials[0].latency)
        return min(limits, default=math.inf)


def saturate(
    scenario: Source,
    *,
    first: float = 0.05,
    last: float = 1.0,
    step: float | None = None,
    tolerance: float = 0.01,
    share: float = SATURATED_BELOW,
    latency_factor: float | None = None,
    latency_limit: float | None = None,
    seeds: int = 1,
    tell: Callable[[Trial], None] = lambda _: None,
    force: bool = False,
) -> Saturation:
    """Finds the largest load that a scenario sustains. `saturations` finds it for every curve of an experiment.

    Runs that accept enough, but are not steady or are too short to tell, are repeated with five times the warm-up and
    five times the cycles; the longer runs decide. Runs of a given number of messages or requests are not repeated,
    because they end by themselves. A load is sustained if every seed

    * accepts at least `share` of the offered load, or, if packets are counted by generation, delivers all of them;
    * does not accept less than the offered load with a rising mean latency, because its queues would still grow;
    * with `latency_factor`, has a mean latency of at most this factor times the mean latency at the first load, the
      greatest of its seeds;
    * with `latency_limit`, has a mean latency of at most `latency_limit` cycles.

    If packets are counted by generation, every load at which all packets finally arrive would be sustained. Such a
    scenario needs one of the rules for latency.

    Args:
        scenario: the path of a TOML or JSON file, or the document itself; its own load is not used.
        first: smallest load.
        last: largest load.
        step: if given, loads are tried upwards in these steps until one is not sustained; otherwise by bisection.
        tolerance: largest distance between the two ends of the bisection.
        share: smallest accepted over offered load.
        latency_factor: largest mean latency over the mean latency at the first load.
        latency_limit: largest mean latency in cycles.
        seeds: runs of each load.
        tell: called with every load that was tried.
        force: also run a scenario that is expected to need more memory than the machine has.
    """
    rule = Rule(first, last, step, tolerance, share, latency_factor, latency_limit)
    return saturation_of(load(scenario), rule, seeds, tell=tell, force=force)


def saturation_of(
    document: Document, rule: Rule, seeds: int, *, tell: Callable[[Trial], None], force: bool
) -> Saturation:
    """Implements `saturate` for a `Rule`."""
    _check("seeds (--seeds)", seeds, seeds >= 1, "a whole number, 1 or more")
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; expected `phit.saturations`")
    leave_out(document)
    check_last(document, rule)
    search = Search(rule)
    while search.load is not None:
        results = [_run(document, search, seed, force) for seed in range(seeds)]
        tell(search.judge([(result.scenario, result.summary) for result in results]))
    return search.found


def _check(option: str, value: float, right: bool, expected: str) -> None:
    if not (math.isfinite(value) and right):
        raise InputError(f"{option} = {value:g}: expected {expected}")


def check_last(document: Document, rule: Rule) -> None:
    """Refuses before the first run what the last load's run would refuse."""
    try:
        completed = complete(_loaded(document, rule.loads[-1]))
    except ScenarioError as error:
        if error.path == KEY:
            raise InputError(f"last (--to): {one_line(error)}") from error
        raise
    if get_path(completed, "measure.count") == "generated" and not rule.latency:
        raise InputError(
            'measure.count = "generated": a run ends when all packets are delivered, so every load would be '
            "sustained; expected a rule for latency: latency_factor (--latency) or latency_limit (--latency-limit)"
        )


class Search:
    """Searches for the largest sustained load: names the next load to try until it is found."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._trials: list[Trial] = []
        self._steps = _between(rule) if rule.step is None else _upwards(rule)
        self._ends: tuple[float | None, float | None] = (None, None)
        self.load: float | None = next(self._steps)
        """The load to try next; `None` once it is found."""
        self.longer = 1
        """Factor by which warm-up and measurement of the next runs are longer than in the scenario."""

    def judge(self, runs: Sequence[tuple[Document, Mapping[str, Any]]]) -> Trial:
        """Receives the runs of all seeds under the current load: each with its scenario and its summary."""
        assert self.load is not None
        trial = self._rule.trial(self.load, runs, [trial for trial in self._trials if trial.decided], self.longer)
        self._trials.append(trial)
        if not trial.decided:
            self.longer = LONGER
            return trial
        self.longer = 1
        try:
            self.load = self._steps.send(trial.sustained)
        except StopIteration as found:
            self.load, self._ends = None, found.value
        return trial

    @property
    def found(self) -> Saturation:
        """The outcome of the search."""
        return Saturation(*self._ends, self._trials)


Steps = Generator[float, bool, tuple[float | None, float | None]]
"""Yields loads, is told whether each is sustained, and returns the largest that is and the smallest that is not."""


def _upwards(rule: Rule) -> Steps:
    low = None
    for value in rule.loads:
        if not (yield value):
            return low, value
        low = value
    return low, None


def _between(rule: Rule) -> Steps:
    low, high = rule.first, rule.last
    if not (yield low):
        return None, low
    if (yield high):
        return high, None
    while high - low > rule.tolerance:
        middle = between(low, high)
        if not low < middle < high:
            break
        if (yield middle):
            low = middle
        else:
            high = middle
    return low, high


def _loaded(document: Document, value: float) -> Document:
    own = load(document)
    set_path(own, KEY, value)
    return own


def times(document: Document, longer: int) -> dict[str, Any]:
    """Keys that make a run `longer` times as long, with their values.

    A warm-up that the run determines is unchanged.
    """
    if longer == 1:
        return {}
    given = {key: get_path(complete(document), key) for key in TIMES}
    return {key: longer * value for key, value in given.items() if isinstance(value, int)}


def _run(document: Document, search: "Search", seed: int, force: bool) -> Result:
    assert search.load is not None
    own = _loaded(document, search.load)
    for key, value in times(own, search.longer).items():
        set_path(own, key, value)
    set_path(own, "seed", int(get_path(own, "seed", 1)) + seed)
    return run(own, force=force)


def _ends(scenario: Document) -> bool:
    """Whether a run sends a given number of messages or requests and then ends."""
    return any(get_path(scenario, key) is not None for key in ENDS)


def _share(scenario: Document, summary: Mapping[str, Any]) -> float:
    """Accepted over offered load. A run that counts by generation must deliver all packets instead."""
    if get_path(scenario, "measure.count") == "generated":
        return 1.0 if summary["converged"] else 0.0
    arrived = float(summary["accepted_load"]) + float(summary.get("lost_load") or 0.0)
    return arrived / float(summary["offered_load"]) if summary["offered_load"] else 1.0
