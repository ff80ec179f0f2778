"""A results folder: one file per finished point, and tables and a manifest made of them.

Every file appears whole or not at all: it is written beside its place, flushed to disk and renamed.
"""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from phit import _phit, machine
from phit.errors import ResultsError
from phit.experiment import Experiment, Point, engine_version
from phit.files import read_parquet, remove_leftovers, write_atomically, write_parquet
from phit.result import frame
from phit.scenario import Document, flatten
from phit.stored import (
    FORMAT,
    MANIFEST,
    POINTS,
    TABLE_FILES,
    read_manifest_file,
    read_point,
    write_json,
    write_point,
)
from phit.text import quoted

__all__ = [
    "MANIFEST",
    "POINTS",
    "TABLE_FILES",
    "Answer",
    "ResultsFolder",
    "Summary",
    "lacking",
    "point_row",
    "points_frame",
    "read_manifest",
    "read_table",
    "stacked",
    "summary_row",
    "write_atomically",
    "write_parquet",
]

LOCK = ".lock"
SHARDS = b"shards"
"""What stands in the lock while shards hold it."""

Answer = dict[str, Any]
"""What a run gives: `summary` and `tables`."""

Summary = dict[str, Any]
"""The summary of a run."""


def summary_row(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary as one row of a table: nested tables by dotted path, the scenario by its headlines."""
    scenario = summary.get("scenario", {})
    kinds = {name: scenario[name]["kind"] for name in ("topology", "routing") if name in scenario}
    pattern = scenario.get("traffic", {}).get("pattern")
    if isinstance(pattern, Mapping):
        offset = pattern.get("offset")
        kinds["pattern"] = f"{pattern['kind']}{offset:+d}" if isinstance(offset, int) else pattern["kind"]
    numbers = {name: value for name, value in summary.items() if name != "scenario"}
    return kinds | {key: value for key, value in flatten(numbers) if not isinstance(value, list)}


SYNCED_SECONDS = 0.5
"""A point that comes so long after the last that was written through to the disk is written through, too."""


class ResultsFolder:
    """The results of an experiment on disk, open for writing by one process at a time.

    If it is `shared`, other processes that share it write to it, too: the shards of a sweep, each its own points.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None], *, shared: bool = False) -> None:
        self.folder = folder
        self._warn = warn
        self._shared = shared
        self._lock: int | None = None
        self._manifest: Document = {}
        self._added = 0
        self._written: dict[str, str] = {}
        self._start = self._synced = time.monotonic()

    def __enter__(self) -> Self:
        existing = self.folder.exists() and any(self.folder.iterdir()) if self.folder.is_dir() else False
        if existing and not any((self.folder / name).exists() for name in (MANIFEST, POINTS, LOCK)):
            raise ResultsError(f"{self.folder}: not a results folder and not empty; choose another one with --out")
        if (self.folder / POINTS).is_symlink():
            raise ResultsError(f"{self.folder / POINTS}: a link to another place; expected a folder")
        try:
            (self.folder / POINTS).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder / POINTS), tempfile.TemporaryFile(dir=self.folder):
                pass
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            self._lock = os.open(self.folder / LOCK, flags, 0o666)
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot write results there ({error.strerror})") from None
        try:
            self._take_over()
        except OSError as error:
            self._unlock()
            raise ResultsError(f"{self.folder}: cannot write results there ({error.strerror})") from None
        except ResultsError:
            self._unlock()
            raise
        return self

    def _take_over(self) -> None:
        """Takes the lock and leaves our name in it, for those who come later; clears up after those before."""
        assert self._lock is not None
        try:
            fcntl.flock(self._lock, (fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).strip()
            who = f"another phit (process {owner.decode() if owner.isdigit() else 'unknown'}) is"
            raise ResultsError(
                f"{self.folder}: {'shards of a sweep are' if owner == SHARDS else who} writing "
                "to this folder; wait for it or choose another --out"
            ) from None
        except OSError:
            # Some file systems that machines share have no locks. Shards need none: each writes files of its own.
            if not self._shared:
                raise
        os.ftruncate(self._lock, 0)
        os.write(self._lock, SHARDS + b"\n" if self._shared else f"{os.getpid()}\n".encode())
        if self._shared:
            # What looks left over may be what another shard is writing.
            return
        remove_leftovers(self.folder)
        remove_leftovers(self.folder / POINTS)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unlock()

    def adopt(
        self, experiment: Experiment, points: Iterable[Point], mine: Iterable[Point] | None = None
    ) -> dict[str, Summary]:
        """Makes this the folder of the experiment, or refuses; returns the summaries that are already there.

        Where shards share the folder these are of `mine` alone, the points that this one runs.
        """
        plan: Document = {
            "format": FORMAT,
            "phit": _phit.__version__,
            "engine": engine_version(),
            "name": experiment.name,
            "scenario": experiment.base,
            "sweep": experiment.sweep,
            "plot": experiment.plot,
            "points": [{"hash": point.hash, "values": point.values, "state": "planned"} for point in points],
        }
        return self.adopt_plan(plan, [point.hash for point in mine] if self._shared and mine is not None else None)

    def adopt_plan(self, plan: Document, mine: Iterable[str] | None = None) -> dict[str, Summary]:
        """Makes this the folder of a manifest, or refuses; returns as `adopt` the summaries that are already there."""
        path = self.folder / MANIFEST
        old = read_manifest(self.folder) if path.exists() else {}
        if old:
            refuse_other(self.folder, old, plan)
        known = {entry["hash"]: entry for entry in old.get("points", [])}
        new = [entry for entry in plan["points"] if entry["hash"] not in known]
        known |= {entry["hash"]: {**entry, "state": "planned"} for entry in plan["points"]}
        summaries = {}
        for hash_ in known if mine is None else mine:
            answer = self._read_point(hash_)
            known[hash_]["state"] = "planned" if answer is None else "done"
            if answer is not None:
                summaries[hash_] = answer["summary"]
        self._manifest = {**plan, "points": list(known.values()), "stretches": old.get("stretches", [])}
        self._start = time.monotonic()
        # Shards write what they all would write, and that once.
        if not self._shared or not old or new:
            write_json(path, self._manifest)
        return summaries

    def add(self, point: Point, answer: Answer) -> None:
        """Keeps the answer of a finished point."""
        # Of short points only some are sure to outlast the machine: one that is lost or cut off is run again.
        now = time.monotonic()
        synced = now - self._synced > SYNCED_SECONDS
        content = {"hash": point.hash, "values": point.values, **answer}
        self._written[point.hash] = write_point(self._point_file(point.hash), content, synced=synced)
        self._synced = now if synced else self._synced
        self._added += 1
        self._partial_file(point.hash).unlink(missing_ok=True)

    def leave(self, point: Point, answer: Answer) -> None:
        """Keeps what was measured of a point that was stopped: it is in the tables until the point has finished."""
        write_point(self._partial_file(point.hash), {"hash": point.hash, "values": point.values, **answer})

    def answer(self, point: Point) -> Answer:
        """The answer of a point that is kept."""
        found = self._read_point(point.hash)
        if found is None:
            raise ResultsError(f"{self._point_file(point.hash)}: this finished point cannot be read any more")
        return found

    def point(self, hash_: str) -> Answer | None:
        """The answer of the point of this hash, if there is one."""
        return self._read_point(hash_)

    def keep(self, content: Document) -> None:
        """Keeps a point as another folder has it."""
        self._written[content["hash"]] = write_point(self._point_file(content["hash"]), content)

    def has(self, point: Point) -> bool:
        """True if the point's result is kept."""
        return self._point_file(point.hash).exists()

    def missing(self) -> int:
        """How many points of the experiment nobody has finished yet."""
        return sum(not self._point_file(entry["hash"]).exists() for entry in self._manifest["points"])

    def finish(self, processes: int | None = None) -> None:
        """Makes the tables, also if something went wrong; where shards share the folder, the one that ends it does."""
        if not self._shared or not self.missing():
            self.consolidate(processes)

    def consolidate(self, processes: int | None = None) -> None:
        """Makes the tables and the manifest from the points that are there.

        `processes` is how many ran them, if they were ours.
        """
        if self._added and not self._shared:
            seconds = round(time.monotonic() - self._start, 1)
            stretch = {"points": self._added, "wall_seconds": seconds, "processes": processes, **machine.described()}
            self._manifest["stretches"].append(stretch)
            self._added = 0
        rows: list[dict[str, Any]] = []
        tables: dict[str, list[pl.DataFrame]] = {}
        for entry in self._manifest["points"]:
            answer = self._read_point(entry["hash"])
            entry["state"] = "planned" if answer is None else "done"
            if answer is None:
                answer = self._read_partial(entry["hash"])
                if answer is None:
                    continue
                entry["state"] = "partial"
            point = Point(entry["values"], answer["summary"]["scenario"])
            rows.append(point_row(entry["hash"], point, answer["summary"]))
            for name, columns in answer["tables"].items():
                tables.setdefault(name, []).append(stacked(entry["hash"], point, name, columns))
        write_parquet(self.folder / "points.parquet", points_frame(rows))
        for name, frames in tables.items():
            file = TABLE_FILES.get(name, f"{name}.parquet")
            write_parquet(self.folder / file, pl.concat(frames, how="diagonal_relaxed"))
        write_json(self.folder / MANIFEST, self._manifest)

    def _point_file(self, hash_: str) -> Path:
        return _file_of(self.folder, hash_)

    def _partial_file(self, hash_: str) -> Path:
        return self.folder / POINTS / f"{hash_}.partial"

    def _read_partial(self, hash_: str) -> Answer | None:
        path = self._partial_file(hash_)
        try:
            point = read_point(path)
        except FileNotFoundError:
            return None
        except ResultsError as error:
            self._warn(f"{path}: this partial result cannot be read; it is left out ({error})")
            return None
        return {"summary": point["summary"], "tables": point["tables"]}

    def _read_point(self, hash_: str) -> Answer | None:
        path = self._point_file(hash_)
        try:
            point = read_point(path, self._written.get(hash_))
        except FileNotFoundError:
            return None
        except ResultsError as error:
            # Kept, as it may be the only trace of hours of work.
            aside = path.with_suffix(".damaged")
            self._warn(f"{path}: this finished point cannot be read; it is run again ({error}; now {aside.name})")
            path.replace(aside)
            return None
        if "digest" not in point:
            write_point(path, point)
        return {"summary": point["summary"], "tables": point["tables"]}


def lacking(folder: Path, points: Iterable[Point]) -> list[Point]:
    """The points that a folder has no files of; it need not be there."""
    return [point for point in points if not _file_of(folder, point.hash).exists()]


def _file_of(folder: Path, hash_: str) -> Path:
    return folder / POINTS / f"{hash_}.json"


def point_row(hash_: str, point: Point, summary: Summary) -> dict[str, Any]:
    """A point as a row of the table of points."""
    return {"point": hash_, **point.columns, **summary_row(summary)}


def points_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The table of points."""
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def stacked(hash_: str, point: Point, table: str, columns: Mapping[str, list[Any]]) -> pl.DataFrame:
    """A table of one point with the point's hash and swept keys in front."""
    ids = {"point": hash_, **point.columns}
    kinds = {k: v for k, v in summary_row({"scenario": point.scenario}).items() if k not in ids}
    own = frame(table, columns)
    same = [_constant(key, value, own.height) for key, value in {**ids, **kinds}.items() if key not in columns]
    return pl.DataFrame([*same, *(own.get_column(name) for name in columns)])


def _constant(name: str, value: Any, rows: int) -> pl.Series:
    """A column of one value, of the type that polars gives to such a literal.

    Without a query, which would cost more than a short run.
    """
    small = isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31
    return pl.Series(name, [value], dtype=pl.Int32 if small else None).new_from_index(0, rows)


def refuse_other(folder: Path, old: Document, new: Document) -> None:
    """Raises if a folder's manifest is of something else than earlier or other points of the experiment of another."""
    differences = []
    if old.get("engine") != new.get("engine"):
        differences.append(f"its engine is {old.get('engine')}, this one is {new.get('engine')}")
    if old.get("name") != new.get("name"):
        differences.append(f"its experiment is {quoted(old.get('name'))}, this one is {quoted(new.get('name'))}")
    swept = {key for entry in [*old["points"], *new["points"]] for key in entry["values"]}
    there, here = dict(flatten(old.get("scenario", {}))), dict(flatten(new.get("scenario", {})))
    differences += [
        f"{key} is {_shown(there, key)} there and {_shown(here, key)} here"
        for key in sorted(there.keys() | here.keys())
        if there.get(key) != here.get(key) and not any(key == s or key.startswith(f"{s}.") for s in swept)
    ]
    if differences:
        shown = "; ".join(differences[:3]) + ("; and more" if len(differences) > 3 else "")
        raise ResultsError(
            f"{folder}: results of another experiment: {shown}; choose another --out or delete the folder"
        )


def _shown(values: Mapping[str, Any], key: str) -> str:
    return json.dumps(values[key], ensure_ascii=False) if key in values else "not set"


def read_manifest(folder: Path) -> Document:
    """The manifest of a results folder."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ResultsError(f"{folder}: no such results folder")
    try:
        manifest = read_manifest_file(path)
    except FileNotFoundError:
        raise ResultsError(f"{folder}: not a results folder (it has no {MANIFEST})") from None
    except ResultsError as error:
        raise ResultsError(f"{path}: corrupt ({error}); {_REMEDY}") from None
    if manifest["format"] != FORMAT:
        raise ResultsError(
            f"{path}: results of format {manifest['format']}; this version of phit reads format {FORMAT}: "
            "choose another folder, or delete this one"
        )
    return manifest


_REMEDY = "delete this file and run the same `phit sweep` again: finished points are kept, tables are made anew"


def read_table(folder: Path, file: str = "points.parquet", needed: Iterable[str] = ()) -> pl.DataFrame:
    """A table of a results folder, which has the needed columns."""
    path = folder / file
    try:
        table = read_parquet(path)
    except FileNotFoundError:
        if file == "points.parquet":
            raise ResultsError(
                f"{path}: no such table yet; when the sweep has ended or been stopped, `phit merge {folder}` makes it"
            ) from None
        raise ResultsError(f"{path}: no such table; was it asked for in [measure]?") from None
    except OSError as error:
        raise ResultsError(f"{path}: corrupt ({error.strerror}); {_REMEDY}") from None
    if table.height and (missing := next((name for name in needed if name not in table.columns), None)) is not None:
        raise ResultsError(f"{path}: corrupt (it has no column {quoted(missing)}); {_REMEDY}")
    return table
