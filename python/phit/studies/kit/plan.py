"""The runs that figures need, each only once, however many figures show it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from phit.base.durations import duration
from phit.document import Document
from phit.document.completing import complete
from phit.document.experiment import CURVE, WORK_PER_SECOND, Point
from phit.store.folder import MANIFEST, POINTS, TABLE_FILES, read_manifest, read_table

Labels = dict[str, Any]
"""Values that distinguish a run in its figure: columns of the figure's table."""

COLUMNS = {"mechanism": CURVE, "load": "traffic.load"}
"""Names of labels in a results folder, if they differ."""


@dataclass(frozen=True)
class Case:
    """One run of a figure."""

    labels: Labels
    scenario: Document = field(repr=False)


def seeds_of(given: int | None, own: int) -> range:
    """The seeds of a figure's runs: 1 to `given`, or to the setting's `own` number if `given` is `None`."""
    return range(1, (own if given is None else given) + 1)


@dataclass(frozen=True)
class Plan:
    """The runs of some figures."""

    cases: dict[str, list[tuple[Case, Point]]]
    """The cases and points of each figure."""

    @classmethod
    def of(cls, cases: Mapping[str, Sequence[Case]]) -> "Plan":
        """Completes and checks the scenario of every case."""
        return cls({name: [(case, point_of(case)) for case in those] for name, those in cases.items()})

    @property
    def points(self) -> list[Point]:
        """Every run once, ordered by seed, so that an interrupted study has whole figures early."""
        found = {point.hash: point for those in self.cases.values() for _, point in those}
        return sorted(found.values(), key=lambda point: int(point.scenario["seed"]))

    def labels(self, figure: str) -> pl.DataFrame:
        """One row per case of a figure: its labels, and the hash of its run as `point`."""
        rows = [{**case.labels, "point": point.hash} for case, point in self.cases[figure]]
        return pl.DataFrame(rows, infer_schema_length=None, schema=None if rows else {"point": pl.String})


def point_of(case: Case) -> Point:
    """The run of a case, with its scenario completed and checked."""
    values = {COLUMNS.get(key, key): value for key, value in case.labels.items()}
    return Point(values, complete(case.scenario))


NO_RUNS = pl.DataFrame(schema={"point": pl.String, "cpu_seconds": pl.Float64})


@dataclass(frozen=True)
class Done:
    """The runs in a results folder; by default none."""

    hashes: frozenset[str] = frozenset()
    """Hashes of the finished runs. After a kill, the tables may lack some of them."""
    points: pl.DataFrame = field(default_factory=NO_RUNS.clone)
    series: pl.DataFrame = field(default_factory=NO_RUNS.clone)
    seeds: int = 0
    """The largest seed of a run that the folder plans or holds; 0 if it has none."""
    histograms: pl.DataFrame = field(default_factory=NO_RUNS.clone)
    probes: pl.DataFrame = field(default_factory=NO_RUNS.clone)
    stretches: Sequence[Mapping[str, Any]] = ()
    """Periods in which points were run, in order: `points`, `wall_seconds` and `processes`."""
    folder: Path | None = None
    """The results folder."""

    @classmethod
    def read(cls, folder: Path) -> "Done":
        """Reads a results folder; a missing folder holds nothing."""
        if not (folder / MANIFEST).exists():
            return cls()
        manifest = read_manifest(folder)
        entries = manifest["points"]
        found = (entry["values"].get("seed") for entry in entries)
        seeds = max((seed for seed in found if isinstance(seed, int)), default=0)
        hashes = frozenset(path.stem for path in (folder / POINTS).glob("*.json"))
        tables = {name: _table(folder, TABLE_FILES[name]) for name in ("series", "histogram", "probes")}
        return cls(
            hashes,
            _table(folder, "points.parquet"),
            tables["series"],
            seeds,
            tables["histogram"],
            tables["probes"],
            manifest.get("stretches", ()),
            folder,
        )

    def table(self, name: str) -> pl.DataFrame:
        """Any table of the runs, such as `flows`; empty if they have none."""
        return NO_RUNS if self.folder is None else _table(self.folder, TABLE_FILES[name])

    @property
    def wall_time(self) -> str:
        """Duration of all runs in words; empty if it is not known for all."""
        if sum(stretch["points"] for stretch in self.stretches) < len(self.hashes):
            return ""
        found = {stretch["processes"] for stretch in self.stretches}
        (count,) = found if len(found) == 1 else (None,)
        where = f" in {count} process{'es' * (count > 1)}" if count else ""
        return f"{duration(sum(stretch['wall_seconds'] for stretch in self.stretches))} of wall time{where}"


def _table(folder: Path, file: str) -> pl.DataFrame:
    if not (folder / file).exists():
        return NO_RUNS
    table = read_table(folder, file)
    return table if "point" in table.columns else NO_RUNS


def seconds_left(missing: Iterable[Point], done: Done, planned: Iterable[Point], workers: int) -> float:
    """Estimated wall time of the missing runs, based on the finished ones if there are any."""
    return sum(point.work for point in missing) / pace(done, planned) / workers


def pace(done: Done, planned: Iterable[Point]) -> float:
    """Work that a core does in a second, measured on the finished runs if there are any."""
    if done.points.height and "cpu_seconds" in done.points.columns:
        spent = dict(done.points.select("point", "cpu_seconds").iter_rows())
        known = [(point.work, spent[point.hash]) for point in planned if spent.get(point.hash)]
        if known:
            return float(sum(work for work, _ in known) / sum(seconds for _, seconds in known))
    return WORK_PER_SECOND
