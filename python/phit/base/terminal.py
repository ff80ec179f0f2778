"""A terminal that prints text without interpreting it."""

from typing import Any

from rich.console import Console
from rich.text import Text

from phit.base.text import plain_lines


class PlainConsole(Console):
    """A console that interprets no markup, no emoji and no control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        options |= {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(plain_lines(text), **options)


def terminal(stderr: bool = False) -> Console:
    """A plain console on standard output or standard error."""
    return PlainConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
