"""Tables and plots of a results folder: a short table, CSV, Markdown, and every plot that its tables allow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from phit.base.errors import InputError, PhitError, ResultsError, ScenarioError
from phit.base.files import name_of, write_text
from phit.base.markdown import markdown_table
from phit.base.text import csv_text, in_markdown
from phit.base.times import TimeUnit, unit_of
from phit.document import Document
from phit.document.completing import complete
from phit.document.experiment import Experiment
from phit.document.happenings import Happening, happenings
from phit.document.labels import label_of
from phit.drawing.layout import Layout, layout_of
from phit.drawing.short import readable_cell, short_rows
from phit.store.folder import POINTS, TABLE_FILES, read_manifest, read_table
from phit.store.stored import read_point

MAX_SERIES = 8
"""Maximum number of points whose histograms or time series one figure shows."""


@dataclass(frozen=True)
class Folder:
    """A results folder as read from disk."""

    path: Path
    manifest: Document
    points: pl.DataFrame

    @classmethod
    def read(cls, path: Path) -> "Folder":
        """Reads the manifest and the table of points."""
        manifest = read_manifest(path)
        swept = dict.fromkeys(
            key for entry in manifest["points"] if entry["state"] == "done" for key in entry["values"]
        )
        return cls(path, manifest, read_table(path, needed=["point", *swept]))

    @property
    def swept(self) -> list[str]:
        """Swept keys."""
        return list(dict.fromkeys(key for entry in self.manifest["points"] for key in entry["values"]))

    @property
    def planned(self) -> int:
        """Number of points of the experiment that are missing."""
        return sum(entry["state"] != "done" for entry in self.manifest["points"])

    @property
    def partial(self) -> int:
        """Number of points that were stopped. The table has their measurements so far, marked by `stopped`."""
        return sum(entry["state"] == "partial" for entry in self.manifest["points"])

    def names(self) -> dict[str, str]:
        """A short name of every point."""
        there = [key for key in self.swept if key in self.points.columns]
        shown = [key for key in there if self.points[key].n_unique() > 1] if self.points.height else []
        rows = self.points.select("point", *shown).iter_rows()
        # A key that only other curves set says nothing about this one.
        words = {hash_: [label_of(readable_cell(v)) for v in values if v is not None] for hash_, *values in rows}
        return {hash_: " ".join(parts) or "this run" for hash_, parts in words.items()}


def time_unit(points: pl.DataFrame, longest: Iterable[Any]) -> TimeUnit:
    """The unit for times of these points; `longest` are their longest times in cycles.

    The unit is the cycle if its length is unknown or differs between points.
    """
    known = points["cycle_seconds"].unique().to_list() if "cycle_seconds" in points.columns else [None]
    times = [float(cycles) for cycles in longest if cycles is not None]
    return unit_of(known[0] if len(known) == 1 else None, max(times, default=None))


def markdown(points: pl.DataFrame, swept: Sequence[str]) -> str:
    """The short table in Markdown."""
    headings, rows = short_rows(points, swept)
    return markdown_table(map(in_markdown, headings), (map(in_markdown, row) for row in rows)) + "\n"


def write_tables(folder: Folder) -> list[Path]:
    """Writes the table of points as CSV and the short table as Markdown."""
    contents = {"points.csv": csv_text(folder.points), "points.md": markdown(folder.points, folder.swept)}
    return [write_text(folder.path / name, text) for name, text in contents.items()]


def figures(folder: Folder, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Every plot that the folder's tables allow, by file name without suffix."""
    from phit.drawing import plots, timelapse, tracks

    plot = _settings(folder, settings)
    if folder.points.is_empty():
        raise InputError(f"{folder.path}: no point has finished yet: nothing to plot")
    found: dict[str, Any] = {}
    names = folder.names()
    if plot.get("x") == "cycle":
        y = str(plot.get("y", "latency_mean"))
        return {f"time_series_{y}": _over_time(folder, read_table(folder.path, TABLE_FILES["series"]), y)}
    if "y" in plot:
        found[str(plot["y"])] = plots.load_curves(folder.points, plot["y"], folder.swept, plot)
    elif "x" in plot or folder.points.get_column("traffic.load", default=pl.Series([0])).n_unique() > 1:
        found["latency"] = plots.load_curves(folder.points, "latency_mean", folder.swept, plot)
        found["throughput"] = plots.load_curves(folder.points, "accepted_load", folder.swept, plot)
    if "y" in plot or len(names) > MAX_SERIES:
        return found
    for table, file in TABLE_FILES.items():
        if not (folder.path / file).exists():
            continue
        data = read_table(folder.path, file)
        if table == "series":
            found["time_series"] = _over_time(folder, data, "latency_mean")
            found["time_series_throughput"] = _over_time(folder, data, "accepted_load")
            if data["misrouted"].n_unique() > 1:
                found["time_series_misrouted"] = _over_time(folder, data, "misrouted")
        elif table == "histogram":
            found["histogram"] = plots.histogram(data, names)
        elif table == "links":
            found["links"] = plots.link_utilisation(data, names)
        elif table == "ranks":
            found["ranks"] = tracks.of_ranks(data, names, time_unit(folder.points, [data["finish"].max()]))
        elif table == "tracks":
            found["tracks"] = tracks.of_tracks(data, names, time_unit(folder.points, [data["end"].max()]))
        elif table == "probes" and (lapse := timelapse.of_probes(data, names, _layout(folder))):
            found["timelapse"] = lapse
    return found


