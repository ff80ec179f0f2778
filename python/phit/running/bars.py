"""Progress bars on a terminal."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from phit.base.durations import duration
from phit.base.terminal import terminal
from phit.base.text import plain
from phit.document.experiment import Point
from phit.running.progress import Reporter, describe, outcome

SHOWN_SECONDS = 0.1
"""Seconds between two updates of a bar while points finish quickly."""


class BarReporter(Reporter):
    """A bar on a terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("[progress.elapsed]{task.fields[share]}"),
            TimeElapsedColumn(),
            TextColumn("[progress.remaining]{task.fields[left]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=None, visible=False, left="", share="")

        self._lines: list[Text] = []
        self._shown = 0.0

    def begin(self, name: str, points: list[Point], kept: int) -> None:
        super().begin(name, points, kept)
        if kept:
            self._progress.console.print(f"{name}: {kept} points already there")
        self._progress.update(self._task, description=plain(name), total=len(points), visible=True)
        self._progress.start()
        self._show()

    def shares(self, shares: Mapping[int, float]) -> None:
        super().shares(shares)
        self._show()

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:
        super().finished(index, point, summary)
        self._lines.append(Text.assemble((plain(describe(point)), "dim"), "  ", outcome(summary)))
        over = self.finished_points == len(self.points)
        if over or time.monotonic() - self._shown > SHOWN_SECONDS:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._tell()
        over = self.finished_points == len(self.points)
        self._progress.update(
            self._task,
            completed=self.finished_points,
            share=f"{self.fraction:4.0%}",
            left="" if over else self.left,
        )

    def _tell(self) -> None:
        """Writes the lines of finished points together, because each write redraws the bar."""
        if self._lines:
            self._progress.console.print(Text("\n").join(self._lines))
            self._lines.clear()

    def say(self, message: str) -> None:
        self._tell()
        self._progress.console.print(plain(message))

    def warn(self, message: str) -> None:
        self._tell()
        self._progress.console.print(Text.assemble(("phit: warning:", "yellow"), " ", plain(message)))

    def close(self) -> None:
        self._tell()
        self._progress.stop()


class RunBar:
    """A progress bar of a single run. Call it with the cycles done and planned."""

    def __init__(self) -> None:
        console = terminal(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} cycles"),
            TimeElapsedColumn(),
            TextColumn("[progress.remaining]{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("building", total=1, left="")
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, done: int, planned: int) -> None:
        elapsed = time.monotonic() - self._start
        left = f"about {duration(elapsed * (planned - done) / done)} left" if done and elapsed > 1 else ""
        what = "simulating" if done else "building"
        self._progress.update(self._task, description=what, completed=done, total=max(planned, 1), left=left)
