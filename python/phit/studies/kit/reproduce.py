"""Runs a study: the missing runs of its figures, then tables, charts, claims and a page."""

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars import selectors

from phit.base import machine
from phit.base.durations import duration
from phit.base.errors import InputError, ResultsError, SimulationError
from phit.base.text import csv_text
from phit.document.experiment import WORK_PER_SECOND, Experiment, Point
from phit.running.sweeping import run_points
from phit.running.where import HERE, Where
from phit.store.folder import MANIFEST, write_atomically, write_parquet
from phit.studies.kit import budget as budgets
from phit.studies.kit import charts, claim, page
from phit.studies.kit.claim import E, Finding, Judged
from phit.studies.kit.plan import Case, Done, Plan, pace, seconds_left
from phit.studies.kit.scale import S, Scale
from phit.studies.kit.study import READING, Figure, Study

CLAIMS = "claims.json"
PAGE = "report.md"
FIGURES = "figures"
TABLES = "tables"

Say = Callable[[str], None]
"""Receives a message for a person."""


@dataclass(frozen=True)
class Report:
    """The outcome of a study."""

    findings: list[Finding]
    tables: dict[str, pl.DataFrame]
    written: list[Path]
    failure: SimulationError | None
    """Runs that could not be simulated to the end, if any."""


def default_folder(study: str, scale: Scale) -> Path:
    """The default folder for results."""
    return Path("results") / f"{study}-{scale}"


def reproduce(
    study: Study[S, E],
    names: Sequence[str] = (),
    scale: Scale = Scale.SMALL,
    *,
    seeds: int | None = None,
    warmup: int | None = None,
    cycles: int | None = None,
    out: str | os.PathLike[str] | None = None,
    where: Where = HERE,
    run: bool = True,
    budget: float | None = None,
    progress: bool = False,
    say: Say = lambda _: None,
) -> Report:
    """Runs the missing runs of the named figures, and writes a page of all runs.

    The page has tables, charts and claims.

    Args:
        study: the study.
        names: figures; by default all.
        scale: size of the network.
        seeds: number of seeds of every run; by default that of the scale.
        warmup: cycles of warm-up of steady states; by default those of the scale.
        cycles: measured cycles of steady states; by default those of the scale.
        out: results folder, by default ``results/STUDY-SCALE``.
        where: processes that run points. With a shard, only its runs are written. With a shard nothing is written but
            its runs.
        run: whether to run missing points, or only use existing ones.
        budget: seconds of wall time for more seeds of runs on which undecided claims depend.
        progress: whether to show progress on standard error.
        say: receives messages about the amount of work and the place of results.
    """
    folder = Path(out) if out is not None else default_folder(study.name, scale)
    given = {"warmup": warmup, "cycles": cycles}
    own = study.setting(scale)
    for key in (key for key, value in given.items() if value and not hasattr(own, key)):
        raise InputError(f"--{key} {given[key]}: the runs of {study.name} have no such number of cycles")
    setting = dataclasses.replace(own, **{key: value for key, value in given.items() if value})
    chosen = study.choose(names)
    if not run and not (folder / MANIFEST).exists():
        raise ResultsError(f"{folder}: no results of a study to show")
    plan = Plan.of({figure.name: figure.cases(setting, seeds) for figure in chosen})
    say(f"{study.name}, {scale} scale: {study.describe(setting)}")
    if budget is not None and not run:
        raise InputError("--budget: expected no --no-run, which runs nothing")
    if budget is not None and where.shard is not None:
        raise InputError(
            "--budget: expected no --shard: a shard has only its own runs and cannot tell which claims are undecided"
        )
    failure = _run(study, plan.points, folder, setting, where=where, run=run, progress=progress, say=say)
    if where.shard is not None:
        return Report([], {}, [], failure)
    if budget is not None and failure is None:
        failure = _spend(study, folder, setting, seeds, budget, where=where, progress=progress, say=say)
    return _write(study, folder, scale, setting, seeds, failure)


