"""Progress of a running sweep, read from its results folder only."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from rich import box
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from phit.base.durations import duration
from phit.base.errors import InputError, ResultsError
from phit.base.numbers import readable
from phit.base.text import plain
from phit.document.experiment import Point
from phit.drawing.reporting.saturation import Curve, curves_of
from phit.running.progress import describe, outcome
from phit.store.folder import POINTS, point_row, points_frame, read_manifest
from phit.store.stored import read_point

BARS = "▁▂▃▄▅▆▇█"
"""Bars from low to high."""

LATEST = 5
"""Number of points that are listed: those that finished last."""

RECENT = 120.0
"""Seconds over which the rate is measured."""


class Watched:
    """A results folder to which another process writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows: dict[str, dict[str, Any]] = {}
        self._finished: dict[str, float] = {}
        self._words: dict[str, str] = {}
        self._planned: list[dict[str, Any]] = []
        self._plot: dict[str, Any] = {}
        self._name = ""

    def look(self) -> None:
        """Reads new points. Raises `ResultsError` if this is no results folder."""
        manifest = read_manifest(self.folder)
        self._planned, self._plot = manifest["points"], manifest.get("plot", {})
        self._name = str(manifest.get("name", self.folder.name))
        for entry in self._planned:
            hash_ = entry["hash"]
            path = self.folder / POINTS / f"{hash_}.json"
            if hash_ in self._rows:
                continue
            try:
                finished = path.stat().st_mtime
                summary = read_point(path)["summary"]
            except (OSError, ResultsError):
                # The point is not finished, or its file is damaged, which its writer will mend.
                continue
            point = Point(entry["values"], summary["scenario"])
            self._rows[hash_] = point_row(hash_, point, summary)
            self._finished[hash_] = finished
            self._words[hash_] = f"{describe(point)}: {outcome(summary)}"

    @property
    def over(self) -> bool:
        """Whether every point has finished."""
        return len(self._rows) == len(self._planned)

    def rate(self, now: float | None = None) -> float | None:
        """Points per second in the recent past; `None` if none has finished."""
        now = time.time() if now is None else now
        recent = [then for then in self._finished.values() if now - then < RECENT]
        if not recent:
            return None
        return len(recent) / max(1.0, now - min(recent))

    def shown(self) -> Iterator[RenderableType]:
        """The state for a terminal."""
        done, planned = len(self._rows), len(self._planned)
        line = Text.assemble((plain(self._name), "bold"), f"  {done:,} of {planned:,} points")
        rate = None if self.over else self.rate()
        if rate is not None:
            line.append(
                f"  {readable(60 * rate)} a minute, about {duration((planned - done) / rate)} left at this rate"
            )
        elif not self.over:
            line.append(f"  none in the last {duration(RECENT)}", style="yellow")
        yield line
        yield ProgressBar(total=max(planned, 1), completed=done, width=60)
        if (table := self._curves()) is not None:
            yield table
        latest = sorted(self._finished, key=lambda hash_: self._finished[hash_])[-LATEST:]
        for hash_ in latest:
            yield Text(plain(self._words[hash_]), style="dim")

    def _curves(self) -> Table | None:
        """A line per curve: accepted over offered load, its saturation, and its smallest latency."""
        order = [self._rows[entry["hash"]] for entry in self._planned if entry["hash"] in self._rows]
        points = points_frame(order)
        if points.is_empty():
            return None
        from phit.drawing.plots import series_of

        swept = list(dict.fromkeys(key for entry in self._planned for key in entry["values"]))
        try:
            drawn = series_of(points, swept, self._plot)
        except InputError:
            return None
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("curve", "accepted", "most", "latency", "saturates"):
            right = name in ("most", "latency")
            table.add_column(name, header_style="bold", justify="right" if right else "left", no_wrap=name != "curve")
        most = _top(drawn)
        for curve in curves_of(drawn):
            words = ", ".join(part for part in (curve.panel, curve.name) if part)
            cells = [plain(words), sparkline(curve, most), readable(curve.accepted), readable(curve.latency)]
            table.add_row(*cells, curve.words if curve.saturated is not None else "not yet")
        return table


def _top(points: pl.DataFrame) -> float:
    if "accepted_load" not in points.columns:
        return 0.0
    return float(points["accepted_load"].cast(pl.Float64).max() or 0.0)  # type: ignore[arg-type]


def sparkline(curve: Curve, most: float) -> str:
    """A bar for each load of a curve, as high as the accepted load; `most` is the highest bar."""
    if not most:
        return ""
    last = len(BARS) - 1
    return "".join("·" if value is None else BARS[round(last * max(0.0, value / most))] for _, value in curve.loads)
