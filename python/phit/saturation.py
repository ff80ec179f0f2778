"""The largest sustained load of a scenario: on a grid of loads, or by bisection."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from phit.errors import InputError, ScenarioError, one_line
from phit.experiment import expand_range
from phit.quantities import SATURATED_BELOW
from phit.result import Result, run
from phit.scenario import Document, Source, complete, get_path, load, set_path
from phit.sections import leave_out

KEY = "traffic.load"

FINEST = 1e-6
"""The smallest step and tolerance."""


@dataclass(frozen=True)
class Trial:
    """A load that was tried."""

    load: float
    sustained: bool
    accepted: float
    """Accepted over offered load, the least of all seeds."""
    latency: float | None
    """Mean latency in cycles, the greatest of all seeds; `None` if nothing was delivered."""


@dataclass(frozen=True)
class Saturation:
    """What was found."""

    sustained: float | None
    """The largest load that is sustained; `None` if the first one is not."""
    saturated: float | None
    """The smallest load known not to be sustained; `None` if the last one is sustained."""
    trials: list[Trial]
    """In the order in which they were run."""


@dataclass(frozen=True)
class _Rule:
    """When a load is sustained."""

    share: float
    factor: float | None
    limit: float | None

    def longest(self, trials: list[Trial]) -> float:
        """The greatest mean latency after these trials, in cycles."""
        limits = [] if self.limit is None else [self.limit]
        if self.factor is not None and trials and trials[0].latency is not None:
            limits.append(self.factor * trials[0].latency)
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
    """Finds the largest load that a scenario sustains.

    A load is sustained if every seed

    * accepts at least `share` of what is offered, or, if packets are counted by generation, delivers all of them;
    * with `latency_factor`, has a mean latency of at most so many times the first load's, which is the greatest of
      its seeds;
    * with `latency_limit`, has a mean latency of at most so many cycles.

    Counted by generation, every load whose packets arrive in the end would be sustained: such a scenario needs one of
    the rules for latency.

    Args:
        scenario: the path of a TOML or JSON file, or the document itself; its own load is not used.
        first: smallest load.
        last: largest load.
        step: if given, loads are tried upwards in such steps until one is not sustained; otherwise by bisection.
        tolerance: how close bisection comes.
        share: least accepted over offered load.
        latency_factor: greatest mean latency over that of the first load.
        latency_limit: greatest mean latency in cycles.
        seeds: runs of each load.
        tell: called with every load that was tried.
        force: run also if more memory is expected to be needed than the machine has.
    """
    _check("last (--to)", last, True, "a number")
    _check("first (--from)", first, 0 < first < last, f"a number between 0 and the last load, {last:g}")
    _check("tolerance (--tolerance)", tolerance, tolerance >= FINEST, "a number, 0.000001 or more")
    _check("share (--share)", share, 0 < share <= 1, "a number above 0, 1 at most")
    if step is not None:
        _check("step (--grid)", step, step >= FINEST, "a number, 0.000001 or more")
    if latency_factor is not None:
        _check("latency_factor (--latency)", latency_factor, latency_factor >= 1, "a number, 1 or more")
    if latency_limit is not None:
        _check("latency_limit (--latency-limit)", latency_limit, latency_limit > 0, "a number of cycles, more than 0")
    _check("seeds (--seeds)", seeds, seeds >= 1, "a whole number, 1 or more")
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; saturation is that of one scenario")
    leave_out(document)
    loads = [first, last] if step is None else expand_range("--grid", {"start": first, "stop": last, "step": step})
    _check_last(document, loads[-1], latency=latency_factor is not None or latency_limit is not None)
    rule = _Rule(share, latency_factor, latency_limit)
    trials: list[Trial] = []

    def attempt(value: float) -> bool:
        trial = _trial(document, value, share, rule.longest(trials), seeds, force)
        trials.append(trial)
        tell(trial)
        return trial.sustained

    low, high = _between(attempt, first, last, tolerance) if step is None else _upwards(attempt, loads)
    return Saturation(low, high, trials)


def _check(option: str, value: float, right: bool, expected: str) -> None:
    if not (math.isfinite(value) and right):
        raise InputError(f"{option} = {value:g}: expected {expected}")


def _check_last(document: Document, last: float, *, latency: bool) -> None:
    """Refuses what a later run would, before the first one has taken its time."""
    try:
        completed = complete(_loaded(document, last))
    except ScenarioError as error:
        if error.path == KEY:
            raise InputError(f"last (--to): {one_line(error)}") from error
        raise
    if get_path(completed, "measure.count") == "generated" and not latency:
        raise InputError(
            'measure.count = "generated": a run ends when all packets are delivered, so that every load would be '
            "sustained; expected a rule for latency: latency_factor (--latency) or latency_limit (--latency-limit)"
        )


def _upwards(attempt: Callable[[float], bool], loads: list[float]) -> tuple[float | None, float | None]:
    low = None
    for value in loads:
        if not attempt(value):
            return low, value
        low = value
    return low, None


def _between(
    attempt: Callable[[float], bool], first: float, last: float, tolerance: float
) -> tuple[float | None, float | None]:
    if not attempt(first):
        return None, first
    if attempt(last):
        return last, None
    low, high = first, last
    while high - low > tolerance:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if attempt(middle):
            low = middle
        else:
            high = middle
    return low, high


def _trial(document: Document, value: float, share: float, limit: float, seeds: int, force: bool) -> Trial:
    results = [_run(document, value, seed, force) for seed in range(seeds)]
    accepted = min(_share(result) for result in results)
    latencies = [result["latency_mean"] for result in results]
    latency = max((float(x) for x in latencies if x is not None), default=None)
    delivered = all(x is not None for x in latencies)
    fast = latency is not None and latency <= limit
    return Trial(value, delivered and fast and accepted >= share, accepted, latency)


def _loaded(document: Document, value: float) -> Document:
    own = load(document)
    set_path(own, KEY, value)
    return own


def _run(document: Document, value: float, seed: int, force: bool) -> Result:
    own = _loaded(document, value)
    set_path(own, "seed", int(get_path(own, "seed", 1)) + seed)
    return run(own, force=force)


def _share(result: Result) -> float:
    """Accepted over offered load; a run that counts by generation is judged by whether it delivered everything."""
    if get_path(result.scenario, "measure.count") == "generated":
        return 1.0 if result["converged"] else 0.0
    return float(result["accepted_load"]) / float(result["offered_load"]) if result["offered_load"] else 1.0