def _over_time(folder: Folder, series: pl.DataFrame, y: str) -> Any:
    """A quantity of the time series, with the events of the runs."""
    from phit.drawing import plots

    unit = time_unit(folder.points, [series["cycle"].max()])
    return plots.time_series(series, y, folder.names(), _happened(folder), unit)


def _happened(folder: Folder) -> list[Happening]:
    """The events of the runs of all points, without duplicates."""
    found: dict[Happening, None] = {}
    for hash_ in folder.points["point"]:
        try:
            summary = read_point(folder.path / POINTS / f"{hash_}.json")["summary"]
        except (ResultsError, OSError):
            continue
        found |= dict.fromkeys(happenings(summary.get("scenario", {})))
    return list(found)


def _settings(folder: Folder, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings for drawing the folder's points."""
    return {**folder.manifest.get("plot", {}), **(settings or {})}


def curve_tables(folder: Folder, settings: Mapping[str, Any] | None = None) -> dict[str, pl.DataFrame]:
    """The data of the plots of curves as tables, by file name without suffix: means and intervals by curve."""
    from phit.drawing import plots

    plot = _settings(folder, settings)
    if folder.points.is_empty():
        raise InputError(f"{folder.path}: no point has finished yet: nothing to tabulate")
    if plot.get("x") == "cycle":
        raise InputError("--format csv: `series.parquet` is the table of quantities over time")
    shown = (
        {str(plot["y"]): str(plot["y"])} if "y" in plot else {"latency": "latency_mean", "throughput": "accepted_load"}
    )
    return {stem: plots.curve_table(folder.points, y, folder.swept, plot) for stem, y in shown.items()}


def _layout(folder: Folder) -> Layout | None:
    """The layout of the network that all points share; `None` if they have several networks."""
    values = [entry["values"] for entry in folder.manifest["points"] if entry["state"] == "done"]
    if not values or any(key.partition(".")[0] == "topology" for one in values for key in one):
        return None
    base = Experiment(str(folder.manifest.get("name", "")), folder.manifest.get("scenario", {}), {}, {})
    try:
        return layout_of(complete(base.document(values[0])))
    except (ScenarioError, PhitError, ValueError):
        return None


def write_figures(
    folder: Folder,
    settings: Mapping[str, Any] | None = None,
    formats: Sequence[str] = ("png", "svg", "html"),
    into: Path | None = None,
) -> list[Path]:
    """Writes every plot that the folder's tables allow."""
    from phit.drawing import plots

    target = into or folder.path / "plots"
    pictures = [name for name in formats if name != CSV]
    try:
        drawn = figures(folder, settings) if pictures else {}
        tables = curve_tables(folder, settings) if CSV in formats else {}
    except pl.exceptions.PolarsError as error:
        raise ResultsError(f"{folder.path}: its tables cannot be drawn ({' '.join(str(error).split())})") from None
    return [
        *(path for stem, chart in drawn.items() for path in plots.save(chart, target / name_of(stem), pictures)),
        *(write_text(_made(target) / f"{name_of(stem)}.{CSV}", csv_text(table)) for stem, table in tables.items()),
    ]


CSV = "csv"
"""The name of the format for tables."""


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
