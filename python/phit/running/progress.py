"""Progress of long work: a bar with the time left on a terminal or in a notebook, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from phit.base.durations import duration
from phit.base.numbers import readable
from phit.base.text import plain
from phit.document.experiment import Point, heading, label

SILENCE = 5.0
"""Seconds after which somebody who waits gets a line on a terminal."""

QUIET = 10.0
"""Seconds between two lines where a log keeps every line."""


class Reporter:
    """Follows the progress of a list of points. This base class reports nothing."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.finished_points = 0
        self._shares: dict[int, float] = {}
        self._ended: list[int] = []
        self._work_done = 0.0
        self._start = self._told = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def checking(self, number: int) -> None:
        """Reports that `number` points have been checked, with a line every few seconds."""
        now = time.monotonic()
        if now - self._told > SILENCE:
            self._told = now
            self.say(f"{number:,} points checked")

    def say(self, message: str) -> None:
        """Reports what is being done."""

    def begin(self, name: str, points: list[Point], kept: int) -> None:  # noqa: ARG002
        """Receives the points that are about to run, and the number of points that are already kept."""
        self.points = points
        self._start = time.monotonic()

    def shares(self, shares: Mapping[int, float]) -> None:
        """Receives the share that is done of each running point, by position."""
        self._shares.update(shares)

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:  # noqa: ARG002
        """Receives one finished point; without a summary, it failed."""
        self._shares.pop(index, None)
        self._ended.append(index)
        self.finished_points += 1

    def warn(self, message: str) -> None:
        """Reports a warning."""

    def close(self) -> None:
        """Ends the report."""

    @property
    def fraction(self) -> float:
        """Share of the expected work that is done."""
        points, total = self.points, self._work
        while self._ended:
            self._work_done += points[self._ended.pop()].work
        running = sum(points[i].work * share for i, share in self._shares.items())
        return (self._work_done + running) / total if total else 1.0

    @cached_property
    def _work(self) -> float:
        """Expected work of all points, computed on first use, because each point takes some time."""
        return sum(point.work for point in self.points)

    @property
    def left(self) -> str:
        """Expected time left, as soon as there is a basis for an estimate."""
        elapsed = time.monotonic() - self._start
        # A short sweep is not estimated: the estimate would take longer than the sweep.
        fraction = self.fraction if elapsed >= 1 else 0.0
        if fraction <= 0:
            return "estimating"
        return f"about {duration(elapsed * (1 - fraction) / fraction)} left"


def describe(point: Point) -> str:
    """The swept keys of a point in words."""
    return " ".join(f"{heading(key)}={label(value)}" for key, value in point.values.items()) or "one point"


def outcome(summary: dict[str, Any] | None) -> str:
    """The result of a point in words."""
    if summary is None:
        return "failed"
    accepted, latency = readable(summary.get("accepted_load")), readable(summary.get("latency_mean"))
    return f"accepted {accepted} phits/(endpoint·cycle), latency {latency} cycles"


class PlainReporter(Reporter):
    """Writes one line for each point to standard error, and one now and then while none has finished."""

    def shares(self, shares: Mapping[int, float]) -> None:
        super().shares(shares)
        now = time.monotonic()
        if now - self._told > QUIET:
            self._told = now
            line(f"{self.finished_points} of {len(self.points)} points, {self.fraction:.0%} of the work ({self.left})")

    def begin(self, name: str, points: list[Point], kept: int) -> None:
        super().begin(name, points, kept)
        there = f", {kept} already there" if kept else ""
        line(f"{name}: {len(points)} points to run{there}")

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:
        super().finished(index, point, summary)
        self._told = time.monotonic()
        rest = f" ({self.left})" if self.finished_points < len(self.points) else ""
        line(f"[{self.finished_points}/{len(self.points)}] {describe(point)}: {outcome(summary)}{rest}")

    def say(self, message: str) -> None:
        line(message)

    def warn(self, message: str) -> None:
        line(f"phit: warning: {message}")


def line(text: str) -> None:
    """Writes a line to standard error."""
    print(plain(text), file=sys.stderr, flush=True)


class RunLines:
    """Progress of a single run as plain lines, one now and then. Call it with the cycles done and planned."""

    def __init__(self) -> None:
        self._start = self._told = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def __call__(self, done: int, planned: int) -> None:
        now = time.monotonic()
        if now - self._told > QUIET:
            self._told = now
            left = f" (about {duration((now - self._start) * (planned - done) / done)} left)" if done else ""
            line(f"{done:,} of {planned:,} cycles{left}" if done else "building the network")


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Reports on standard error what goes on and for how long, if it takes more than a moment.

    The context yields a function that changes the reported words. The time left is unknown.
    """
    now = [what]
    over = threading.Event()
    start = time.monotonic()
    on_terminal = sys.stderr.isatty()
    every = 0.5 if on_terminal else QUIET

    def show() -> None:
        shown = False
        while not over.wait(every):
            elapsed = time.monotonic() - start
            if on_terminal and elapsed >= SILENCE / 2:
                shown = True
                print(f"\r{ERASE}{plain(now[0])}: {duration(elapsed)}", end="", file=sys.stderr, flush=True)
            elif not on_terminal:
                line(f"{now[0]}: {duration(elapsed)} so far")
        if shown:
            print(f"\r{ERASE}", end="", file=sys.stderr, flush=True)

    teller = threading.Thread(target=show, daemon=True)
    teller.start()
    try:
        yield lambda words: now.__setitem__(0, words)
    finally:
        over.set()
        teller.join()


ERASE = "\x1b[2K"
"""Clears the line of a terminal."""