def _run(
    study: Study[S, E],
    points: list[Point],
    folder: Path,
    setting: S,
    *,
    where: Where,
    run: bool,
    progress: bool,
    say: Say,
) -> SimulationError | None:
    done = Done.read(folder)
    missing = [point for point in points if point.hash not in done.hashes]
    count = where.workers or machine.cores()
    there = f"{len(points)} runs, {len(points) - len(missing)} of them done already"
    if not run:
        say(f"{there}; the others are left out")
        points = [point for point in points if point.hash in done.hashes]
    elif missing:
        left = duration(seconds_left(missing, done, points, count))
        say(f"{there}; about {left} on {count} core{'s' * (count > 1)}")
    else:
        say(there)
    try:
        run_points(_experiment(study, setting), points, folder, where, progress=progress and bool(missing) and run)
    except SimulationError as error:
        return error
    return None


def _experiment(study: Study[S, E], setting: S) -> Experiment:
    return Experiment(study.name, study.network(setting), {"name": study.name}, {})


def _spend(
    study: Study[S, E],
    folder: Path,
    setting: S,
    seeds: int | None,
    seconds: float,
    *,
    where: Where,
    progress: bool,
    say: Say,
) -> SimulationError | None:
    """Runs more seeds for undecided claims."""
    count = where.workers or machine.cores()
    rate: float | None = None

    def judge() -> tuple[Sequence[Judged[E]], Plan]:
        nonlocal rate
        done, everything, tables = _tabulate(study, folder, setting, seeds)
        rate = rate or pace(done, everything.points)
        return study.judged(tables, setting), everything

    def cost(points: Sequence[Point]) -> float:
        return sum(point.work for point in points) / (rate or WORK_PER_SECOND) / max(1, min(count, len(points)))

    def run(points: Sequence[Point]) -> None:
        run_points(_experiment(study, setting), list(points), folder, where, progress=progress)

    try:
        budgets.spend(budgets.Budget(seconds), judge, run, cost, budgets.Seeds(study, setting), count, say)
    except SimulationError as error:
        return error
    return None


def _tabulate(
    study: Study[S, E], folder: Path, setting: S, seeds: int | None
) -> tuple[Done, Plan, dict[str, pl.DataFrame]]:
    """The finished runs, the plan of all possible runs, and the tables of all figures."""
    done = Done.read(folder)
    most = max(seeds or 0, done.seeds) or None
    everything = Plan.of({name: figure.cases(setting, most) for name, figure in study.figures.items()})
    return (
        done,
        everything,
        {name: figure.tabulate(everything.labels(name), done) for name, figure in study.figures.items()},
    )


def _write(
    study: Study[S, E], folder: Path, scale: Scale, setting: S, seeds: int | None, failure: SimulationError | None
) -> Report:
    done, everything, tables = _tabulate(study, folder, setting, seeds)
    written = [path for name, table in tables.items() for path in _write_table(table, folder / TABLES / name)]
    parts: list[page.Part[S]] = []
    counted: set[str] = set()
    absent: set[str] = set()
    not_run: list[Figure[S]] = []
    for name, figure in study.figures.items():
        shares = _run_shares(everything.cases[name], done)
        if tables[name].is_empty() or max(shares.values(), default=0) < SHOWN:
            not_run.append(figure)
            continue
        shown = _drawn(tables[name], shares)
        text = figure.prose(tables[name], setting)
        if shown.is_empty() and not text:
            not_run.append(figure)
            continue
        paths = [] if shown.is_empty() else charts.write(figure.charts(shown, setting), folder / FIGURES)
        written += paths
        hashes = {point.hash for _, point in everything.cases[name]} - counted
        counted |= hashes
        found = done.points.filter(pl.col("point").is_in(list(hashes)))
        images = [path.name for path in paths if path.suffix == ".png"]
        wanted = _hashes(figure.cases(setting, seeds), everything.cases[name])
        left_out = wanted - done.hashes - absent
        absent |= left_out
        cpu_seconds = float(found["cpu_seconds"].sum())
        further = len(set(found["point"]) - wanted)
        parts.append(page.Part(figure, images, found.height, cpu_seconds, text, len(left_out), further))
    findings = study.judge(tables, setting)
    written.append(claim.write(findings, folder / CLAIMS))
    text = page.text(study, scale, setting, findings, parts, FIGURES, done.wall_time, not_run)
    write_atomically(folder / PAGE, lambda file: file.write(text.encode()))
    return Report(findings, tables, [*written, folder / PAGE], failure)


