"""What the reader of a file leaves out: things that carry no traffic, counted, with the place of the first.

A reader takes what it knows. What it leaves out it says here, and nowhere else: the rows stand in the scenario
(`topology.left_out`), so that every summary, report and stored point has them, and commands write them to standard
error. Whatever would change the answer is not left out, but refused.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from phit.base.text import plain, shortened

LONGEST_KIND = 200
"""Most characters of what a kind of things is called."""

MOST_KINDS = 100
"""Kinds of things that one file's reader tells apart; those beyond count together."""


class LeftOut:
    """Kinds of things that a file has and that were left out, each with how many there are and where the first is."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def add(self, what: str, where: str, count: int = 1) -> None:
        """Counts things of a kind, which is named in the plural."""
        what = plain(shortened(what, LONGEST_KIND))
        if what not in self._found and len(self._found) >= MOST_KINDS:
            what = "other things"
        before, first = self._found.get(what, (0, where))
        self._found[what] = (before + count, first)

    def rows(self) -> list[dict[str, Any]]:
        """What was found, as it stands in a scenario."""
        return [{"what": what, "count": count, "first": first} for what, (count, first) in self._found.items()]


def in_words(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """One sentence for each kind of things that were left out."""
    return [f"left out: {row['what']}: {row['count']:,} (first: {row['first']})" for row in rows]


def warn(topologies: Iterable[Mapping[str, Any]]) -> None:
    """Warns of what was left out of the networks of some scenarios, of each network once."""
    said: list[object] = []
    for topology in topologies:
        rows = topology.get("left_out")
        if rows and rows not in said:
            said.append(rows)
            for line in in_words(rows):
                warnings.warn(line, stacklevel=3)


def counted(topology: Mapping[str, Any]) -> dict[str, int]:
    """Routers, endpoints and links between routers of a section `[topology]` of the kind `graph`."""
    endpoints, routers = topology.get("endpoints", 1), int(topology["routers"])
    count = sum(endpoints) if isinstance(endpoints, list) else routers * int(endpoints)
    return {"routers": routers, "endpoints": count, "links": len(topology["links"])}


def in_numbers(network: Mapping[str, int]) -> str:
    """What `counted` has counted, in words."""
    return (
        f"{network['routers']:,} routers, {network['endpoints']:,} endpoints, "
        f"{network['links']:,} links between routers"
    )
