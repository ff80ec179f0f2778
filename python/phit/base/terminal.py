"""A terminal that writes text as text."""

from typing import Any

from rich.console import Console
from rich.text import Text

from phit.base.text import plain_lines


class PlainConsole(Console):
    """A console to which text is text: no markup, no emoji, no control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        options |= {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(plain_lines(text), **options)


def terminal(stderr: bool = False) -> Console:
    """The terminal, or what stands in its place."""
    return PlainConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
