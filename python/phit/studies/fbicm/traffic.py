"""The traffic cases of table 5.2, and I/O."""

from functools import cache

from phit import traces
from phit.scenario import Document
from phit.studies.fbicm.setting import Network


def uniform(load: float) -> Document:
    """Cases #1 and #4: all endpoints send to random destinations."""
    return {"load": load, "pattern": {"kind": "uniform"}}


def spread_sources(network: Network) -> list[int]:
    """A quarter of the endpoints, one of each leaf switch (or two, where the target is in the way)."""
    last = [e for e in range(network.endpoints) if e % network.arity == network.arity - 1 and e != network.target]
    count = network.endpoints // 4
    others = [e for e in range(network.endpoints) if e not in last and e != network.target]
    return sorted((last + others)[:count])


def crowded_sources(network: Network) -> list[int]:
    """A quarter of the endpoints, all but one of as few leaf switches as hold them, spread over the network."""
    count, each = network.endpoints // 4, network.arity - 1
    leaves = network.endpoints // network.arity
    needed = -(-count // each)
    chosen = [leaves * i // needed for i in range(needed)]
    return [leaf * network.arity + i for leaf in chosen for i in range(each)][:count]


def shared_destinations(network: Network) -> list[int]:
    """All destinations to which a leaf switch sends over one and the same link upwards: those with last digit 0."""
    return list(range(0, network.endpoints, network.arity))


def spot(sources: list[int], targets: list[int], hot: tuple[int, int]) -> Document:
    """Sources that send to targets with 100 % of their links while the hot spot is there, and are silent otherwise."""
    quiet = {"kind": "by_endpoint", "background": {"kind": "uniform"}, "parts": [{"endpoints": sources}]}
    pattern = {"kind": "hotspot", "targets": targets, "share": 1.0}
    loud = {**quiet, "parts": [{"endpoints": sources, "pattern": pattern}]}
    changes = [{"cycle": hot[0], "pattern": loud}, {"cycle": hot[1], "pattern": quiet}]
    return {"load": 1.0, "pattern": quiet, "changes": changes}


def single(network: Network, hot: tuple[int, int]) -> Document:
    """Cases #2 and #5: one destination."""
    return spot(spread_sources(network), [network.target], hot)


def multiple(network: Network, hot: tuple[int, int]) -> Document:
    """Cases #3 and #6: destinations behind one link.

    In a tree with balanced tables a link downwards has one destination behind it, so that only links upwards can be
    congested by
    several: here the first one of some leaf switches, three of whose four endpoints send to all destinations behind it.
    """
    return spot(crowded_sources(network), shared_destinations(network), hot)


@cache
def io(seed: int, endpoints: int, seconds: float, compression: float) -> list[list[int]]:
    """The built-in stand-in for the cello traces, compressed: messages of the same time whatever the compression."""
    requests = traces.bursty(seed=seed, hosts=endpoints // 2, disks=endpoints // 2, seconds=seconds * compression / 20)
    messages = traces.block_io_messages(requests, endpoints)
    timed = [[round(time / compression), source, to, size] for time, source, to, size in messages]
    return sorted(timed, key=lambda message: message[0])
