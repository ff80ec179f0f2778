"""The bound of a scenario's throughput."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from phit.base.errors import InputError
from phit.document import Document, Source
from phit.document.loading import load
from phit.document.sections import leave_out
from phit.throughput.certificate import Price, Proof, cheapest_routes, prove
from phit.throughput.flow import Flow, check_size, most
from phit.throughput.groups import grouped
from phit.throughput.network import Network, minimal_links, read

TIGHT = 1e-6
"""How far, as a share of the bound, the flow that is found may stay below it to be taken for it."""


@dataclass(frozen=True)
class Limit:
    """What links allow, of one kind of routes."""

    load: Fraction
    """No routing carries more, in phits/(endpoint·cycle): proved by the prices, in exact arithmetic."""
    flow: float | None
    """What the best flow over the cheapest routes carries, in phits/(endpoint·cycle): floating point. `None` if the
    network and the demand have too little symmetry for that to be found."""
    prices: list[Price]
    """Of all links, by class and price, the dearest first; links with a price are full at the bound."""
    worth: Fraction
    """Sum over all links of price times bandwidth, in a cycle."""
    cost: Fraction
    """What the packets of a cycle pay at least at a load of 1 phit/(endpoint·cycle); the bound is worth over cost."""
    cheapest: Fraction
    """The least that a route costs between two routers with demand."""
    dearest: Fraction
    """The most that the cheapest route costs between two routers with demand."""

    @property
    def tight(self) -> bool:
        """True if a flow reaches the bound: there is no lower one."""
        return self.flow is not None and self.flow >= (1 - TIGHT) * float(self.load)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; fractions are text."""
        return {
            "load": float(self.load),
            "exact": str(self.load),
            "flow": self.flow,
            "tight": self.tight,
            "prices": [
                {
                    "class": price.link_class,
                    "price": str(price.price),
                    "links": price.links,
                    "capacity": float(price.capacity) if price.capacity % 1 else int(price.capacity),
                }
                for price in self.prices
            ],
            "worth": str(self.worth),
            "cost": str(self.cost),
            "cheapest": str(self.cheapest),
            "dearest": str(self.dearest),
        }


@dataclass(frozen=True)
class Bounds:
    """What no routing can exceed, in phits/(endpoint·cycle)."""

    any_routing: Limit | None
    """By the links between routers, whatever the routes; `None` if no packet takes one."""
    minimal: Limit | None
    """By the links between routers if all routes are minimal; `None` as above, if it was not asked for, if there is too
    little symmetry for it, or if broken links leave two endpoints without a minimal route."""
    endpoints: Fraction
    """By the links of endpoints."""

    @property
    def load(self) -> Fraction:
        """The bound of any routing."""
        return self.endpoints if self.any_routing is None else min(self.endpoints, self.any_routing.load)

    @property
    def minimal_load(self) -> Fraction | None:
        """The bound of minimal routing; `None` if it is not known."""
        if self.minimal is not None:
            return min(self.endpoints, self.minimal.load)
        return self.endpoints if self.any_routing is None else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; fractions are text, next to numbers."""
        return {
            "load": float(self.load),
            "exact": str(self.load),
            "endpoints": {"load": float(self.endpoints), "exact": str(self.endpoints)},
            "any_routing": self.any_routing.to_dict() if self.any_routing else None,
            "minimal": self.minimal.to_dict() if self.minimal else None,
        }


def bound(scenario: Source, *, minimal: bool = True, progress: Callable[[str], None] = lambda _: None) -> Bounds:
    """The throughput that no routing of a scenario's traffic can exceed, and no minimal routing.

    A linear program finds the largest load at which the demand between routers fits through the links, split over
    routes in any way. Its dual solution is a price for each link, and the bound is checked by these prices in exact
    arithmetic: whatever way a packet takes, it pays the price of every link on it. Buffers, virtual channels and
    crossbars, which a real network has too, are left out: it carries less.

    Args:
        scenario: the path of a TOML or JSON file, or the document itself; its load and its routing are not used.
        minimal: whether the bound of minimal routing is wanted, too.
        progress: told in words what is being computed.

    Raises:
        ScenarioError: the traffic is no pattern, or one that has no lasting shares of destinations.
        InputError: the network is too large, or has no route where one is needed.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; a bound is that of one scenario")
    leave_out(document)
    network = read(_loaded(document))
    if not network.senders:
        raise InputError("traffic.pattern: nobody sends, so that nothing bounds the load")
    if not network.demand.any():
        return Bounds(None, None, _endpoints(network))
    check_size(network)
    size = f"{network.routers:,} routers, {len(network.source):,} links"
    of_minimal = None
    if minimal:
        progress(f"bound of minimal routing ({size})")
        of_minimal = _best(network, minimal_links(network))
    progress(f"bound of any routing ({size})")
    return Bounds(_any_routing(network), of_minimal, _endpoints(network))


def _loaded(document: Document) -> Document:
    """The document with a load, which it need not have."""
    traffic = document.get("traffic")
    if isinstance(traffic, dict) and "load" not in traffic:
        traffic["load"] = 0.0
    return document


def _any_routing(network: Network) -> Limit:
    """With prices for groups of links, a proof that can be read, if these are enough; otherwise one for each link."""
    proof = grouped(network)
    found = _limit(proof, most(network, cheapest_routes(network, proof.weights)))
    return found if found.tight else _best(network) or found


def _best(network: Network, allowed: npt.NDArray[np.bool_] | None = None) -> Limit | None:
    """With a price for each link; `None` if the network is too large for that, or some of the demand has no route."""
    flow = most(network, allowed)
    if flow is None or not flow.prices.any():
        return None
    return _limit(prove(network, flow.prices, allowed), flow)


def _limit(proof: Proof, flow: Flow | None) -> Limit:
    carried = None if flow is None else flow.load
    return Limit(proof.load, carried, proof.prices, proof.worth, proof.cost, proof.cheapest, proof.dearest)


def _endpoints(network: Network) -> Fraction:
    """Every endpoint that sends offers the load, and each receives what is sent to it."""
    if network.endpoint_load is None:
        raise InputError("traffic.pattern: nobody sends, so that nothing bounds the load")
    return network.endpoint_load
