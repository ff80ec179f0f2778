"""The throughput bound of a scenario."""

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
"""Relative difference up to which the flow counts as reaching the bound."""


@dataclass(frozen=True)
class Limit:
    """The bound by links, for one kind of routes."""

    load: Fraction
    """The load in phits/(endpoint·cycle) that no routing exceeds: proved by prices, in exact arithmetic."""
    flow: float | None
    """The load that the best flow over the cheapest routes carries, in phits/(endpoint·cycle), in floating point.

    `None` if the network and the demand have too little symmetry to compute it.
    """
    prices: list[Price]
    """Prices of all links by class and price, the dearest first. Links with a price are full at the bound."""
    worth: Fraction
    """Sum over all links of price times bandwidth, per cycle."""
    cost: Fraction
    """Minimum cost of the packets of a cycle at a load of 1 phit/(endpoint·cycle). The bound is worth over cost."""
    cheapest: Fraction
    """Minimum, over pairs of routers with demand, of the cost of the cheapest route."""
    dearest: Fraction
    """Maximum, over pairs of routers with demand, of the cost of the cheapest route."""

    @property
    def tight(self) -> bool:
        """True if a flow reaches the bound: no lower bound exists."""
        return self.flow is not None and self.flow >= (1 - TIGHT) * float(self.load)

    def to_dict(self) -> dict[str, Any]:
        """The limit for JSON; fractions are text."""
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
                    **({"names": list(price.names)} if price.names else {}),
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
    """Loads that no routing can exceed, in phits/(endpoint·cycle)."""

    any_routing: Limit | None
    """Bound by the links between routers, for any routes; `None` if no packet takes such a link."""
    minimal: Limit | None
    """Bound by the links between routers, for minimal routes.

    `None` if no packet takes such a link, if it was not requested, if the symmetry is too small to compute it, or if
    broken links leave two endpoints without a minimal route.
    """
    endpoints: Fraction
    """Bound by the links of endpoints."""

    @property
    def load(self) -> Fraction:
        """The bound for any routing."""
        return self.endpoints if self.any_routing is None else min(self.endpoints, self.any_routing.load)

    @property
    def minimal_load(self) -> Fraction | None:
        """The bound for minimal routing; `None` if it is not known."""
        if self.minimal is not None:
            return min(self.endpoints, self.minimal.load)
        return self.endpoints if self.any_routing is None else None

    def to_dict(self) -> dict[str, Any]:
        """The bounds for JSON; fractions are text, next to numbers."""
        return {
            "load": float(self.load),
            "exact": str(self.load),
            "endpoints": {"load": float(self.endpoints), "exact": str(self.endpoints)},
            "any_routing": self.any_routing.to_dict() if self.any_routing else None,
            "minimal": self.minimal.to_dict() if self.minimal else None,
        }


def bound(scenario: Source, *, minimal: bool = True, progress: Callable[[str], None] = lambda _: None) -> Bounds:
    """The load of a scenario's traffic that no routing can exceed, and the load that no minimal routing can exceed.

    A linear program finds the largest load at which the demand between routers fits through the links, if routes may be
    split in any way. Its dual solution is a price for each link. These prices prove the bound in exact arithmetic,
    because a packet pays the price of every link on its path. A real network carries less: buffers, virtual channels
    and crossbars are left out.

    Args:
        scenario: the path of a TOML or JSON file, or the document itself; its load and its routing are not used.
        minimal: whether to compute the bound of minimal routing, too.
        progress: receives descriptions of the current computation.

    Raises:
        ScenarioError: the traffic is no pattern, or its pattern has no lasting shares of destinations.
        InputError: the network is too large, or has no route where one is needed.
    """
    document = load(scenario)
    if "sweep" in document:
        raise InputError("sweep: this document is an experiment of several points; bound one scenario")
    leave_out(document)
    network = read(_loaded(document))
    if not network.senders:
        raise InputError("traffic.pattern: no endpoint sends, so the load has no bound")
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
    """The document with a load, which it may lack."""
    traffic = document.get("traffic")
    if isinstance(traffic, dict) and "load" not in traffic:
        traffic["load"] = 0.0
    return document


def _any_routing(network: Network) -> Limit:
    """The limit of any routing.

    Its prices are for groups of links, which people can read, if these suffice; otherwise for each link.
    """
    proof = grouped(network)
    found = _limit(proof, most(network, cheapest_routes(network, proof.weights)))
    return found if found.tight else _best(network) or found


def _best(network: Network, allowed: npt.NDArray[np.bool_] | None = None) -> Limit | None:
    """The limit with a price for each link; `None` if the network is too large, or some demand has no route."""
    flow = most(network, allowed)
    if flow is None or not flow.prices.any():
        return None
    return _limit(prove(network, flow.prices, allowed), flow)


def _limit(proof: Proof, flow: Flow | None) -> Limit:
    carried = None if flow is None else flow.load
    return Limit(proof.load, carried, proof.prices, proof.worth, proof.cost, proof.cheapest, proof.dearest)


def _endpoints(network: Network) -> Fraction:
    """The bound by endpoint links: each sender offers the load, and each receiver gets the packets sent to it."""
    if network.endpoint_load is None:
        raise InputError("traffic.pattern: no endpoint sends, so the load has no bound")
    return network.endpoint_load
