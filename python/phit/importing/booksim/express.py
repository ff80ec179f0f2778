"""BookSim's concentrated mesh with express channels along its edges."""

from dataclasses import dataclass

from phit.importing.booksim.anynet import AnyNet


@dataclass(frozen=True)
class ExpressMesh(AnyNet):
    """A mesh in which free ports of edge routers link them to routers half an edge further on.

    Routes follow dimension order. Along an edge, a packet takes the express channel if at least half the side is left.
    """

    side: int

    def first_steps(self, start: int) -> dict[int, int]:
        """The first router on the path from `start` to each router."""
        return {to: self._step(start, to) for to in range(self.side**2)}

    def _step(self, at: int, to: int) -> int:
        # The lower dimension comes first. An edge along it is the first or last line of the other dimension.
        for stride, across in ((1, self.side), (self.side, 1)):
            left = to // stride % self.side - at // stride % self.side
            if left:
                on_edge = at // across % self.side in (0, self.side - 1)
                length = self.side // 2 if on_edge and abs(left) >= self.side // 2 else 1
                return at + (length if left > 0 else -length) * stride
        return at


def mesh(side: int, each: int, numbering: list[int] | None, latencies: tuple[int, int]) -> ExpressMesh:
    """A mesh of `side` by `side` routers with `each` endpoints.

    `latencies` are those of its links and express channels.

    The side is even and at least 4.
    """
    routers, half = side * side, side // 2
    link, express = latencies
    neighbours: list[dict[int, int]] = [{} for _ in range(routers)]
    for router in range(routers):
        for stride, across in ((1, side), (side, 1)):
            place, line = router // stride % side, router // across % side
            steps = [(1, link)] if place < side - 1 else []
            if line in (0, side - 1) and place < half:
                steps.append((half, express))
            for length, latency in steps:
                other = router + length * stride
                neighbours[router][other] = neighbours[other][router] = latency
    numbers = list(range(routers * each)) if numbering is None else numbering
    return ExpressMesh([each] * routers, numbers, 1, [dict(sorted(row.items())) for row in neighbours], side)
