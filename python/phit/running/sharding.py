"""Shards of a sweep: the tasks of an array job share its points, each by itself, and all have about equal work."""

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from phit.base.errors import InputError
from phit.base.text import quoted

MOST = 1_000_000
"""Most shards of one sweep."""


class Job(Protocol):
    """What is shared: a point, or whatever else takes work."""

    @property
    def work(self) -> float:
        """Expected work, in any unit."""

    @property
    def hash(self) -> str:
        """What tells it from others of equal work."""


J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class Shard:
    """One of so many parts of a sweep."""

    number: int
    """Counted from 1."""
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of <= MOST:
            raise InputError(f"shard (--shard) = {self}: expected one of 1/{self.of} to {self.of}/{self.of}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: "str | Shard") -> "Shard":
        """The shard that `3/64` names: the third of 64."""
        if isinstance(text, Shard):
            return text
        found = re.fullmatch(r"([0-9]{1,7})/([1-9][0-9]{0,6})", text)
        if found is None:
            raise InputError(f"shard (--shard) = {quoted(text)}: expected NUMBER/OF, as 3/64")
        return cls(int(found[1]), int(found[2]))

    def share(self, points: Sequence[J]) -> list[J]:
        """The points of this shard, in their order."""
        mine = shares(points, self.of)[self.number - 1]
        return [points[i] for i in mine]


def shares(points: Sequence[Job], shards: int) -> list[list[int]]:
    """Positions of the points of each shard: the longest first, each to the shard that has least so far.

    The same on every machine. (R. L. Graham, "Bounds on multiprocessing timing anomalies", 1969: the largest share is
    at most 4/3 of what it could be.)
    """
    # Of three digits: the last ones of an estimate are no reason for a point to change its place.
    work = [float(f"{point.work:.3g}") for point in points]
    order = sorted(range(len(points)), key=lambda i: (-work[i], points[i].hash))
    loads = [(0.0, shard) for shard in range(shards)]
    found: list[list[int]] = [[] for _ in range(shards)]
    for i in order:
        load, shard = loads[0]
        found[shard].append(i)
        heapq.heapreplace(loads, (load + work[i], shard))
    return [sorted(share) for share in found]
