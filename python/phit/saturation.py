"""The largest sustained load of a scenario: on a grid of loads, or by bisection."""

from collections.abc import Callable
from dataclasses import dataclass

from phit.errors import InputError
from phit.result import Result, run
from phit.scenario import Document, Source, get_path, load, set_path

KEY = "traffic.load"


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


def saturate(
    scenario: Source,
    *,
    first: float = 0.05,
    last: float = 1.0,
    step: float | None = None,
    tolerance: float = 0.01,
    share: float = 0.97,
    latency_factor: float | None = None,
    seeds: int = 1,
    tell: Callable[[Trial], None] = lambda _: None,
) -> Saturation:
    """Finds the largest load that a scenario sustains.

    A load is sustained if every seed accepts at least `share` of what is offered and, with `latency_factor`, has a
    mean latency of at most so many times that of the first load.

    Args:
        scenario: the path of a TOML or JSON file, or the document itself; its own load is not used.
        first: smallest load.
        last: largest load.
        step: if given, loads are tried upwards in such steps until one is not sustained; otherwise by bisection.
        tolerance: how close bisection comes.
        share: least accepted over offered load.
        latency_factor: greatest mean latency over that of the first load.
        seeds: runs of each load.
        tell: called with every load that was tried.
    """
    if not 0 < first < last:
        raise InputError(f"first load {first:g}, last load {last:g}: expected 0 < first < last")
    if (step is not None and step <= 0) or tolerance <= 0:
        raise InputError("expected a step and a tolerance greater than 0")
    document = load(scenario)
    trials: list[Trial] = []

    def attempt(value: float) -> bool:
        limit = latency_factor * trials[0].latency if latency_factor and trials and trials[0].latency else None
        trial = _trial(document, value, share, limit, seeds)
        trials.append(trial)
        tell(trial)
        return trial.sustained

    low, high = _upwards(attempt, first, last, step) if step is not None else _between(attempt, first, last, tolerance)
    return Saturation(low, high, trials)


def _upwards(
    attempt: Callable[[float], bool], first: float, last: float, step: float
) -> tuple[float | None, float | None]:
    low = None
    count = round((last - first) / step)
    for i in range(count + 1):
        value = round(first + i * step, 10)
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
        if attempt(middle):
            low = middle
        else:
            high = middle
    return low, high


def _trial(document: Document, value: float, share: float, limit: float | None, seeds: int) -> Trial:
    results = [_run(document, value, seed) for seed in range(seeds)]
    accepted = min(_share(result) for result in results)
    latencies = [result["latency_mean"] for result in results]
    latency = max((float(x) for x in latencies if x is not None), default=None)
    delivered = all(x is not None for x in latencies)
    fast = limit is None or (latency is not None and latency <= limit)
    return Trial(value, delivered and fast and accepted >= share, accepted, latency)


def _run(document: Document, value: float, seed: int) -> Result:
    own = dict(load(document))
    set_path(own, KEY, value)
    set_path(own, "seed", int(get_path(own, "seed", 1)) + seed)
    return run(own)


def _share(result: Result) -> float:
    """Accepted over offered load; a run that counts by generation is judged by whether it delivered everything."""
    if get_path(result.scenario, "measure.count") == "generated":
        return 1.0 if result["converged"] else 0.0
    return float(result["accepted_load"]) / float(result["offered_load"]) if result["offered_load"] else 1.0
