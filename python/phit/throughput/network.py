"""The network of a scenario for bounds: links with their bandwidth, and the demand between routers, as fractions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

import phit._phit as _phit
from phit.base import words
from phit.base.errors import InputError
from phit.document import Document
from phit.document.inlining import to_json
from phit.document.origins import located

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Network:
    """The links between routers, with parallel links of a class as one, and the demand at a load of 1."""

    document: Document
    """The scenario."""
    routers: int
    endpoints: int
    source: Ints
    """Router at which each link begins; links are sorted by this."""
    target: Ints
    """Router at which each link ends."""
    link_class: list[str]
    """Class of each link."""
    parallel: Ints
    """Number of parallel links that each link stands for."""
    scale: int
    """Parts of a phit in which all capacities are whole numbers."""
    capacity: Ints
    """Capacity of all parallel links together, in parts of a phit per cycle."""
    amounts: list[Fraction]
    """Amounts of demand that occur, in parts of a phit per cycle at a load of 1; the first is 0."""
    demand: Ints
    """Demand of router i (row) for router j (column), as an index of `amounts`; 0 within a router."""
    senders: int
    """Number of endpoints that send."""
    endpoint_load: Fraction | None
    """The load that the links of endpoints allow; `None` if no endpoint sends."""
    names: list[str] | None
    """The names of the routers, if they have names."""

    def router(self, number: int) -> str:
        """A router in words."""
        return words.router(number, self.names[number] if self.names else None)

    @property
    def destinations(self) -> Ints:
        """The routers that receive traffic from others."""
        return np.flatnonzero(self.demand.any(axis=0))


def read(document: Document) -> Network:
    """Reads the network of a scenario.

    Raises `ScenarioError` if its traffic has no lasting shares of destinations, and `InputError` if the bandwidths of
    links have no common part that is large enough.
    """
    with located(document):
        found = json.loads(_phit.flows(to_json(document)))
    widths = {width: _bandwidth(width) for width in {link[4] for link in found["links"]}}
    scale = lcm(*(width.denominator for width in widths.values()))
    if scale * max(widths.values(), default=1) > LARGEST:
        expected = f"expected whole multiples of a common part, at most {LARGEST:,} times the part"
        raise InputError(f"router.links: bandwidths of {', '.join(map(str, sorted(widths.values())))}; {expected}")
    for link in found["links"]:
        link[4] = int(widths[link[4]] * scale)
    attachment = np.array(found["attachment"], dtype=np.int64)
    links = np.array(found["links"], dtype=np.int64).reshape(-1, 5)
    # Parallel links of a class carry as much as one link with their total bandwidth.
    ends, first, inverse = np.unique(links[:, [0, 2, 3]], axis=0, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    of_endpoints = [
        [None if bandwidth is None else _bandwidth(bandwidth) for bandwidth in found["endpoints"][key]]
        for key in ("load", "injection", "ejection")
    ]
    amounts, demand, endpoint_load, senders = _demand(found["demand"], attachment, found["routers"], *of_endpoints)
    return Network(
        document,
        int(found["routers"]),
        len(attachment),
        ends[:, 0],
        ends[:, 1],
        [found["classes"][kind] for kind in ends[:, 2]],
        np.bincount(inverse, minlength=len(first)),
        scale,
        np.bincount(inverse, weights=links[:, 4], minlength=len(first)).astype(np.int64),
        [amount * scale for amount in amounts],
        demand,
        senders,
        endpoint_load,
        found["names"] or None,
    )


LARGEST = 10**9
"""Maximum number of parts of a phit that a link carries in a cycle, so that sums over links stay exact."""

MOST_CYCLES = 1_000_000
"""Largest denominator of the engine's bandwidths, which are ratios of whole numbers."""


def _bandwidth(value: float) -> Fraction:
    """The ratio that a number stands for. Only one ratio with such a small denominator is so close to it."""
    return Fraction(value).limit_denominator(MOST_CYCLES)


def minimal_links(network: Network) -> npt.NDArray[np.bool_]:
    """Whether a minimal route to a router (row) may take a link (column)."""
    with located(network.document):
        text = to_json(network.document)
        towards, links = json.loads(_phit.minimal_ports(text)), json.loads(_phit.flows(text))["links"]
    kinds = {name: i for i, name in enumerate(dict.fromkeys(network.link_class))}
    keys = zip(network.source.tolist(), network.target.tolist(), network.link_class, strict=True)
    place = {(start, end, kinds[name]): i for i, (start, end, name) in enumerate(keys)}
    classes = json.loads(_phit.flows(text))["classes"]
    of_port = {(start, port): place[start, end, kinds[classes[kind]]] for start, port, end, kind, _ in links}
    found = np.zeros((network.routers, len(network.source)), dtype=np.bool_)
    for to, ports in enumerate(towards):
        for router, taken in ports or ():
            found[to, [of_port[router, port] for port in taken]] = True
    return found


