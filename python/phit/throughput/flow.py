"""The largest load of a demand that a network can carry, with the prices of links that prove it.

This is the maximum concurrent multicommodity flow (Shahrokhi and Matula, "The maximum concurrent flow problem", Journal
of the ACM 37(2), 1990). All flows to one router are one commodity, whatever their source.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, hstack

from phit.base.errors import failure
from phit.throughput.network import Ints, Network, refuse
from phit.throughput.symmetry import Colours, Columns, Hashes, refine

MOST_FLOWS = 40_000_000
"""Maximum number of flows (of one destination over one link) that are coloured; ten million take some seconds."""

MOST_COLUMNS = 50_000
"""Maximum number of columns of the linear program; this many take half a minute."""


@dataclass(frozen=True)
class Flow:
    """An optimal solution."""

    load: float
    """The load in phits/(endpoint·cycle)."""
    prices: npt.NDArray[np.float64]
    """The price of the capacity of each link: an optimal solution of the dual program."""


def most(network: Network, allowed: npt.NDArray[np.bool_] | None = None) -> Flow | None:
    """The largest load at which the demand fits; `None` if the linear program is too large.

    `allowed` are the links (columns) that routes to a router (row) may take.
    """
    commodities = network.destinations
    check_size(network)
    columns = Columns(network, commodities, allowed)
    colours = refine(columns)
    capacities = _Classes.of(colours.capacity)
    stays = np.zeros(colours.balance.shape, dtype=np.bool_)
    stays[np.arange(len(commodities)), commodities] = True
    balances = _Classes.of(colours.balance[~stays])
    rows, at = (found[balances.first] for found in np.nonzero(~stays))
    entries = [*_balanced(columns, rows, at, colours), *_used(columns, capacities.first, colours)]
    names = np.unique(np.concatenate([flows for _, _, flows, _ in entries]))
    if len(names) > MOST_COLUMNS:
        return None

    def matrix(block: int, height: int) -> csr_matrix:
        own = [(row, flows, sign) for kind, row, flows, sign in entries if kind == block]
        row, flows, sign = (np.concatenate(part) for part in zip(*own, strict=True))
        return coo_matrix((sign, (row, np.searchsorted(names, flows))), shape=(height, len(names))).tocsr()

    amounts = np.array([float(amount) for amount in network.amounts])
    asked = csr_matrix(-amounts[network.demand[at, commodities[rows]]][:, None])
    unloaded = csr_matrix((len(capacities.first), 1))
    result = linprog(
        np.append(np.zeros(len(names)), -1.0),
        A_eq=hstack([matrix(BALANCE, len(rows)), asked]).tocsr(),
        b_eq=np.zeros(len(rows)),
        A_ub=hstack([matrix(CAPACITY, len(capacities.first)), unloaded]).tocsr(),
        b_ub=network.capacity[capacities.first].astype(np.float64),
        method="highs",
    )
    if result.status != 0:
        raise failure(f"the linear program of the bound was not solved: {result.message}")
    prices = np.maximum(-result.ineqlin.marginals / capacities.sizes, 0.0)
    return Flow(float(result.x[-1]), prices[capacities.of_each])


def check_size(network: Network) -> None:
    """Refuses a network for which the computation would take too long."""
    flows = len(network.destinations) * len(network.source)
    if flows > MOST_FLOWS:
        raise refuse("flows (destinations times links)", flows, MOST_FLOWS)


BALANCE, CAPACITY = 0, 1

Entries = tuple[int, Ints, Hashes, npt.NDArray[np.float64]]
"""Entries of a block of the matrix: rows, colours of the columns, and values."""


@dataclass(frozen=True)
class _Classes:
    """Classes of equal colours."""

    first: Ints
    """One member of each class."""
    of_each: Ints
    """The class of each element."""
    sizes: Ints

    @classmethod
    def of(cls, colours: Hashes) -> "_Classes":
        _, first, inverse, sizes = np.unique(colours, return_index=True, return_inverse=True, return_counts=True)
        return cls(first, inverse.reshape(-1), sizes)


def _balanced(columns: Columns, rows: Ints, at: Ints, colours: Colours) -> list[Entries]:
    """Outflow minus inflow of commodities (rows) at routers, as entries of the matrix."""
    network, found = columns.network, []
    for row in np.unique(rows):
        flows = columns.colours(slice(row, row + 1), colours)[0]
        for place in np.flatnonzero(rows == row):
            for ends, sign in ((network.source, 1.0), (network.target, -1.0)):
                own = flows[(ends == at[place])]
                own = own[own != 0]
                found.append((BALANCE, np.full(len(own), place), own, np.full(len(own), sign)))
    return found


def _used(columns: Columns, links: Ints, colours: Colours) -> list[Entries]:
    """The sum of all flows over some links, as entries of the matrix."""
    found = []
    for rows in columns.blocks():
        flows = columns.colours(rows, colours)[:, links]
        _, link = np.nonzero(flows)
        found.append((CAPACITY, link, flows[flows != 0], np.ones(len(link))))
    return found
