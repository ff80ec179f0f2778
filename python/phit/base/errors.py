"""Errors that a user can cause, each with a one-line message that says what to do."""

from collections.abc import Sequence
from pathlib import Path

from phit._phit import PhitError, ScenarioError
from phit.base.text import shortened

__all__ = ["InputError", "PhitError", "ResultsError", "ScenarioError", "SimulationError"]


MOST_LINES = 20
"""Maximum number of errors that are shown for one document."""


class InputError(PhitError):
    """A document, key or option that cannot be used."""

    def __init__(self, message: str, path: str | None = None) -> None:
        super().__init__(shortened(message))
        self.path = path
        """Dotted path of the key, if the error is about one."""
        self.file: Path | None = None
        """The file of the document, if it came from one."""
        self.line: int | None = None
        """The line of the key in the file, if it is known."""


class ResultsError(PhitError):
    """A results folder that cannot be read, written or shared."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class SimulationError(PhitError):
    """Points of a sweep that were valid but could not be simulated to the end."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


def failure(message: str) -> PhitError:
    """A plain `PhitError` with a message of limited length; `PhitError` itself does not limit its message."""
    return PhitError(shortened(message))


def one_line(error: BaseException) -> str:
    """The message of `error` without line breaks."""
    return "; ".join(each_line(error))


def each_line(error: BaseException) -> list[str]:
    """The messages of `error`: one, or one for each error that was found in a document."""
    errors: Sequence[BaseException] = getattr(error, "errors", ()) if isinstance(error, ValueError) else ()
    shown = [shortened(" ".join(str(one).split())) or type(one).__name__ for one in (errors or (error,))[:MOST_LINES]]
    return shown + [f"and {len(errors) - MOST_LINES:,} more errors"] * (len(errors) > MOST_LINES)
