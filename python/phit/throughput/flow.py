"""The most that a network can carry of a demand, with the prices of links that prove it.

It is the maximum concurrent multicommodity flow (Shahrokhi and Matula, "The maximum concurrent flow problem", Journal
of the ACM 37(2), 1990). The flows to one router are one commodity, wherever they come from.
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
"""Flows (of a destination over a link) that colours are found for: some seconds for each ten million."""

MOST_COLUMNS = 50_000
"""Columns of the program that is solved: half a minute."""


@dataclass(frozen=True)
class Flow:
    """An optimal solution."""

    load: float
    """In phits/(endpoint·cycle)."""
    prices: npt.NDArray[np.float64]
    """Of the capacity of each link: an optimal solution of the dual program."""


def most(network: Network, allowed: npt.NDArray[np.bool_] | None = None) -> Flow | None:
    """The largest load at which the demand fits; `None` if its program is too large.

    `allowed` are the links (columns) of routes to a router (row).
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
    """Refuses a network that takes too long."""
    flows = len(network.destinations) * len(network.source)
    if flows > MOST_FLOWS:
        raise refuse("flows (destinations times links)", flows, MOST_FLOWS)


BALANCE, CAPACITY = 0, 1

Entries = tuple[int, Ints, Hashes, npt.NDArray[np.float64]]
"""Entries of a block of the matrix: rows, colours of the columns, values."""


@dataclass(frozen=True)
class _Classes:
    """What has the same colour."""

    first: Ints
    """One of each class."""
    of_each: Ints
    """The class of each."""
    sizes: Ints

    @classmethod
    def of(cls, colours: Hashes) -> "_Classes":
        _, first, inverse, sizes = np.unique(colours, return_index=True, return_inverse=True, return_counts=True)
        return cls(first, inverse.reshape(-1), sizes)


def _balanced(columns: Columns, rows: Ints, at: Ints, colours: Colours) -> list[Entries]:
    """What leaves a router less what comes to it, of commodities (by row) at routers."""
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
    """What all flows together take of some links."""
    found = []
    for rows in columns.blocks():
        flows = columns.colours(rows, colours)[:, links]
        _, link = np.nonzero(flows)
        found.append((CAPACITY, link, flows[flows != 0], np.ones(len(link))))
    return found
