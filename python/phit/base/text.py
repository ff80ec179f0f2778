"""Makes text from files harmless where it is shown: terminal, chart, CSV, Markdown or message.

Invisible characters and characters that could steer a terminal are written as JSON escapes. All output of the package
goes through here, because anybody may have written a text that is shown.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

LONGEST_QUOTE = 80
"""Maximum number of characters of a value that a message quotes."""

LONGEST_MESSAGE = 2000
"""Maximum number of characters of a message; a longer one loses its middle."""

LONGEST_TEXT = 4096
"""Maximum number of characters of a text in a scenario, for example of a path."""

WIDTH = 160
"""Width of a table in characters where the terminal has none."""

MOST_DIGITS = 18
"""Maximum number of digits of a whole number in a file; longer ones are taken for no number."""

_NEITHER = "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\ufdd0-\ufdef"
    f"\U000e0000-\U000e007f{_NEITHER}]"
)
"""Characters that text should not have: controls, marks that change its direction, surrogates and non-characters."""

_BUT_BREAKS = re.compile(rf"(?![\n\t]){HIDDEN.pattern}")

FORMULA = ("=", "+", "-", "@")
"""Characters at the beginning of a cell that make a spreadsheet read a formula."""


def _visible(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def plain(text: str) -> str:
    """One line of text, in which every invisible character, line breaks included, is a JSON escape."""
    return HIDDEN.sub(_visible, text)


def plain_lines(text: str) -> str:
    """Text of several lines, in which every invisible character except line breaks and tabs is a JSON escape."""
    return _BUT_BREAKS.sub(_visible, text)


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """The text; if it is longer than `most`, its beginning and end with the number of characters left out."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}… {len(text) - 2 * half:,} characters left out …{text[-half:]}"


def quoted(value: Any) -> str:
    """A value as a message shows it, shortened."""
    return plain(shortened(repr(value), LONGEST_QUOTE))


def whole(text: str) -> int | None:
    """The whole number that `text` spells in at most 18 decimal digits, or `None`."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS else None


def first_sentence(text: str) -> str:
    """The first sentence of a description, without its full stop."""
    line = " ".join(text.split("\n\n")[0].split())
    # The full stop of an initial ("M. Smith") or of "et al." ends no sentence.
    return re.split(r"(?<!\b[A-Z])(?<!\bal)\. ", line)[0].rstrip(".")


def harmless(description: Any) -> Any:
    """A chart's description in which all texts and names are harmless."""
    if isinstance(description, str):
        return plain(description)
    if isinstance(description, Mapping):
        return {plain(key): harmless(value) for key, value in description.items()}
    if isinstance(description, list):
        return [harmless(value) for value in description]
    return description


def in_script(description: Any) -> str:
    """JSON for a script in an HTML page: no text in it can end the script."""
    return json.dumps(description, separators=(",", ":")).replace("<", "\\u003c")


def in_markdown(text: str) -> str:
    """Text for Markdown, shown literally: HTML, links, images and code are escaped."""
    entities = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]])", r"\\\1", plain(entities))


def in_csv(text: str) -> str:
    """A CSV cell that no spreadsheet reads as a formula: unless it is a number, it gets an apostrophe in front."""
    text = plain(text)
    if not text.startswith(FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def csv_text(table: "pl.DataFrame") -> str:
    """A table as CSV."""
    import polars as pl

    texts = [name for name, type_ in table.schema.items() if type_ == pl.String]
    cells = {name: [cell if cell is None else in_csv(cell) for cell in table[name]] for name in texts}
    named: dict[str, pl.Series] = {}
    for name in table.columns:
        series = pl.Series(cells[name], dtype=pl.String) if name in cells else table[name]
        named[in_csv(name)] = series
    return pl.DataFrame(named).write_csv()
