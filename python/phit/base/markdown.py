"""Markdown tables, and TOML in one line."""

import json
from collections.abc import Container, Iterable, Mapping
from typing import Any


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]], numbers: Container[str] = ()) -> str:
    """A Markdown table with a heading line. Columns whose heading is in `numbers` are aligned to the right."""
    head = list(head)
    rule = ["---:" if heading in numbers else "---" for heading in head]
    body = [[cell.replace("|", "&#124;") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def toml_line(table: Mapping[str, Any]) -> str:
    """A scenario's table as one line of TOML in code marks, without its braces."""
    return f"`{_keys(table)}`"


def _keys(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {_value(value)}" for key, value in table.items())


def _value(value: Any) -> str:
    # JSON writes strings, numbers, booleans and lists of these as TOML does.
    return f"{{ {_keys(value)} }}" if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)
