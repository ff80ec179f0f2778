"""Shards of a sweep: tasks of an array job share its points, with about equal work and without communication."""

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from phit.base.errors import InputError
from phit.base.text import quoted

MOST = 1_000_000
"""Maximum number of shards of a sweep."""


class Job(Protocol):
    """The item that is shared: a point, or anything else with an expected work."""

    @property
    def work(self) -> float:
        """Expected work, in any unit."""

    @property
    def hash(self) -> str:
        """Identity of the item, which orders items of equal work."""


J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class Shard:
    """One part of a sweep, of `of` parts."""

    number: int
    """Number of the part, counted from 1."""
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of <= MOST:
            raise InputError(f"shard (--shard) = {self}: expected one of 1/{self.of} to {self.of}/{self.of}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: "str | Shard") -> "Shard":
        """The shard that a text names: `3/64` is the third of 64."""
        if isinstance(text, Shard):
            return text
        found = re.fullmatch(r"([0-9]{1,7})/([1-9][0-9]{0,6})", text)
        if found is None:
            raise InputError(f"shard (--shard) = {quoted(text)}: expected NUMBER/OF, such as 3/64")
        return cls(int(found[1]), int(found[2]))

    def share(self, points: Sequence[J]) -> list[J]:
        """The points of this shard, in their order."""
        mine = shares(points, self.of)[self.number - 1]
        return [points[i] for i in mine]


def shares(points: Sequence[Job], shards: int) -> list[list[int]]:
    """Positions of the points of each shard. In order of work, each point goes to the shard with the least work so far.

    Every machine computes the same shards. The largest share is at most 4/3 of the optimum (R. L. Graham, "Bounds on
    multiprocessing timing anomalies", 1969).
    """
    # Rounded to three digits, so that points do not move for the last digits of an estimate.
    work = [float(f"{point.work:.3g}") for point in points]
    order = sorted(range(len(points)), key=lambda i: (-work[i], points[i].hash))
    loads = [(0.0, shard) for shard in range(shards)]
    found: list[list[int]] = [[] for _ in range(shards)]
    for i in order:
        load, shard = loads[0]
        found[shard].append(i)
        heapq.heapreplace(loads, (load + work[i], shard))
    return [sorted(share) for share in found]
