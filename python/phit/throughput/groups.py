"""Prices for groups of links: links of one class, or with equal load on minimal routes, have one price.

Such prices prove the best bound for most patterns, and people can read them. They are found by cutting planes (Kelley,
"The cutting-plane method for solving convex programs", 1960). Given some prices, the cheapest routes of all packets use
a certain number of links of each group. For any prices, packets pay at most the price of these links. Each such count
is therefore a constraint of a small linear program for the best prices.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse.csgraph import dijkstra

from phit.base.errors import failure
from phit.throughput.certificate import FAR, Proof, graph, prove, route_costs, shortest
from phit.throughput.network import Ints, Network

MOST_GROUPS = 32
"""Maximum number of groups for which prices are searched; with more, cutting planes take too many steps."""

STEPS = 300
"""Maximum number of cutting planes; further ones hardly improve the prices."""

EXACT = 1e-9
"""Relative precision of the cost of the cheapest routes."""

SAME = 1e-7
"""Loads within this relative difference count as equal."""

Floats = npt.NDArray[np.float64]


def grouped(network: Network) -> Proof:
    """The best proof with prices for groups; among equally good proofs, the one with the fewest groups."""
    proofs = [prove(network, _prices(network, group)) for group in _groupings(network)]
    best = min(proof.load for proof in proofs)
    return next(proof for proof in proofs if proof.load <= best * (1 + SAME))


def _groupings(network: Network) -> Iterator[Ints]:
    """The group of every link, from the coarsest grouping to the finest."""
    names = {name: i for i, name in enumerate(dict.fromkeys(network.link_class))}
    kind = np.array([names[name] for name in network.link_class], dtype=np.int64)
    used = np.round(_minimal_loads(network) / network.capacity, 9)
    everything = np.zeros_like(kind)
    loaded = np.unique(used, return_inverse=True)[1].reshape(-1)
    both = np.unique(np.stack([kind, loaded]), axis=1, return_inverse=True)[1].reshape(-1)
    for number, group in enumerate((everything, kind, loaded, both)):
        if number == 0 or group.max() < MOST_GROUPS:
            yield group


def _minimal_loads(network: Network) -> Floats:
    """The load of every link at a load of 1 if packets take routes with the fewest hops, spread evenly at each hop."""
    commodities = network.destinations
    hops = route_costs(network, np.ones(len(network.source), dtype=np.int64))[:, commodities].T
    amounts = np.array([float(amount) for amount in network.amounts])
    waiting = amounts[network.demand[:, commodities].T]
    near, ahead = hops[:, network.source], hops[:, network.target]
    onward = (near != FAR) & (ahead == near - 1)
    width = onward * network.capacity.astype(np.float64)
    out = np.zeros_like(waiting)
    np.add.at(out.T, network.source, width.T)
    found = np.zeros(len(network.source))
    for distance in range(int(hops[hops != FAR].max()), 0, -1):
        flows = np.where(onward & (near == distance), width, 0.0)
        flows *= np.divide(waiting, out, out=np.zeros_like(waiting), where=out > 0)[:, network.source]
        np.add.at(waiting.T, network.target, flows.T)
        found += flows.sum(axis=0)
    return found


def _prices(network: Network, group: Ints) -> Floats:
    """The best prices, by link, if all links of a group cost the same."""
    count = int(group.max()) + 1
    worth = np.bincount(group, weights=network.capacity, minlength=count)
    prices = np.ones(count)
    cuts: list[Floats] = []
    for _ in range(STEPS):
        taken = _taken(network, prices[group], group, count)
        if cuts and taken @ prices >= 1 - EXACT:
            break
        cuts.append(taken)
        result = linprog(worth, A_ub=-np.array(cuts), b_ub=-np.ones(len(cuts)), method="highs")
        if result.status != 0:
            raise failure(f"the linear program of the prices was not solved: {result.message}")
        prices = result.x
    found: Floats = np.maximum(prices, 0.0)[group]
    return found


def _taken(network: Network, prices: Floats, group: Ints, count: int) -> Floats:
    """Links of each group that all packets of a cycle take on their cheapest routes, at a load of 1."""
    # Of equally cheap routes, one with the fewest hops counts.
    lengths = prices / prices.max() + 1e-7
    kept = shortest(network, lengths, np.arange(len(lengths)))
    pairs = network.source[kept] * network.routers + network.target[kept]
    sources = np.flatnonzero(network.demand.any(axis=1))
    _, before = dijkstra(graph(network, lengths), indices=sources, return_predecessors=True)
    amounts = np.array([float(amount) for amount in network.amounts])
    asked = amounts[network.demand[sources]]
    own = np.arange(network.routers)[None, :]
    reached = before >= 0
    step = np.where(reached, before, own).astype(np.int64)
    last = np.searchsorted(pairs, step * network.routers + own)
    of_last = group[kept][np.minimum(last, len(kept) - 1)]
    found = np.zeros(count)
    rows = np.arange(len(sources))[:, None]
    for number in range(count):
        # Counts links of the group on the path from the source; each step doubles the part of the path that is counted.
        links = (reached & (of_last == number)).astype(np.float64)
        jump = step
        while True:
            # A path that has reached its source ends there: the source has no link before it.
            links, further = links + links[rows, jump], jump[rows, jump]
            if (further == jump).all():
                break
            jump = further
        found[number] = (links * asked).sum()
    return found
