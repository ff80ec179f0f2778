"""Output of commands: standard output, standard error and exit statuses."""

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from phit.base.errors import failure
from phit.base.left_out import in_words
from phit.base.text import WIDTH, plain_lines

if TYPE_CHECKING:
    # This library takes longer to import than many commands take.
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


FAILED, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
"""Exit statuses."""


def out(text: "str | RenderableType") -> None:
    """Writes to standard output. Ends quietly if its reader has closed it."""
    if not isinstance(text, str):
        from phit.base.terminal import terminal

        console = terminal()
        if not console.is_terminal:
            console.width = WIDTH
        with console.capture() as capture:
            console.print(text)
        text = "\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n"))
    else:
        text = plain_lines(text)
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except OSError as error:
        raise failure(f"standard output: cannot be written ({error.strerror})") from None


def table(**look: Any) -> "Table":
    """A table for `out`."""
    from rich.table import Table

    return Table(**look)


def cell(text: str) -> "Text":
    """A cell with plain text, whatever it looks like."""
    from rich.text import Text

    return Text(text)


def note(text: str) -> None:
    """Writes a line to standard error."""
    with suppress(OSError):
        print(plain_lines(text), file=sys.stderr, flush=True)


def note_left_out(rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes the things that the reader of a file has left out to standard error."""
    for line in in_words(rows):
        note(f"phit: warning: {line}")
