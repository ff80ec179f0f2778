"""Progress of long work: a bar with the time left on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from phit.experiment import Point, heading, label
from phit.result import readable
from phit.text import plain, plain_lines


class PlainConsole(Console):
    """A console to which text is text: no markup, no emoji, no control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        options |= {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(plain_lines(text), **options)


def terminal(stderr: bool = False) -> Console:
    """The terminal, or what stands in its place."""
    return PlainConsole(stderr=stderr, highlight=False, markup=False, emoji=False)


def duration(seconds: float) -> str:
    """A time for people: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


SILENCE = 5.0
"""Seconds after which somebody who waits is told something."""


class Reporter:
    """Follows a list of points; this one says nothing."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.finished_points = 0
        self._done: set[int] = set()
        self._shares: list[float] = []
        self._start = self._told = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def checking(self, number: int) -> None:
        """So many points have been looked at: a line every few seconds, where there are many."""
        now = time.monotonic()
        if now - self._told > SILENCE:
            self._told = now
            self.say(f"{number:,} points checked")

    def say(self, message: str) -> None:
        """A line on what is being done."""

    def begin(self, name: str, points: list[Point], kept: int) -> None:  # noqa: ARG002
        """The points that are about to run, and how many others are there already."""
        self.points = points
        self._shares = [0.0] * len(points)
        self._start = time.monotonic()

    def shares(self, shares: Any) -> None:
        """Which share of each point is done, by position."""
        for i, share in enumerate(shares):
            if i not in self._done:
                self._shares[i] = share

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:  # noqa: ARG002
        """One point is done (without a summary: it failed)."""
        self._done.add(index)
        self._shares[index] = 1.0
        self.finished_points += 1

    def warn(self, message: str) -> None:
        """Something that a person should know."""

    def close(self) -> None:
        """No more will come."""

    @property
    def fraction(self) -> float:
        """Share of the expected work that is done."""
        total = sum(point.work for point in self.points)
        done = sum(point.work * share for point, share in zip(self.points, self._shares, strict=True))
        return done / total if total else 1.0

    @property
    def left(self) -> str:
        """Expected time left, once there is something to tell it from."""
        elapsed, fraction = time.monotonic() - self._start, self.fraction
        if fraction <= 0 or elapsed < 1:
            return "estimating"
        return f"about {duration(elapsed * (1 - fraction) / fraction)} left"


def describe(point: Point) -> str:
    """The swept keys of a point in words."""
    return " ".join(f"{heading(key)}={label(value)}" for key, value in point.values.items()) or "one point"


def outcome(summary: dict[str, Any] | None) -> str:
    """What came out of a point, in words."""
    if summary is None:
        return "failed"
    accepted, latency = readable(summary.get("accepted_load")), readable(summary.get("latency_mean"))
    return f"accepted {accepted} phits/(endpoint·cycle), latency {latency} cycles"


class PlainReporter(Reporter):
    """One line per point on standard error."""

    def begin(self, name: str, points: list[Point], kept: int) -> None:
        super().begin(name, points, kept)
        there = f", {kept} already there" if kept else ""
        _line(f"{name}: {len(points)} points to run{there}")

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:
        super().finished(index, point, summary)
        rest = f" ({self.left})" if self.finished_points < len(self.points) else ""
        _line(f"[{self.finished_points}/{len(self.points)}] {describe(point)}: {outcome(summary)}{rest}")

    def say(self, message: str) -> None:
        _line(message)

    def warn(self, message: str) -> None:
        _line(f"phit: warning: {message}")


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

    def begin(self, name: str, points: list[Point], kept: int) -> None:
        super().begin(name, points, kept)
        if kept:
            self._progress.console.print(f"{name}: {kept} points already there")
        self._progress.update(self._task, description=plain(name), total=len(points), visible=True)
        self._progress.start()
        self._show()

    def shares(self, shares: Any) -> None:
        super().shares(shares)
        self._show()

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:
        super().finished(index, point, summary)
        self._progress.console.print(Text.assemble((plain(describe(point)), "dim"), "  ", outcome(summary)))
        self._show()

    def _show(self) -> None:
        over = self.finished_points == len(self.points)
        self._progress.update(
            self._task,
            completed=self.finished_points,
            share=f"{self.fraction:4.0%}",
            left="" if over else self.left,
        )

    def say(self, message: str) -> None:
        self._progress.console.print(plain(message))

    def warn(self, message: str) -> None:
        self._progress.console.print(Text.assemble(("phit: warning:", "yellow"), " ", plain(message)))

    def close(self) -> None:
        self._progress.stop()


class RunProgress:
    """Progress of a single run: a bar on a terminal, nothing elsewhere. Call it with cycles done and planned."""

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


def _line(text: str) -> None:
    print(plain(text), file=sys.stderr, flush=True)


def reporter(show: bool) -> Reporter:
    """The reporter that fits standard error, or a silent one."""
    if not show:
        return Reporter()
    console = terminal(stderr=True)
    return BarReporter(console) if console.is_terminal else PlainReporter()
