"""Records of things that a file's reader leaves out: each kind that carries no traffic, its count and first place.

A reader records here, and nowhere else, everything that it leaves out. The rows stand in the scenario
(`topology.left_out`), so every summary, report and stored point has them, and commands write them to standard error. A
thing that would change the answer is refused instead.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from phit.base.text import plain, shortened

LONGEST_KIND = 200
"""Maximum number of characters of a kind's name."""

MOST_KINDS = 100
"""Maximum number of kinds that the reader of one file distinguishes; further kinds are counted together."""


class LeftOut:
    """Kinds of things that a reader left out, each with their count and the place of the first."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, what: str, where: str, count: int = 1) -> None:
        """Counts things of a kind; `what` names the kind in the plural."""
        what = plain(shortened(what, LONGEST_KIND))
        if what not in self._found and len(self._found) >= MOST_KINDS:
            what = "other things"
        before, first = self._found.get(what, (0, where))
        self._found[what] = (before + count, first)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of `topology.left_out`."""
        return [{"what": what, "count": count, "first": first} for what, (count, first) in self._found.items()]


def in_words(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """One sentence for each kind that was left out."""
    return [f"left out: {row['what']}: {row['count']:,} (first: {row['first']})" for row in rows]


def warn(topologies: Iterable[Mapping[str, Any]]) -> None:
    """Warns of everything that was left out of the networks of some scenarios, once for each network."""
    said: list[object] = []
    for topology in topologies:
        rows = topology.get("left_out")
        if rows and rows not in said:
            said.append(rows)
            for line in in_words(rows):
                warnings.warn(line, stacklevel=3)


def counted(topology: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of routers, endpoints and links between routers in a `[topology]` section of kind `graph`."""
    endpoints, routers = topology.get("endpoints", 1), int(topology["routers"])
    count = sum(endpoints) if isinstance(endpoints, list) else routers * int(endpoints)
    return {"routers": routers, "endpoints": count, "links": len(topology["links"])}


def in_numbers(network: Mapping[str, int]) -> str:
    """The numbers of `counted` in words."""
    return (
        f"{network['routers']:,} routers, {network['endpoints']:,} endpoints, "
        f"{network['links']:,} links between routers"
    )
