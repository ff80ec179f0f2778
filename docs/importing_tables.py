"""Puts the tables of BookSim's keys into the page `booksim.md`, from the list by which configurations are read."""

from typing import Any

from phit.importing.booksim.keys import KEYS
from phit.importing.found import MEANING, written
from phit.markdown import markdown_table


def keys() -> str:
    """All keys, by what becomes of them."""
    rows = ((f"`{key.name}`", _default(key.default), key.status, key.words) for key in KEYS.values())
    return markdown_table(("key", "default", "", "meaning"), rows)


def statuses() -> str:
    """What can become of a key."""
    return markdown_table(("", "what becomes of a key"), ((f"{status}", words) for status, words in MEANING.items()))


def _default(value: Any) -> str:
    return f"`{written(value)}`" if value != "" else ""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Puts the tables where `booksim.md` has `<!-- table: NAME -->`."""
    if page.file.src_uri == "booksim.md":
        for name, make in (("statuses", statuses), ("keys", keys)):
            markdown = markdown.replace(f"<!-- table: {name} -->", make())
    return markdown
