"""Prices of links as a proof that no routing carries more, in exact arithmetic.

A packet pays the price of every link that it takes, so at least that of its cheapest route. What all packets pay in a
cycle is at most what all links together are worth: their prices times their bandwidth. So the load is at most the worth
over what the cheapest routes cost at a load of 1, whatever the prices are. The duals of the best flow are prices for
which this is the load of that flow.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from phit.base.errors import InputError
from phit.base.words import shown
from phit.throughput.network import Ints, Network

CLOSE = 1e-9
"""How near a price must be to a fraction to be taken for it."""

SMALL = 100
"""Denominators up to this are tried."""

FINE = 2**20
"""Denominator of prices that are no such fractions."""


@dataclass(frozen=True)
class Price:
    """Links of one class with one price."""

    link_class: str
    """Their class."""
    price: Fraction
    """Of one phit over one of them; the dearest link costs 1."""
    links: int
    """How many there are, both directions counted."""
    capacity: Fraction
    """What they carry together, in phits per cycle."""
    names: tuple[str, ...] = ()
    """Of a network with names, the routers at the ends of the first of them."""


MOST_NAMED = 4
"""Links of a price that are named."""


def _named(network: Network, links: list[int]) -> tuple[str, ...]:
    """Links by the names of the routers at their ends, if routers have names."""
    if network.names is None:
        return ()
    ends = ((network.names[network.source[link]], network.names[network.target[link]]) for link in links)
    return tuple(f"{shown(a)} to {shown(b)}" for a, b in ends)


@dataclass(frozen=True)
class Proof:
    """What some prices prove."""

    prices: list[Price]
    """The dearest first."""
    worth: Fraction
    """Sum over all links of price times bandwidth, per cycle."""
    cost: Fraction
    """What packets pay at least, per cycle, at a load of 1 phit/(endpoint·cycle)."""
    cheapest: Fraction
    """The least that a route between two routers with demand costs."""
    dearest: Fraction
    """The most that the cheapest route between two routers with demand costs."""
    weights: Ints = field(repr=False)
    """The prices by link, as multiples of a fraction."""

    @property
    def load(self) -> Fraction:
        """No routing carries more, in phits/(endpoint·cycle)."""
        return self.worth / self.cost


def prove(network: Network, duals: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_] | None = None) -> Proof:
    """What the nearest simple fractions to `duals`, by link, prove.

    `allowed` says which links (columns) routes to a router (row) may take; all of them if it is left out.
    """
    values, which = np.unique(np.round(duals / duals.max(), 12), return_inverse=True)
    fractions = _fractions(values.tolist())
    scale = lcm(*(value.denominator for value in fractions))
    weights = np.array([int(value * scale) for value in fractions], dtype=np.int64)[which.reshape(-1)]
    costs = route_costs(network, weights, allowed)
    sums = [int(costs[network.demand == i].sum()) for i in range(1, len(network.amounts))]
    cost = sum((amount * paid for amount, paid in zip(network.amounts[1:], sums, strict=True)), Fraction(0))
    asked = costs[network.demand > 0]
    groups: dict[tuple[str, int], list[int]] = {}
    for link, weight in enumerate(weights.tolist()):
        groups.setdefault((network.link_class[link], weight), []).append(link)
    prices = [
        Price(
            name,
            Fraction(weight, scale),
            int(network.parallel[own].sum()),
            Fraction(int(network.capacity[own].sum()), network.scale),
            _named(network, own[:MOST_NAMED]),
        )
        for (name, weight), own in sorted(groups.items(), key=lambda item: (-item[0][1], item[0][0]))
    ]
    worth = Fraction(int((weights * network.capacity).sum()), scale * network.scale)
    least, most = (Fraction(int(value), scale) for value in (asked.min(), asked.max()))
    return Proof(prices, worth, cost / (scale * network.scale), least, most, weights)


def _fractions(values: list[float]) -> list[Fraction]:
    for most in range(1, SMALL + 1):
        found = [Fraction(value).limit_denominator(most) for value in values]
        if all(abs(fraction - value) < CLOSE for fraction, value in zip(found, values, strict=True)):
            return found
    return [Fraction(round(value * FINE), FINE) for value in values]


FAR = np.iinfo(np.int64).max
"""The cost where there is no route."""


def route_costs(network: Network, weights: Ints, allowed: npt.NDArray[np.bool_] | None = None) -> Ints:
    """What the cheapest route costs from each router (row) to each that is sent anything (column); elsewhere `FAR`.

    `weights` are whole prices by link. Refuses demand without a route.
    """
    # With one more for every hop, no link is free: the search takes those for missing. No route has as many hops.
    hops = network.routers + 1
    lengths = (weights * hops + 1).astype(np.float64)
    found = np.full((network.routers, network.routers), np.inf)
    if allowed is None:
        # From the destinations, against the direction of links.
        found[:, network.destinations] = dijkstra(graph(network, lengths).T, indices=network.destinations).T
    else:
        for to in network.destinations:
            found[:, to] = dijkstra(graph(network, lengths, allowed[to]).T, indices=to)
    lost = np.argwhere((network.demand > 0) & np.isinf(found))
    if len(lost):
        source, target = lost[0]
        there = f"from {network.router(source)} to {network.router(target)}"
        raise InputError(f"topology: there is no route {there}, which it sends to")
    # Whole numbers far below 2^53, which floating point holds exactly.
    costs = np.full(found.shape, FAR)
    known = np.isfinite(found)
    costs[known] = found[known].astype(np.int64) // hops
    return costs


def cheapest_routes(network: Network, weights: Ints) -> npt.NDArray[np.bool_]:
    """Whether a link (column) is on a cheapest route from its begin to a router (row)."""
    costs = route_costs(network, weights).T
    onward = np.where(costs[:, network.target] == FAR, FAR, costs[:, network.target] + weights)
    found: npt.NDArray[np.bool_] = (costs[:, network.source] == onward) & (onward != FAR)
    return found


def graph(
    network: Network, lengths: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_] | None = None
) -> csr_matrix:
    """The shortest of the chosen links between every two routers."""
    kept = shortest(network, lengths, np.flatnonzero(chosen) if chosen is not None else np.arange(len(lengths)))
    shape = (network.routers, network.routers)
    return csr_matrix((lengths[kept], (network.source[kept], network.target[kept])), shape=shape)


def shortest(network: Network, lengths: npt.NDArray[np.float64], links: Ints) -> Ints:
    """One link for every two routers that some of `links` join: the shortest."""
    order = links[np.argsort(lengths[links], kind="stable")]
    _, first = np.unique(network.source[order] * network.routers + network.target[order], return_index=True)
    return order[first]
