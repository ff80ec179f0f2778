"""Tables in Markdown, and what stands in them."""

import json
from collections.abc import Container, Iterable, Mapping
from typing import Any


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]], numbers: Container[str] = ()) -> str:
    """A table with a line of headings; the columns of `numbers`, by their headings, are aligned to the right."""
    head = list(head)
    rule = ["---:" if heading in numbers else "---" for heading in head]
    body = [[cell.replace("|", "&#124;") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def toml_line(table: Mapping[str, Any]) -> str:
    """A scenario's table as TOML in one line of code, without its braces."""
    return f"`{_keys(table)}`"


def _keys(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {_value(value)}" for key, value in table.items())


def _value(value: Any) -> str:
    # Strings, numbers, booleans and lists of these are the same in JSON.
    return f"{{ {_keys(value)} }}" if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)
