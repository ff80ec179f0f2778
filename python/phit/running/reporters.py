"""Chooses the form of progress reports for standard error."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from phit.base.text import plain
from phit.document.experiment import Point
from phit.running.progress import PlainReporter, Reporter, RunLines, line

if TYPE_CHECKING:
    # This module takes longer to import than many commands take.
    from phit.running.bars import RunBar


class NotebookReporter(Reporter):
    """A progress bar below the cell of a notebook."""

    def __init__(self) -> None:
        super().__init__()
        from IPython import display

        self._display = display.display
        self._html = display.HTML
        self._handle: Any = None
        self._name = ""
        self._shown = 0.0

    def begin(self, name: str, points: list[Point], kept: int) -> None:
        super().begin(name, points, kept)
        self._name = f"{name} ({kept} points already there)" if kept else name
        self._handle = self._display(self._html(self.bar()), display_id=True)

    def shares(self, shares: Mapping[int, float]) -> None:
        super().shares(shares)
        self._show()

    def finished(self, index: int, point: Point, summary: dict[str, Any] | None) -> None:
        super().finished(index, point, summary)
        self._show(over=self.finished_points == len(self.points))

    def bar(self) -> str:
        """The bar as HTML."""
        import html

        over = self.finished_points == len(self.points)
        rest = "" if over else f", {html.escape(self.left)}"
        return (
            f"{html.escape(plain(self._name))} <progress max='1' value='{self.fraction:.3f}'></progress> "
            f"{self.finished_points} of {len(self.points)} points{rest}"
        )

    def _show(self, *, over: bool = False) -> None:
        now = time.monotonic()
        if self._handle is not None and (over or now - self._shown > 0.5):
            self._shown = now
            self._handle.update(self._html(self.bar()))

    def say(self, message: str) -> None:
        line(message)

    def warn(self, message: str) -> None:
        line(f"phit: warning: {message}")


def reporter(show: bool) -> Reporter:
    """The reporter for the current standard error, or a silent one."""
    if not show:
        return Reporter()
    if _in_notebook():
        return NotebookReporter()
    if not sys.stderr.isatty():
        return PlainReporter()
    from phit.base.terminal import terminal
    from phit.running.bars import BarReporter

    console = terminal(stderr=True)
    return BarReporter(console) if console.is_terminal else PlainReporter()


def run_progress() -> "RunBar | RunLines":
    """A callback that shows the progress of a single run on standard error."""
    if not sys.stderr.isatty():
        return RunLines()
    from phit.running.bars import RunBar

    return RunBar()


def _in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
