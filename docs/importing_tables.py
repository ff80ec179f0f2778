"""Puts the tables of other simulators' keys into the guide, from the lists by which configurations are read."""

from typing import Any

from phit.base.markdown import markdown_table
from phit.importing.booksim.keys import KEYS
from phit.importing.fogsim import keys as fogsim
from phit.importing.settings import MEANING, written


def keys() -> str:
    """All keys, by what becomes of them."""
    rows = ((f"`{key.name}`", _default(key.default), key.status, key.words) for key in KEYS.values())
    return markdown_table(("key", "default", "", "meaning"), rows)


def statuses() -> str:
    """The ways in which a key can be imported."""
    return markdown_table(("", "what becomes of a key"), ((f"{status}", words) for status, words in MEANING.items()))


def _default(value: Any) -> str:
    return f"`{written(value)}`" if value != "" else ""


def fogsim_keys() -> str:
    """All keys of FOGSim's, by what becomes of them."""
    rows = (
        (f"`{key.name}`", f"`{key.default}`" if key.default else "", key.status, key.words)
        for key in fogsim.KEYS.values()
    )
    return markdown_table(("key", "default", "", "meaning"), rows)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Puts the tables where the pages have `<!-- table: NAME -->`."""
    if page.file.src_uri in ("booksim.md", "fogsim.md"):
        for name, make in (("statuses", statuses), ("keys", keys), ("fogsim", fogsim_keys)):
            markdown = markdown.replace(f"<!-- table: {name} -->", make())
    return markdown
