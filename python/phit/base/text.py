"""Text that comes from files, made harmless for the place where it is shown: terminal, chart, CSV, Markdown, message.

What a reader could not see, or what could steer a terminal, is written as in JSON, by its number. Every way out of the
package goes through here: a text that is shown anywhere is a text that anybody may have written.
"""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

LONGEST_QUOTE = 80
"""Most characters of a value that is quoted in a message."""

LONGEST_MESSAGE = 2000
"""Most characters of a message; what is left out is out of its middle."""

LONGEST_TEXT = 4096
"""Most characters of a text in a scenario: as of a path."""

WIDTH = 160
"""Characters of a line of a table where nobody says how wide it may be."""

MOST_DIGITS = 18
"""Most digits of a whole number in a file: what has more is no number of anything."""

_NEITHER = "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\ufdd0-\ufdef"
    f"\U000e0000-\U000e007f{_NEITHER}]"
)
"""Characters that are no part of a text: controls, those that change its direction, halves and non-characters."""

_BUT_BREAKS = re.compile(rf"(?![\n\t]){HIDDEN.pattern}")

FORMULA = ("=", "+", "-", "@")
"""With these begins what a spreadsheet takes for a formula."""


def _visible(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def plain(text: str) -> str:
    """One line of text: whatever cannot be seen is written as in JSON, breaks of lines too."""
    return HIDDEN.sub(_visible, text)


def plain_lines(text: str) -> str:
    """The same for a text of several lines, which may be JSON: its line breaks and tabs stay."""
    return _BUT_BREAKS.sub(_visible, text)


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """The text, or its beginning and end with how much is left out between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}… {len(text) - 2 * half:,} characters left out …{text[-half:]}"


def quoted(value: Any) -> str:
    """A value as it stands in a message, not too long."""
    return plain(shortened(repr(value), LONGEST_QUOTE))


def whole(text: str) -> int | None:
    """The whole number that a text is, in decimal digits and below 10^18; nothing if it is something else."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS else None


def harmless(description: Any) -> Any:
    """A chart's description, with all its texts and names in plain characters."""
    if isinstance(description, str):
        return plain(description)
    if isinstance(description, Mapping):
        return {plain(key): harmless(value) for key, value in description.items()}
    if isinstance(description, list):
        return [harmless(value) for value in description]
    return description


def in_script(description: Any) -> str:
    """JSON that can stand in a script of an HTML page: no text in it can end the script."""
    return json.dumps(description, separators=(",", ":")).replace("<", "\\u003c")


def in_markdown(text: str) -> str:
    """Text in Markdown that is shown as it is: no HTML, links, images or code."""
    entities = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]])", r"\\\1", plain(entities))


def in_csv(text: str) -> str:
    """A cell of CSV that no spreadsheet takes for a formula: it gets an apostrophe in front unless it is a number."""
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