def _hashes(wanted: Sequence[Case], planned: Sequence[tuple[Case, Point]]) -> set[str]:
    """The hashes of a figure's runs at its setting. Runs that were not planned are found by their labels."""
    known = {str(case.labels): point.hash for case, point in planned}
    names = (str(case.labels) for case in wanted)
    return {known.get(name, name) for name in names}


DRAWN = 0.5
"""Share of a figure's points that must exist under a reading to draw it; with fewer, there would be no curves."""

SHOWN = 0.2
"""Share of a figure's points that must exist under at least one reading for it to be on the page."""


def _run_shares(planned: Sequence[tuple[Case, Point]], done: Done) -> dict[object, float]:
    """The share of a figure's points with at least one finished seed, by reading.

    Figures without readings have one entry.
    """
    points: dict[object, dict[str, bool]] = {}
    for case, point in planned:
        labels = str({key: value for key, value in case.labels.items() if key != "seed"})
        of_reading = points.setdefault(case.labels.get(READING), {})
        of_reading[labels] = of_reading.get(labels, False) or point.hash in done.hashes
    return {reading: sum(of.values()) / len(of) for reading, of in points.items()}


def _drawn(table: pl.DataFrame, shares: Mapping[object, float]) -> pl.DataFrame:
    """The rows of a figure's table that are drawn."""
    if READING not in table.columns:
        return table
    return table.filter(pl.col(READING).is_in([reading for reading, share in shares.items() if share >= DRAWN]))


def _write_table(table: pl.DataFrame, stem: Path) -> list[Path]:
    if table.is_empty():
        return []
    stem.parent.mkdir(parents=True, exist_ok=True)
    # `with_suffix` is not used, because the name of a figure may contain a dot.
    csv, parquet = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("csv", "parquet"))
    flat = table.select(~selectors.list())
    write_atomically(csv, lambda file: file.write(csv_text(flat).encode()))
    write_parquet(parquet, flat)
    return [csv, parquet]


def publish(study: Study[S, E], folder: Path, target: Path) -> list[Path]:
    """Copies the page of a results folder, its figures (as SVG) and claims into a folder of the documentation.

    Pictures of an earlier page that the new page does not show are removed.
    """
    text = (folder / PAGE).read_text(encoding="utf-8")
    place = target / study.name
    place.mkdir(parents=True, exist_ok=True)
    shown = [f"{stem}.svg" for stem in dict.fromkeys(re.findall(rf"\({FIGURES}/([^)]*)\.png\)", text))]
    written = [_copy(folder / FIGURES / name, place / name) for name in shown]
    for old in place.glob("*.svg"):
        if old.name not in shown:
            old.unlink()
    written.append(_copy(folder / CLAIMS, place / CLAIMS))
    document = target / f"{study.name}.md"
    moved = re.sub(rf"\({FIGURES}/([^)]*)\.png\)", rf"({study.name}/\1.svg)", text)
    write_atomically(document, lambda file: file.write(moved.encode()))
    return [*written, document]


def _copy(source: Path, target: Path) -> Path:
    content = source.read_bytes()
    write_atomically(target, lambda file: file.write(content))
    return target
