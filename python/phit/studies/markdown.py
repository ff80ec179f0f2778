"""Tables in Markdown."""

from collections.abc import Iterable


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table with a line of headings."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
