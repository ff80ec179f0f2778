"""The largest sustained load of every curve of an experiment."""

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phit.base.errors import InputError, ScenarioError
from phit.base.files import write_parquet
from phit.document import Source
from phit.document.completing import complete
from phit.document.experiment import SEED, Experiment, Point, Values, heading, label
from phit.document.identity import canonical
from phit.document.paths import get_path
from phit.running.reporters import reporter
from phit.running.saturation import KEY, Rule, Search, check_last, times
from phit.running.sharding import Shard
from phit.running.where import Asked, Where

if TYPE_CHECKING:
    import polars as pl


SATURATION = "saturation.parquet"
"""The file of the table in a results folder."""

SUSTAINED, NOT_SUSTAINED = "sustained", "not sustained"


@dataclass
class Curve:
    """One curve of an experiment: points that share everything except the load and the seed."""

    values: Values
    seeds: list[int]
    search: Search
    work: float
    """Expected work of the longest run of the curve, by which shards are balanced."""
    latencies: dict[float, float | None] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Identity of a curve, which orders curves of equal work."""
        return canonical(self.values)

    @property
    def name(self) -> str:
        """The curve in words."""
        return " ".join(f"{heading(key)}={label(value)}" for key, value in self.values.items()) or "this scenario"


def saturations(
    experiment: Source | Experiment,
    out: str | os.PathLike[str] | None = None,
    *,
    rule: Rule | None = None,
    seeds: int = 1,
    workers: int | None = None,
    executor: Executor | str | None = None,
    progress: bool = False,
    settings: Iterable[str] = (),
    force: bool = False,
    shard: Shard | str | None = None,
    cluster: Mapping[str, Any] | None = None,
) -> "pl.DataFrame":
    """Finds the largest load that each curve of an experiment sustains.

    A curve is one combination of all swept keys except the load; the swept values of the load are ignored. All curves
    are searched together: each round tries one load of each, in as many processes as there are.

    Args:
        experiment: path of a TOML or JSON file, a document, or an `Experiment`. Without a sweep, it is one curve.
        out: results folder. It keeps all runs, which are not repeated, and the table as `saturation.parquet`.
        rule: which loads are tried, and when a load is sustained. See the arguments of `saturate`.
        seeds: runs of each load, if the sweep has no seeds.
        workers: see `sweep`.
        executor: see `sweep`.
        progress: show progress on standard error.
        settings: see `sweep`.
        force: see `sweep`.
        shard: search only this part of the curves, such as "3/64", with a results folder of its own. After `merge` has
            combined the folders, the same call without a shard finds all runs there.
        cluster: see `sweep`.

    Returns:
        One row per curve: its swept keys; `sustained`, the largest load that is sustained, null if the first is not;
        `not sustained`, the smallest load known not to be sustained, null if the last is sustained; `latency_mean` at
        the sustained load, in cycles, the greatest of all seeds; `loads`, the number of loads tried.
    """
    if not isinstance(experiment, Experiment):
        experiment = Experiment.read(experiment, settings)
    asked = Asked(workers, executor, cluster or {}, shard)
    return saturations_of(experiment, out, rule or Rule(), seeds, asked, progress=progress, force=force)


def saturations_of(
    experiment: Experiment,
    out: str | os.PathLike[str] | None,
    rule: Rule,
    seeds: int,
    asked: Asked,
    *,
    progress: bool,
    force: bool,
) -> "pl.DataFrame":
    """Implements `saturations`; `asked` says where points run."""
    import polars as pl

    if seeds < 1:
        raise InputError(f"seeds (--seeds) = {seeds}: expected a whole number, 1 or more")
    where = asked.where(experiment.cluster)
    curves = _curves(experiment, rule, seeds)
    # Shards divide curves, not points: the points of a curve depend on one another.
    if where.shard is not None:
        curves, where = where.shard.share(curves), replace(where, shard=None)
    while trying := [curve for curve in curves if curve.search.load is not None]:
        _try(experiment, trying, out, where, progress, force)
    columns = list(dict.fromkeys(key for curve in curves for key in curve.values))
    table = pl.DataFrame(
        [_row(curve) for curve in curves],
        schema_overrides={SUSTAINED: pl.Float64, NOT_SUSTAINED: pl.Float64, "latency_mean": pl.Float64},
        infer_schema_length=None,
        strict=False,
    ).select(*columns, SUSTAINED, NOT_SUSTAINED, "latency_mean", "loads")
    if out is not None and asked.shard is None:
        write_parquet(Path(out) / SATURATION, table)
    return table


def _curves(experiment: Experiment, rule: Rule, seeds: int) -> list[Curve]:
    """The curves. Each is checked at its largest load before anything runs."""
    found: dict[str, tuple[Values, list[int]]] = {}
    for values in experiment.combinations():
        own = {key: value for key, value in values.items() if key not in (KEY, SEED)}
        swept = found.setdefault(canonical(own), (own, []))[1]
        if SEED in values and values[SEED] not in swept:
            swept.append(values[SEED])
    curves = []
    for own, swept in found.values():
        document = experiment.document(own)
        try:
            check_last(document, rule)
            point = Point(own, complete(experiment.document({**own, KEY: rule.loads[-1]})))
        except ScenarioError as error:
            raise experiment.explained(error, own) from error
        begin = int(get_path(document, SEED, 1))
        curves.append(Curve(own, swept or [begin + i for i in range(seeds)], Search(rule), point.work))
    return curves


def _try(
    experiment: Experiment,
    curves: list[Curve],
    out: str | os.PathLike[str] | None,
    where: Where,
    progress: bool,
    force: bool,
) -> None:
    """Runs the next load of each curve."""
    from phit.running.sweeping import run_points

    points = [
        [Point(values, complete(experiment.document(values))) for values in _values(curve, experiment)]
        for curve in curves
    ]
    every = list({point.hash: point for of_curve in points for point in of_curve}.values())
    table = run_points(experiment, every, out, where, progress=progress, force=force)
    rows = {row["point"]: row for row in table.iter_rows(named=True)}
    with reporter(progress) as report:
        for curve, of_curve in zip(curves, points, strict=True):
            trial = curve.search.judge([(point.scenario, rows[point.hash]) for point in of_curve])
            curve.latencies[trial.load] = trial.latency
            if curve.search.load is None:
                report.say(f"{curve.name}: {_words(curve)}")


def _values(curve: Curve, experiment: Experiment) -> list[Values]:
    own = {**curve.values, KEY: curve.search.load}
    own |= times(experiment.document(own), curve.search.longer)
    return [{**own, SEED: seed} for seed in curve.seeds]


def _words(curve: Curve) -> str:
    found = curve.search.found
    if found.sustained is None:
        return f"the first load, {found.saturated:.4g}, is not sustained"
    return f"{found.sustained:.4g} is sustained" + (
        "" if found.saturated is None else f", {found.saturated:.4g} is not"
    )


def _row(curve: Curve) -> dict[str, Any]:
    found = curve.search.found
    return {
        **{key: label(value) for key, value in curve.values.items()},
        SUSTAINED: found.sustained,
        NOT_SUSTAINED: found.saturated,
        "latency_mean": None if found.sustained is None else curve.latencies[found.sustained],
        "loads": sum(trial.decided for trial in found.trials),
    }
