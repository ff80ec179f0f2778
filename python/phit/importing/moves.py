"""Patterns in which every endpoint sends to one other, written as shifts."""

from collections import defaultdict
from collections.abc import Callable

from phit.document import Document

MOST_LISTED = 1 << 16
"""Maximum number of endpoints of a network whose pattern is written endpoint by endpoint."""


def shift(offset: int, endpoints: int) -> Document:
    """Each endpoint sends to the endpoint `offset` numbers further, modulo the number of endpoints, or to itself."""
    offset %= endpoints
    return {"kind": "shift", "offset": offset} if offset else {"kind": "shift", "offset": 0, "include_self": True}


def to_router(routers: int, each: int, to: Callable[[int], int]) -> Document:
    """Every endpoint draws one of the `each` endpoints at the router that `to` returns: a mix of `each` patterns.

    Part n leads from endpoint number i of a router to endpoint number i + n, modulo `each`, of the other router.
    """

    def place(n: int) -> Callable[[int], int]:
        return lambda source: to(source // each) * each + (source + n) % each

    parts = [{"weight": 1, "pattern": moved(routers * each, place(n))} for n in range(each)]
    return {"kind": "mix", "parts": parts}


def moved(endpoints: int, to: Callable[[int], int]) -> Document:
    """Every endpoint sends to the endpoint that `to` returns. Endpoints with equal offsets are listed together."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for endpoint in range(endpoints):
        groups[(to(endpoint) - endpoint) % endpoints].append(endpoint)
    if len(groups) == 1:
        return shift(next(iter(groups)), endpoints)
    parts = [{"endpoints": group, "pattern": shift(offset, endpoints)} for offset, group in sorted(groups.items())]
    return {"kind": "by_endpoint", "parts": parts}
