"""Patterns in which every endpoint sends to one other, as shifts of Phit's."""

from collections import defaultdict
from collections.abc import Callable

from phit.document import Document

MOST_LISTED = 1 << 16
"""Endpoints of a network whose pattern is written endpoint by endpoint."""


def shift(offset: int, endpoints: int) -> Document:
    """Everybody sends so many numbers on, modulo the number of endpoints, or to itself."""
    offset %= endpoints
    return {"kind": "shift", "offset": offset} if offset else {"kind": "shift", "offset": 0, "include_self": True}


def to_router(routers: int, each: int, to: Callable[[int], int]) -> Document:
    """Every endpoint draws one of the `each` at the router that `to` says: a mix of as many patterns as there are.

    Part n leads from the endpoint with number i of its router to number i + n, modulo `each`, of the other router.
    """

    def place(n: int) -> Callable[[int], int]:
        return lambda source: to(source // each) * each + (source + n) % each

    parts = [{"weight": 1, "pattern": moved(routers * each, place(n))} for n in range(each)]
    return {"kind": "mix", "parts": parts}


def moved(endpoints: int, to: Callable[[int], int]) -> Document:
    """Every endpoint sends to the one that `to` says: those that move alike are listed together."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for endpoint in range(endpoints):
        groups[(to(endpoint) - endpoint) % endpoints].append(endpoint)
    if len(groups) == 1:
        return shift(next(iter(groups)), endpoints)
    parts = [{"endpoints": group, "pattern": shift(offset, endpoints)} for offset, group in sorted(groups.items())]
    return {"kind": "by_endpoint", "parts": parts}
