"""The data of a report: a results folder with its scenarios and tables, as far as they exist."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from phit.base.errors import InputError, ResultsError
from phit.base.times import TimeUnit
from phit.document import Document
from phit.document.experiment import heading
from phit.document.labels import label_of
from phit.document.paths import flatten
from phit.drawing import plots
from phit.drawing.report import Folder, time_unit
from phit.drawing.short import readable_cell
from phit.store.folder import POINTS, TABLE_FILES, read_table
from phit.store.stored import read_point


@dataclass(frozen=True)
class Source:
    """Results to report on. Points are numbered in the order of `points`."""

    folder: Folder

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Reads a results folder. Raises `InputError` if no point has finished."""
        folder = Folder.read(path)
        if folder.points.is_empty():
            raise InputError(f"{path}: no point has finished yet: nothing to report")
        return cls(folder)

    @property
    def points(self) -> pl.DataFrame:
        """One row per finished point."""
        return self.folder.points

    def time_unit(self, longest: Iterable[Any]) -> TimeUnit:
        """The unit for times of all points, whose `longest` times are in cycles; cycles if points differ."""
        return time_unit(self.points, longest)

    @property
    def manifest(self) -> Document:
        """The manifest of the folder."""
        return self.folder.manifest

    @property
    def title(self) -> str:
        """The title of the page."""
        return str(self.manifest.get("plot", {}).get("title") or self.manifest.get("name") or self.folder.path.name)

    @cached_property
    def summaries(self) -> list[dict[str, Any]]:
        """The summary of each point with its complete scenario; empty if its file is missing."""
        return [self._summary(hash_) for hash_ in self.points["point"]]

    def _summary(self, hash_: str) -> dict[str, Any]:
        try:
            summary: dict[str, Any] = read_point(self.folder.path / POINTS / f"{hash_}.json")["summary"]
        except (ResultsError, OSError):
            return {}
        return summary

    @property
    def scenarios(self) -> list[Document]:
        """The complete scenario of each point; empty if its file is missing."""
        return [summary.get("scenario", {}) for summary in self.summaries]

    @cached_property
    def common(self) -> dict[str, Any]:
        """Keys of the scenarios, by dotted path, with one value in all points."""
        first, *others = [dict(flatten(scenario)) for scenario in self.scenarios if scenario] or [{}]
        return {k: v for k, v in first.items() if all(k in other and other[k] == v for other in others)}

    def differences(self) -> list[dict[str, Any]]:
        """The remaining keys of each point's scenario."""
        return [{k: v for k, v in flatten(scenario) if k not in self.common} for scenario in self.scenarios]

    @cached_property
    def varying(self) -> list[str]:
        """Swept keys that have several values."""
        return [key for key in self.folder.swept if key in self.points.columns and self.points[key].n_unique() > 1]

    @cached_property
    def curves(self) -> pl.DataFrame | None:
        """The points on curves, by their number `at`, with `x`, `series` and `panel`; `None` without curves."""
        plot = self.manifest.get("plot", {})
        try:
            drawn = plots.series_of(self.points, self.folder.swept, plot)
        except InputError:
            return None
        placed = drawn.with_row_index("at").filter(pl.col("x").is_not_null())
        return placed if placed["x"].n_unique() > 1 else None

    @cached_property
    def names(self) -> list[str]:
        """A short name of each point."""
        if not self.varying:
            return ["this run"] * self.points.height
        rows = self.points.select(self.varying).iter_rows()
        return [", ".join(self._named(cells)) for cells in rows]

    def _named(self, cells: tuple[Any, ...]) -> Iterator[str]:
        for key, cell in zip(self.varying, cells, strict=True):
            if cell is None:
                continue
            text = label_of(readable_cell(cell))
            yield f"{heading(key)} {text}" if isinstance(cell, int | float) else text

    def table(self, name: str) -> pl.DataFrame | None:
        """A table of all points, with the number of the point as `at`; `None` if the scenario did not request it."""
        file = TABLE_FILES[name]
        if not (self.folder.path / file).exists():
            return None
        table = read_table(self.folder.path, file, needed=["point"])
        at = pl.DataFrame({"point": self.points["point"], "at": range(self.points.height)})
        found = table.join(at, on="point", how="inner", maintain_order="left")
        return found if found.height else None


def points_in(table: pl.DataFrame) -> list[int]:
    """Numbers of the points that have rows in a table, in their order."""
    found: list[int] = table["at"].unique().sort().to_list()
    return found


def rows_of(table: pl.DataFrame, kept: Collection[int]) -> dict[int, pl.DataFrame]:
    """The rows of each of these points in a table, by the number of the point."""
    own = table.filter(pl.col("at").is_in(list(kept)))
    return {int(at): rows for (at, *_), rows in own.partition_by("at", as_dict=True, maintain_order=True).items()}


def spread(items: list[int], most: int) -> list[int]:
    """At most `most` of these items at equal distances, including the first and the last."""
    if len(items) <= most:
        return items
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)] if most > 1 else items[-1:]