Run = tuple[int, int, Fraction]
"""First endpoint, end of the range, and the share of packets of each of these endpoints."""


def _runs(destinations: Any, share: Fraction) -> Iterator[Run]:
    """Destinations of a `share` of the packets, from JSON of the engine's `Destinations`."""
    if destinations == "nothing":
        return
    ((kind, value),) = destinations.items()
    if kind == "among":
        yield value["first"], value["end"], share / (value["end"] - value["first"])
    elif kind == "split":
        part = _fraction(value["share"])
        yield from _runs(value["these"], share * part)
        yield from _runs(value["others"], share * (1 - part))
    elif kind == "mix":
        weights = [_fraction(weight) for weight, _ in value]
        total = sum(weights)
        for weight, (_, way) in zip(weights, value, strict=True):
            yield from _runs(way, share * weight / total)
    else:
        raise AssertionError(f"unknown destinations {kind!r}")


def _fraction(value: float) -> Fraction:
    """The number as it was written: 0.1 is one tenth."""
    return Fraction(str(value))


def _demand(
    destinations: list[Any],
    attachment: Ints,
    routers: int,
    load: list[Fraction | None],
    injection: list[Fraction | None],
    ejection: list[Fraction | None],
) -> tuple[list[Fraction], Ints, Fraction | None, int]:
    """The demand between routers.

    Returns the amounts, their indices by pair of routers, the bound by endpoint links, and the number of senders.
    Arguments by endpoint: `load` is the rate at a load of 1, in phits per cycle; `injection` and `ejection` are the
    bandwidths of its link.
    """
    endpoints = len(attachment)
    received: dict[Fraction, Ints] = {}
    sent: dict[Fraction, list[list[int]]] = {}
    senders = 0
    limits: list[Fraction] = []
    for source, where in enumerate(destinations):
        one = load[source] or Fraction(1)
        runs = list(_runs(where, one))
        senders += bool(runs)
        if runs and (most := injection[source]) is not None:
            limits.append(most / one)
        for first, end, share in runs:
            sent.setdefault(share, []).append([int(attachment[source]), first, end])
            changes = received.setdefault(share, np.zeros(endpoints + 1, dtype=np.int64))
            changes[first] += 1
            changes[end] -= 1
    # Packets per pair of routers, counted for each share separately: whole numbers until the end.
    shares = list(sent)
    counts = [_counts(np.array(sent[share], dtype=np.int64), attachment, routers) for share in shares]
    amounts, demand = _amounts(shares, counts, routers)
    kinds = list(dict.fromkeys(ejection))
    place = {kind: index for index, kind in enumerate(kinds)}
    totals = [np.cumsum(changes[:-1]) for changes in received.values()]
    totals.append(np.array([place[kind] for kind in ejection], dtype=np.int64))
    for row in np.unique(np.array(totals).T, axis=0):
        inflow = sum((share * int(n) for share, n in zip(received, row[:-1], strict=True)), Fraction(0))
        if inflow and (most := kinds[int(row[-1])]) is not None:
            limits.append(most / inflow)
    return amounts, demand, min(limits, default=None), senders


def _counts(runs: Ints, attachment: Ints, routers: int) -> Ints:
    """Number of times that each router (row) sends to each (column).

    Runs are (router, first endpoint, end of the range).
    """
    found = np.zeros((routers, routers), dtype=np.int64)
    for router in np.unique(runs[:, 0]):
        own = runs[runs[:, 0] == router]
        changes = np.zeros(len(attachment) + 1, dtype=np.int64)
        np.add.at(changes, own[:, 1], 1)
        np.add.at(changes, own[:, 2], -1)
        hits = np.cumsum(changes[:-1])
        found[router] = np.bincount(attachment, weights=hits, minlength=routers).astype(np.int64)
    np.fill_diagonal(found, 0)
    return found


def _amounts(shares: list[Fraction], counts: list[Ints], routers: int) -> tuple[list[Fraction], Ints]:
    """The amounts that occur, the first of them 0, and the index of the amount for each pair of routers."""
    if not shares:
        return [Fraction(0)], np.zeros((routers, routers), dtype=np.int64)
    table = np.stack([np.zeros_like(counts[0]), *counts]).reshape(len(counts) + 1, -1).T
    rows, inverse = np.unique(table, axis=0, return_inverse=True)
    values = [sum((s * int(n) for s, n in zip(shares, row[1:], strict=True)), Fraction(0)) for row in rows]
    amounts = sorted({Fraction(0), *values})
    index = np.array([amounts.index(value) for value in values], dtype=np.int64)
    return amounts, index[inverse.reshape(-1)].reshape(routers, routers)


def refuse(what: str, number: int, most: int) -> InputError:
    """The refusal of a network that is too large."""
    return InputError(f"the bound of this network needs {number:,} {what}; expected at most {most:,}")
