"""Shrinks a linear program by its symmetries.

In some optimal solution, routers, links and commodities that are equivalent in the network and the demand have equal
flows. Colour refinement finds them: it separates rows by the colours of their columns, and columns by the colours of
their rows, until nothing changes. One row and one column for each colour then make a program with the same optimum
(Grohe, Kersting, Mladenov and Selman, "Dimension reduction via colour refinement", ESA 2014).

Here a column is the flow to one router over one link. A row is either the balance of such flows at a router or the
capacity of a link.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phit.throughput.network import Ints, Network

Hashes = npt.NDArray[np.uint64]

BLOCK = 64
"""Destinations whose flows are processed together, which bounds memory."""


@dataclass(frozen=True)
class Colours:
    """Equivalence classes, as 64-bit colours."""

    balance: Hashes
    """Colour of the balance of the flow to a router (row) at a router (column)."""
    capacity: Hashes
    """Colour of the capacity of a link."""


def _mixed(values: Hashes) -> Hashes:
    """A hash of each value (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _salted(values: Hashes, salt: int) -> Hashes:
    return _mixed(values + np.uint64(salt * 0x9E3779B97F4A7C15 % 2**64))


@dataclass(frozen=True)
class Columns:
    """The possible flows: of commodities over links."""

    network: Network
    commodities: Ints
    """The destination routers of the commodities."""
    allowed: npt.NDArray[np.bool_] | None
    """Whether a flow may take a link, by router and link; `None` if it may take all."""

    def mask(self, rows: slice) -> npt.NDArray[np.bool_]:
        """Whether flows of some commodities (rows) may take links (columns). No flow leaves its destination."""
        to = self.commodities[rows]
        stays: npt.NDArray[np.bool_] = self.network.source[None, :] != to[:, None]
        if self.allowed is not None:
            stays &= self.allowed[to]
        return stays

    def colours(self, rows: slice, of: Colours) -> Hashes:
        """Colours of the flows of some commodities; 0 where there is no flow."""
        balance, network = of.balance[rows], self.network
        found = _salted(balance[:, network.source], 1) + _salted(balance[:, network.target], 2)
        return np.where(self.mask(rows), _mixed(found + _salted(of.capacity, 3)[None, :]), np.uint64(0))

    def blocks(self) -> Iterator[slice]:
        """All commodities, a few at a time."""
        for start in range(0, len(self.commodities), BLOCK):
            yield slice(start, start + BLOCK)


def refine(columns: Columns) -> Colours:
    """The coarsest stable colouring: refining it further separates nothing."""
    network, commodities = columns.network, columns.commodities
    with np.errstate(over="ignore"):
        demand = network.demand[:, commodities].T.astype(np.uint64) + np.uint64(1)
        demand[np.arange(len(commodities)), commodities] = 0
        balance = _salted(demand, 4)
        kinds = {name: i for i, name in enumerate(dict.fromkeys(network.link_class))}
        kind = np.array([kinds[name] for name in network.link_class], dtype=np.uint64)
        # Only links of one class and width start alike, so that prices can be given by class.
        widths = network.parallel.astype(np.uint64) * np.uint64(2**32) + network.capacity.astype(np.uint64)
        colours = Colours(balance, _salted(widths, 5) + _salted(kind, 6))
        by_target = np.argsort(network.target, kind="stable")
        out, into = _sums(network.source, network.routers), _sums(network.target[by_target], network.routers)
        count = 0
        while True:
            now = len(np.unique(colours.balance)) + len(np.unique(colours.capacity))
            if now == count:
                return colours
            count = now
            capacity = _salted(colours.capacity, 7)
            balance = np.empty_like(colours.balance)
            for rows in columns.blocks():
                flows = columns.colours(rows, colours)
                capacity += _salted(flows, 8).sum(axis=0, dtype=np.uint64)
                leaving, coming = out(_salted(flows, 9)), into(_salted(flows[:, by_target], 10))
                balance[rows] = _mixed(_salted(colours.balance[rows], 11) + leaving + coming)
            colours = Colours(balance, _mixed(capacity))


def _sums(router: Ints, routers: int) -> "_Sums":
    return _Sums(np.searchsorted(router, np.arange(routers + 1)))


@dataclass(frozen=True)
class _Sums:
    """Sums over the links of each router, with links sorted by router."""

    starts: Ints

    def __call__(self, values: Hashes) -> Hashes:
        running = np.zeros((values.shape[0], values.shape[1] + 1), dtype=np.uint64)
        np.cumsum(values, axis=1, dtype=np.uint64, out=running[:, 1:])
        # Differences of running sums modulo 2^64 are sums modulo 2^64.
        found: Hashes = running[:, self.starts[1:]] - running[:, self.starts[:-1]]
        return found
