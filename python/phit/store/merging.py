"""Merges the results folders of the shards of a sweep, and makes tables of their points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from phit.base.errors import ResultsError
from phit.document import Document
from phit.document.identity import engine_version
from phit.store.folder import POINTS, ResultsFolder, read_manifest, read_table
from phit.store.quantities import MACHINE
from phit.store.stored import read_point


@dataclass(frozen=True)
class Merged:
    """The content of a merged folder."""

    points: pl.DataFrame
    """One row per finished point, in the order of the experiment."""
    missing: int
    """Points of the experiment that are in none of the folders."""


def merge(
    out: str | Path, folders: Sequence[str | Path] = (), *, warn: Callable[[str], None] = lambda _: None
) -> Merged:
    """Merges the points of results folders into one folder, and makes its tables.

    The tables equal those of a run of the whole experiment in one folder, bit for bit, except for the columns about the
    machine (`cpu_seconds` and others). Points that are already in `out` stay. Without other folders, the tables are
    made from the points in `out`.

    Args:
        out: results folder; it is created if missing.
        folders: results folders of the same experiment, such as the shards of a sweep. They are only read. They are
            only read.
        warn: receives warnings about points that cannot be used.

    Raises:
        ResultsError: a folder is no results folder, or belongs to another experiment, or two folders have different
            results for one point.
    """
    target, sources = Path(out), [Path(folder) for folder in folders]
    plans = [read_manifest(folder) for folder in sources or [target]]
    for folder, plan in zip(sources, plans, strict=False):
        if (folder / POINTS).is_symlink():
            raise ResultsError(f"{folder / POINTS}: a link to another place; expected a folder")
        if plan.get("engine") != engine_version():
            raise ResultsError(
                f"{folder}: its engine is {plan.get('engine')}, but this one is {engine_version()}; use that one"
            )
    with ResultsFolder(target, warn) as results:
        # Each plan is compared with those already merged.
        for plan in plans:
            results.adopt_plan(plan)
        for folder in sources:
            if not target.samefile(folder):
                _take(folder, results, warn)
        results.consolidate()
        missing = results.missing()
    return Merged(read_table(target), missing)


def _take(folder: Path, results: ResultsFolder, warn: Callable[[str], None]) -> None:
    """Merges the points of a folder, each exactly as it was written."""
    for entry in read_manifest(folder)["points"]:
        path = folder / POINTS / f"{entry['hash']}.json"
        try:
            point = read_point(path)
        except FileNotFoundError:
            continue
        except ResultsError as error:
            warn(f"{path}: cannot read this point, so it is left out ({error})")
            continue
        kept = results.point(entry["hash"])
        if kept is None:
            results.keep(point)
        elif _what_counts(kept) != _what_counts(point):
            raise ResultsError(
                f"{path}: {results.folder} has other results for this point: expected equal results on all machines"
            )


def _what_counts(point: Document) -> dict[str, Any]:
    """The part of a point that does not depend on the machine."""
    summary = {key: value for key, value in point["summary"].items() if key not in MACHINE}
    return {"summary": summary, "tables": point["tables"]}
