"""Puts together the folders of the shards of a sweep, and makes the tables of what is there."""

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
    """What a merged folder holds."""

    points: pl.DataFrame
    """One row per finished point, in the order of the experiment."""
    missing: int
    """Points of the experiment that are in none of the folders."""


def merge(
    out: str | Path, folders: Sequence[str | Path] = (), *, warn: Callable[[str], None] = lambda _: None
) -> Merged:
    """Puts the points of results folders into one, and makes its tables.

    The tables are those of a run of the whole experiment in one folder, bit for bit but for the columns about the
    machine (`cpu_seconds` and others). What stands in `out` already stays; without other folders its tables are made
    of the points that it has.

    Args:
        out: results folder; it is made if it is not there.
        folders: results folders of the same experiment, as the shards of a sweep. They are only read.
        warn: told of points that cannot be used.

    Raises:
        ResultsError: one of these is no results folder, or that of another experiment, or two of them have different
            results of one point.
    """
    target, sources = Path(out), [Path(folder) for folder in folders]
    plans = [read_manifest(folder) for folder in sources or [target]]
    for folder, plan in zip(sources, plans, strict=False):
        if (folder / POINTS).is_symlink():
            raise ResultsError(f"{folder / POINTS}: a link to another place; expected a folder")
        if plan.get("engine") != engine_version():
            raise ResultsError(
                f"{folder}: its engine is {plan.get('engine')}, this one is {engine_version()}; merge it with that one"
            )
    with ResultsFolder(target, warn) as results:
        # Each is compared with what has been taken over before it.
        for plan in plans:
            results.adopt_plan(plan)
        for folder in sources:
            if not target.samefile(folder):
                _take(folder, results, warn)
        results.consolidate()
        missing = results.missing()
    return Merged(read_table(target), missing)


def _take(folder: Path, results: ResultsFolder, warn: Callable[[str], None]) -> None:
    """Takes over the points of a folder, each as it was written."""
    for entry in read_manifest(folder)["points"]:
        path = folder / POINTS / f"{entry['hash']}.json"
        try:
            point = read_point(path)
        except FileNotFoundError:
            continue
        except ResultsError as error:
            warn(f"{path}: this point cannot be read and is left out ({error})")
            continue
        kept = results.point(entry["hash"])
        if kept is None:
            results.keep(point)
        elif _what_counts(kept) != _what_counts(point):
            raise ResultsError(
                f"{path}: {results.folder} has other results of this point: expected the same of all machines"
            )


def _what_counts(point: Document) -> dict[str, Any]:
    """Of a point what no machine may change."""
    summary = {key: value for key, value in point["summary"].items() if key not in MACHINE}
    return {"summary": summary, "tables": point["tables"]}
