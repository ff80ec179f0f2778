"""Tables in Markdown."""

from collections.abc import Iterable


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table with a line of headings."""
    head = list(head)
    body = [[cell.replace("|", "&#124;") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))
