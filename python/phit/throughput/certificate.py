"""Prices of links as a proof, in exact arithmetic, that no routing carries more.

A packet pays the price of every link that it takes, so it pays at least the price of its cheapest route. All packets of
a cycle together pay at most the worth of all links: the sum of price times bandwidth. So, for any prices, the load is
at most this worth divided by the cost of the cheapest routes at a load of 1. With the dual solution of the best flow as
prices, this bound equals the load of that flow.
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
"""Largest distance at which a price is rounded to a fraction."""

SMALL = 100
"""Largest denominator of these fractions."""

FINE = 2**20
"""Denominator of all other prices."""


@dataclass(frozen=True)
class Price:
    """Links of one class with one price."""

    link_class: str
    """The class of the links."""
    price: Fraction
    """The price of one phit over one of these links; the dearest link costs 1."""
    links: int
    """Number of links, both directions counted."""
    capacity: Fraction
    """Their bandwidth together, in phits per cycle."""
    names: tuple[str, ...] = ()
    """The routers at the ends of the first links, in networks with names."""


MOST_NAMED = 4
"""Maximum number of links of a price that are named."""


def _named(network: Network, links: list[int]) -> tuple[str, ...]:
    """Links by the names of the routers at their ends, if routers have names."""
    if network.names is None:
        return ()
    ends = ((network.names[network.source[link]], network.names[network.target[link]]) for link in links)
    return tuple(f"{shown(a)} to {shown(b)}" for a, b in ends)


@dataclass(frozen=True)
class Proof:
    """The bound that a set of prices proves."""

    prices: list[Price]
    """The prices, the dearest first."""
    worth: Fraction
    """Sum over all links of price times bandwidth, per cycle."""
    cost: Fraction
    """Minimum cost of all packets per cycle, at a load of 1 phit/(endpoint·cycle)."""
    cheapest: Fraction
    """Minimum, over pairs of routers with demand, of the cost of the cheapest route."""
    dearest: Fraction
    """Maximum, over pairs of routers with demand, of the cost of the cheapest route."""
    weights: Ints = field(repr=False)
    """The price of each link, as an integer multiple of a common fraction."""

    @property
    def load(self) -> Fraction:
        """The bound in phits/(endpoint·cycle), which no routing exceeds."""
        return self.worth / self.cost


def prove(network: Network, duals: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_] | None = None) -> Proof:
    """The proof by the simple fractions nearest to `duals`, which has a price for each link.

    `allowed` says which links (columns) routes to a router (row) may take; without it they may take all.
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
"""The cost where no route exists."""


def route_costs(network: Network, weights: Ints, allowed: npt.NDArray[np.bool_] | None = None) -> Ints:
    """The cost of the cheapest route from each router (row) to each destination of demand (column); elsewhere `FAR`.

    `weights` are whole prices by link. Demand without a route is refused.
    """
    # One more is added for every hop, because the search takes a length of 0 for a missing link. No route has `hops`
    # hops.
    hops = network.routers + 1
    lengths = (weights * hops + 1).astype(np.float64)
    found = np.full((network.routers, network.routers), np.inf)
    if allowed is None:
        # Searched from the destinations, against the direction of links.
        found[:, network.destinations] = dijkstra(graph(network, lengths).T, indices=network.destinations).T
    else:
        for to in network.destinations:
            found[:, to] = dijkstra(graph(network, lengths, allowed[to]).T, indices=to)
    lost = np.argwhere((network.demand > 0) & np.isinf(found))
    if len(lost):
        source, target = lost[0]
        there = f"from {network.router(source)} to {network.router(target)}"
        raise InputError(f"topology: there is traffic but no route {there}")
    # Whole numbers far below 2^53, which floating point represents exactly.
    costs = np.full(found.shape, FAR)
    known = np.isfinite(found)
    costs[known] = found[known].astype(np.int64) // hops
    return costs


def cheapest_routes(network: Network, weights: Ints) -> npt.NDArray[np.bool_]:
    """Whether a link (column) is on a cheapest route from the start of the link to a router (row)."""
    costs = route_costs(network, weights).T
    onward = np.where(costs[:, network.target] == FAR, FAR, costs[:, network.target] + weights)
    found: npt.NDArray[np.bool_] = (costs[:, network.source] == onward) & (onward != FAR)
    return found


def graph(
    network: Network, lengths: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_] | None = None
) -> csr_matrix:
    """The shortest of the chosen links between every two routers, as a graph."""
    kept = shortest(network, lengths, np.flatnonzero(chosen) if chosen is not None else np.arange(len(lengths)))
    shape = (network.routers, network.routers)
    return csr_matrix((lengths[kept], (network.source[kept], network.target[kept])), shape=shape)


def shortest(network: Network, lengths: npt.NDArray[np.float64], links: Ints) -> Ints:
    """The shortest of `links` between every two routers that one of them joins."""
    order = links[np.argsort(lengths[links], kind="stable")]
    _, first = np.unique(network.source[order] * network.routers + network.target[order], return_index=True)
    return order[first]
