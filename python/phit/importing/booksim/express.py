"""BookSim's concentrated mesh with express channels along its edges."""

from dataclasses import dataclass

from phit.importing.booksim.anynet import AnyNet


@dataclass(frozen=True)
class ExpressMesh(AnyNet):
    """A mesh whose outer routers are linked, by the ports that an edge leaves free, to those half an edge further on.

    Routes are in dimension order. Along an edge a packet takes the express channel where half the side or more is left.
    """

    side: int

    def first_steps(self, start: int) -> dict[int, int]:
        """By router, the first router on the way there from `start`."""
        return {to: self._step(start, to) for to in range(self.side**2)}

    def _step(self, at: int, to: int) -> int:
        # The lower dimension first; an edge along it is in the first or the last line of the other.
        for stride, across in ((1, self.side), (self.side, 1)):
            left = to // stride % self.side - at // stride % self.side
            if left:
                on_edge = at // across % self.side in (0, self.side - 1)
                length = self.side // 2 if on_edge and abs(left) >= self.side // 2 else 1
                return at + (length if left > 0 else -length) * stride
        return at


def mesh(side: int, each: int, numbering: list[int] | None, latencies: tuple[int, int]) -> ExpressMesh:
    """A mesh of `side` by `side` routers with `each` endpoints; latencies of its links and of its express channels.

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
