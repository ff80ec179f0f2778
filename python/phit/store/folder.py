"""A results folder: one file per finished point, and tables and a manifest made of them.

Every file appears whole or not at all: it is written beside its place, flushed to disk and renamed.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import phit._phit as _phit
from phit.base import machine, system
from phit.base.errors import ResultsError
from phit.base.files import parquet, read_parquet, remove_leftovers, write_atomically, write_parquet, write_together
from phit.base.text import quoted
from phit.document import Document
from phit.document.experiment import Experiment, Point
from phit.document.identity import engine_version
from phit.document.paths import flatten
from phit.store.stacking import Stack
from phit.store.stored import (
    FORMAT,
    MANIFEST,
    POINTS,
    TABLE_FILES,
    Keeper,
    manifest_text,
    read_manifest_file,
    read_point,
    write_manifest,
    write_point,
)

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
    "summary_row",
    "write_atomically",
    "write_parquet",
]

if TYPE_CHECKING:
    # This library takes longer to import than many sweeps take; while points run, there is time for it.
    import polars as pl

LOCK = ".lock"
PARTIAL = ".partial"
"""Suffix of the file with the measurements of a point that was stopped."""

SHARDS = b"shards"
"""Content of the lock file while shards hold it."""

Answer = dict[str, Any]
"""The answer of a run: `summary` and `tables`."""

Summary = dict[str, Any]
"""The summary of a run."""

Row = dict[str, Any]
"""A row of the table of points."""


def summary_row(summary: Mapping[str, Any]) -> Row:
    """A summary as one row of a table: nested tables by dotted path, the scenario by its headlines."""
    numbers = {name: value for name, value in summary.items() if name != "scenario"}
    kinds = kinds_of(summary.get("scenario", {}))
    return kinds | {key: value for key, value in flatten(numbers) if not isinstance(value, list)}


def kinds_of(scenario: Mapping[str, Any]) -> Row:
    """The headline keys of a scenario."""
    kinds = {name: scenario[name]["kind"] for name in ("topology", "routing") if name in scenario}
    pattern = scenario.get("traffic", {}).get("pattern")
    if isinstance(pattern, Mapping):
        offset = pattern.get("offset")
        kinds["pattern"] = f"{pattern['kind']}{offset:+d}" if isinstance(offset, int) else pattern["kind"]
    return kinds


class ResultsFolder:
    """The results of an experiment on disk, open for writing by one process at a time.

    If it is `shared`, other processes may write to it at the same time: the shards of a sweep, each its own points.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None], *, shared: bool = False) -> None:
        self.folder = folder
        self._warn = warn
        self._shared = shared
        self._lock: int | None = None
        self._manifest: Document = {}
        self._added = 0
        self._partial: set[str] = set()
        self._rows: dict[str, Row] = {}
        self._table: tuple[list[str], pl.DataFrame] | None = None
        """The last written table of points, and the points that it has."""
        self._stacks: dict[str, Stack] = {}
        self._start = time.monotonic()
        self.keeper = Keeper(folder / POINTS)
        """Writes points; processes that run points have a copy of it."""

    def __enter__(self) -> Self:
        existing = self.folder.exists() and any(self.folder.iterdir()) if self.folder.is_dir() else False
        if existing and not any((self.folder / name).exists() for name in (MANIFEST, POINTS, LOCK)):
            raise ResultsError(f"{self.folder}: not a results folder and not empty; choose another folder with --out")
        if (self.folder / POINTS).is_symlink():
            raise ResultsError(f"{self.folder / POINTS}: a link to another place; expected a folder")
        try:
            (self.folder / POINTS).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder / POINTS), tempfile.TemporaryFile(dir=self.folder):
                pass
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | system.NO_LINK | system.WITHOUT_WAITING | system.BINARY
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
        """Takes the lock, and writes our process number into it for others.

        Removes temporary files of earlier writers.
        """
        assert self._lock is not None
        try:
            system.lock(self._lock, shared=self._shared)
        except BlockingIOError:
            owner = system.first_bytes(self._lock, 20).strip()
            who = f"another phit (process {owner.decode() if owner.isdigit() else 'unknown'}) is"
            raise ResultsError(
                f"{self.folder}: {'shards of a sweep are' if owner == SHARDS else who} writing "
                "to this folder; wait for it or choose another --out"
            ) from None
        except OSError:
            # Some network file systems have no locks. Shards need none, because each writes files of its own.
            if not self._shared:
                raise
        os.ftruncate(self._lock, 0)
        os.write(self._lock, SHARDS + b"\n" if self._shared else f"{os.getpid()}\n".encode())
        if self._shared:
            # A file that looks abandoned may be in use by another shard.
            return
        remove_leftovers(self.folder)
        remove_leftovers(self.folder / POINTS)

    def _unlock(self) -> None:
        if self._lock is not None:
            # Processes forked from this one hold the file open as long as they run, so it is unlocked explicitly.
            with suppress(OSError):
                system.unlock(self._lock)
            os.close(self._lock)
            self._lock = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unlock()

    def adopt(
        self, experiment: Experiment, points: Iterable[Point], mine: Iterable[Point] | None = None
    ) -> dict[str, Summary]:
        """Makes this the folder of the experiment, or refuses; returns the existing summaries.

        If shards share the folder, these are only summaries of `mine`, the points of this shard.
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
        """Makes this the folder of a manifest, or refuses; returns the existing summaries, as `adopt` does."""
        path = self.folder / MANIFEST
        old = read_manifest(self.folder) if path.exists() else {}
        if old:
            refuse_other(self.folder, old, plan)
        known = {entry["hash"]: entry for entry in old.get("points", [])}
        new = [entry for entry in plan["points"] if entry["hash"] not in known]
        known |= {entry["hash"]: {**entry, "state": "planned"} for entry in plan["points"]}
        there = self._there()
        self._partial = {name for name in there if name.endswith(PARTIAL)}
        summaries = {}
        for hash_ in known if mine is None else mine:
            answer = self._read_point(hash_) if f"{hash_}.json" in there else None
            known[hash_]["state"] = "planned" if answer is None else "done"
            if answer is not None:
                summaries[hash_] = answer["summary"]
        self._manifest = {**plan, "points": list(known.values()), "stretches": old.get("stretches", [])}
        self._start = time.monotonic()
        # All shards would write the same manifest, so only the first writes it.
        if not self._shared or not old or new:
            write_manifest(path, self._manifest)
        return summaries

    def add(self, point: Point, answer: Answer) -> Row:
        """Stores the answer of a finished point; returns its row in the table of points."""
        self.keeper.keep(point.hash, point.values, answer)
        return self.added(point, answer)

    def added(self, point: Point, answer: Answer) -> Row:
        """Registers a point that has been stored by any process; returns its row in the table of points."""
        self._added += 1
        row = self._rows[point.hash] = self._tabulated(point.hash, point, answer)
        if f"{point.hash}{PARTIAL}" in self._partial:
            self._partial_file(point.hash).unlink(missing_ok=True)
        return row

    def leave(self, point: Point, answer: Answer) -> None:
        """Stores the measurements of a point that was stopped. They are in the tables until the point has finished."""
        write_point(self._partial_file(point.hash), {"hash": point.hash, "values": point.values, **answer})

    def answer(self, point: Point) -> Answer:
        """The stored answer of a point."""
        found = self._read_point(point.hash)
        if found is None:
            raise ResultsError(f"{self._point_file(point.hash)}: this finished point cannot be read any more")
        return found

    def point(self, hash_: str) -> Answer | None:
        """The answer of the point with this hash, or `None`."""
        return self._read_point(hash_)

    def keep(self, content: Document) -> None:
        """Stores a point as another folder has it."""
        hash_ = content["hash"]
        write_point(self._point_file(hash_), content)
        self._rows[hash_] = self._tabulated(hash_, Point(content["values"], content["summary"]["scenario"]), content)

    def missing(self) -> int:
        """The number of points of the experiment that are not finished."""
        there = self._there()
        return sum(f"{entry['hash']}.json" not in there for entry in self._manifest["points"])

    def _there(self) -> set[str]:
        """The names of all point files."""
        return _names(self.folder / POINTS)

    def finish(self, processes: int | None = None) -> None:
        """Makes the tables, even after an error. If shards share the folder, only the last shard makes them."""
        if not self._shared or not self.missing():
            self.consolidate(processes)

    def consolidate(self, processes: int | None = None) -> None:
        """Makes the tables and the manifest from the stored points.

        `processes` is the number of local processes that ran the points, if any.
        """
        if self._added and not self._shared:
            seconds = round(time.monotonic() - self._start, 1)
            stretch = {"points": self._added, "wall_seconds": seconds, "processes": processes, **machine.described()}
            self._manifest["stretches"].append(stretch)
            self._added = 0
        rows: dict[str, Row] = {}
        there = self._there()
        for entry in self._manifest["points"]:
            entry["state"], row = self._row(entry, there)
            if row is not None:
                rows[entry["hash"]] = row
        # The table library does this work, on all cores.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor() as threads:
            others = threads.map(lambda stack: parquet(stack.frame(rows)), self._stacks.values())
            table = points_frame(list(rows.values()))
            contents = {"points.parquet": parquet(table)}
            files = (TABLE_FILES.get(name, f"{name}.parquet") for name in self._stacks)
            contents |= zip(files, others, strict=True)
        self._table = (list(rows), table)
        write_together(self.folder, {**contents, MANIFEST: manifest_text(self._manifest).encode()})

    def table(self, rows: Mapping[str, Row]) -> "pl.DataFrame":
        """The table of points with these rows, by hash: the written one, if it has the same points."""
        if self._table is not None and self._table[0] == list(rows):
            return self._table[1]
        return points_frame(list(rows.values()))

    def _row(self, entry: Document, there: set[str]) -> tuple[str, Row | None]:
        """The state of a point of the manifest, and its row. Its other tables are stacked."""
        hash_, values = entry["hash"], entry["values"]
        if f"{hash_}.json" in there:
            if (row := self._rows.get(hash_)) is not None:
                return "done", row
            if (answer := self._read_point(hash_)) is not None:
                return "done", self._tabulated(hash_, Point(values, answer["summary"]["scenario"]), answer)
        if f"{hash_}{PARTIAL}" in there and (answer := self._read_partial(hash_)) is not None:
            return "partial", self._tabulated(hash_, Point(values, answer["summary"]["scenario"]), answer)
        return "planned", None

    def _tabulated(self, hash_: str, point: Point, answer: Answer) -> Row:
        """The row of a point with this answer. Its other tables are stacked."""
        ids = {"point": hash_, **point.columns}
        ids |= {key: value for key, value in kinds_of(point.scenario).items() if key not in ids}
        for name, columns in answer["tables"].items():
            self._stacks.setdefault(name, Stack(name)).add(hash_, ids, columns)
        return point_row(hash_, point, answer["summary"])

    def _point_file(self, hash_: str) -> Path:
        return self.keeper.path(hash_)

    def _partial_file(self, hash_: str) -> Path:
        return self.folder / POINTS / f"{hash_}{PARTIAL}"

    def _read_partial(self, hash_: str) -> Answer | None:
        path = self._partial_file(hash_)
        try:
            point = read_point(path)
        except FileNotFoundError:
            return None
        except ResultsError as error:
            self._warn(f"{path}: cannot read this partial result, so it is left out ({error})")
            return None
        return {"summary": point["summary"], "tables": point["tables"]}

    def _read_point(self, hash_: str) -> Answer | None:
        path = self._point_file(hash_)
        try:
            point = read_point(path)
        except FileNotFoundError:
            return None
        except ResultsError as error:
            # The file is kept, because it may be the only trace of hours of work.
            aside = path.with_suffix(".damaged")
            self._warn(f"{path}: cannot read this finished point, so it is run again ({error}; kept as {aside.name})")
            path.replace(aside)
            return None
        if "digest" not in point:
            write_point(path, point)
        return {"summary": point["summary"], "tables": point["tables"]}


def lacking(folder: Path, points: Iterable[Point]) -> list[Point]:
    """The points that have no file in a folder, which need not exist."""
    there = _names(folder / POINTS)
    return [point for point in points if f"{point.hash}.json" not in there]


def _names(folder: Path) -> set[str]:
    """The names of all files in a folder, which need not exist."""
    with suppress(OSError):
        return set(os.listdir(folder))
    return set()


def point_row(hash_: str, point: Point, summary: Summary) -> Row:
    """A point as a row of the table of points."""
    return {"point": hash_, **point.columns, **summary_row(summary)}


def points_frame(rows: list[Row]) -> "pl.DataFrame":
    """The table of points."""
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def refuse_other(folder: Path, old: Document, new: Document) -> None:
    """Raises an error if a folder's manifest belongs to another experiment.

    The points of the same experiment may be earlier or further ones.
    """
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
            f"{path}: results of format {manifest['format']}, but this version of phit reads format {FORMAT}: "
            "choose another folder, or delete this one"
        )
    return manifest


_REMEDY = "delete this file and run the same `phit sweep` again: finished points are kept, and tables are made again"


def read_table(folder: Path, file: str = "points.parquet", needed: Iterable[str] = ()) -> "pl.DataFrame":
    """A table of a results folder, with the needed columns."""
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
