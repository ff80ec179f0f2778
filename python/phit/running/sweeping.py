"""Runs an experiment: every point once, stored as soon as it ends."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phit.base import left_out, machine
from phit.base.errors import SimulationError, one_line
from phit.base.files import parquet
from phit.document import Source
from phit.document.experiment import Experiment, Point
from phit.mechanisms import execution as mechanisms
from phit.running.progress import Reporter, describe
from phit.running.reporters import reporter
from phit.running.run import unmeasured
from phit.running.sharding import Shard
from phit.running.where import DASK, HERE, SLURM, Asked, Where
from phit.running.workers import Answer, Answers, Workers, run_here
from phit.store.folder import ResultsFolder, Summary, lacking, point_row, points_frame

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import polars as pl


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a sweep. Finished points are kept; the message says where."""


def sweep(
    experiment: Source | Experiment,
    out: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    executor: "Executor | str | None" = None,
    progress: bool = False,
    settings: Iterable[str] = (),
    force: bool = False,
    shard: Shard | str | None = None,
    cluster: Mapping[str, Any] | None = None,
) -> "pl.DataFrame":
    """Runs the points of an experiment and returns one row per point.

    Args:
        experiment: path of a TOML or JSON file, a document, or an `Experiment`.
        out: results folder. Points that it already holds are not run again. Without a folder, results are only
            returned.
        workers: processes of the default executor; by default one per core. With 1, this process runs all points.
        executor: runs the points instead. Either "dask://host:port", the scheduler of a Dask cluster; or "slurm", jobs
            of Slurm; or any `concurrent.futures`-style executor.
        progress: show progress on standard error.
        settings: ``dotted.key=value`` settings applied to the experiment first, as by `--set` on the command line.
        force: also run points that are expected to need more memory than the machine has; without it they fail.
        shard: run only this part of the points; "3/64" is the third of 64 with about equal work. Shards may write to
            one folder at the same time; the last one to end makes the tables. `merge` combines separate folders.
        cluster: keys of `[cluster]`, which override those of the experiment.
    """
    if not isinstance(experiment, Experiment):
        experiment = Experiment.read(experiment, settings)
    asked = Asked(workers, executor, cluster or {}, shard)
    return sweep_into(experiment, out, asked, progress=progress, force=force)


def sweep_into(
    experiment: Experiment, out: str | os.PathLike[str] | None, asked: Asked, *, progress: bool, force: bool
) -> "pl.DataFrame":
    """Implements `sweep`; `asked` says where points run."""
    where = asked.where(experiment.cluster)
    return run_points(experiment, checked(experiment, progress), out, where, progress=progress, force=force)


def checked(experiment: Experiment, progress: bool) -> list[Point]:
    """The points of an experiment, with a line now and then while there are many to check."""
    with reporter(progress) as report:
        points = experiment.points(report.checking)
    left_out.warn(point.scenario["topology"] for point in points)
    return points


def run_points(
    experiment: Experiment,
    points: list[Point],
    out: str | os.PathLike[str] | None = None,
    where: Where = HERE,
    *,
    progress: bool = False,
    each: Callable[[Point, Answer], object] = lambda *_: None,
    force: bool = False,
) -> "pl.DataFrame":
    """Runs given points as points of an experiment.

    The arguments are those of `sweep`. `where` says which processes run the points, and `each` receives the answer of
    every point that runs.
    """
    with reporter(progress) as report:
        shard = where.shard
        folder = ResultsFolder(Path(out), report.warn, shared=shard is not None) if out is not None else nullcontext()
        mine = points if shard is None else shard.share(points)
        consented(mine, out)
        with folder as results:
            summaries = results.adopt(experiment, points, mine) if results else {}
            return _sweep(experiment, mine, summaries, results, report, where, each, force)


def consented(points: Iterable[Point], out: str | os.PathLike[str] | None) -> None:
    """Refuses Python functions that may not be executed, before anything is written.

    Only points that the folder `out` does not hold are checked: no other is executed.
    """
    missing = points if out is None else lacking(Path(out), points)
    _ready(missing)


def _ready(points: Iterable[Point]) -> None:
    """Compiles the Python functions of points, or refuses them.

    Points that differ in their seed only share functions.
    """
    mechanisms.ready(point.text for point in {id(point.first or point): point for point in points}.values())


def _sweep(
    experiment: Experiment,
    points: list[Point],
    summaries: dict[str, Summary],
    results: ResultsFolder | None,
    report: Reporter,
    where: Where,
    each: Callable[[Point, Answer], object],
    force: bool,
) -> "pl.DataFrame":
    missing = [point for point in points if point.hash not in summaries]
    rows = {
        point.hash: point_row(point.hash, point, summaries[point.hash]) for point in points if point.hash in summaries
    }
    failures: list[str] = []
    try:
        with _run(missing, report, where, results, force) as runs:
            report.begin(experiment.name, missing, len(points) - len(missing))
            for i, answer in runs:
                point = missing[i]
                if isinstance(answer, Exception):
                    failures.append(f"{describe(point)}: {one_line(answer)}")
                    report.finished(i, point, None)
                    continue
                if results:
                    # Local processes have already written the answer's file.
                    add = results.added if where.local else results.add
                    rows[point.hash] = add(point, answer)
                else:
                    rows[point.hash] = point_row(point.hash, point, answer["summary"])
                each(point, answer)
                if words := unmeasured(answer["summary"]):
                    report.warn(f"{describe(point)}: {words}")
                report.finished(i, point, answer["summary"])
    except KeyboardInterrupt:
        # The points on disk count: the interruption may have come between a point's end and its file.
        kept = len(points) - len(lacking(results.folder, points)) if results else len(rows)
        rest = f"kept in {results.folder}; the same command runs the rest" if results else "lost: no folder keeps them"
        raise Interrupted(f"interrupted: {kept} of {len(points)} points finished, {rest}") from None
    finally:
        if results:
            results.finish(_processes(where, missing) if where.local else None)
    if failures:
        raise SimulationError(f"{len(failures)} of {len(points)} points failed; the first: {failures[0]}")
    ordered = {point.hash: rows[point.hash] for point in points}
    return results.table(ordered) if results else points_frame(list(ordered.values()))


def _processes(where: Where, points: list[Point]) -> int:
    """The number of local processes for these points: as requested, else one per core; at most one per point."""
    return min(where.workers or machine.cores(), len(points))


def _run(
    points: list[Point], report: Reporter, where: Where, results: ResultsFolder | None, force: bool
) -> AbstractContextManager[Answers]:
    # These points include those whose files are damaged.
    _ready(points)
    executor, folder = where.executor, results.folder if results else None
    if executor == SLURM and points:
        from phit.running.slurm import run_on_slurm

        scenarios = [point.text for point in points]
        return closing(run_on_slurm(points, scenarios, where.cluster, folder, force, report.say))
    if isinstance(executor, str) and executor.startswith(DASK):
        from phit.running.dask import run_on_dask

        return closing(run_on_dask(executor, [point.text for point in points], force, report.say))
    if executor is not None and not isinstance(executor, str):
        from phit.running.executors import run_on

        return closing(run_on(executor, [point.text for point in points], force))
    keeper, count = results.keeper if results else None, _processes(where, points)
    if count <= 1:
        return closing(run_here(points, report.shares, keeper=keeper, force=force))

    def meanwhile() -> None:
        """Makes a first table while other processes run points: the import of polars takes as long as many points."""
        parquet(points_frame([{"point": ""}]))

    return Workers(points, count, report.shares, keeper=keeper, force=force, meanwhile=meanwhile)
