"""Block I/O: requests of hosts to disks as messages, and a generator of bursty requests."""

import csv
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from phit.base.errors import InputError
from phit.base.text import quoted

REQUEST_BYTES = 64
"""Default bytes of a read request, and of the acknowledgement of a write."""


@dataclass(frozen=True)
class Io:
    """A request of a block-I/O trace."""

    time: float
    """Time in nanoseconds."""
    host: str
    disk: str
    write: bool
    size: int
    """Size in bytes."""


def _places(
    names: Iterable[str], endpoints: int, first: int, given: Mapping[str, int] | None, what: str
) -> dict[str, int]:
    """The endpoint of every name: the given endpoint, or every second one from `first` on, repeated as needed."""
    distinct = sorted(set(names))
    if given is None:
        places = max(1, (endpoints - first + 1) // 2)
        return {name: min(first + 2 * (i % places), endpoints - 1) for i, name in enumerate(distinct)}
    for name in distinct:
        if name not in given:
            raise InputError(f"{what}: no endpoint is given for {quoted(name)}")
        if not 0 <= given[name] < endpoints:
            raise InputError(f"{what}.{name} = {given[name]}: expected an endpoint, 0 to {endpoints - 1}")
    return dict(given)


def block_io_messages(
    requests: Sequence[Io],
    endpoints: int,
    hosts: Mapping[str, int] | None = None,
    disks: Mapping[str, int] | None = None,
    request_bytes: int = REQUEST_BYTES,
) -> list[tuple[float, int, int, int]]:
    """Messages of requests: time in the unit of the requests, source, destination, bytes.

    A read is a small message from host to disk, and the data in return. A write is the data, and a small message in
    return. Both messages are sent at the time of the request, because a trace does not tell when the disk answers.
    """
    names = [f"{io.host}/{io.disk}" for io in requests]
    at_host = _places((io.host for io in requests), endpoints, 0, hosts, "hosts")
    at_disk = _places(names, endpoints, 1, disks, "disks")
    found = []
    for io, name in zip(requests, names, strict=True):
        host, disk = at_host[io.host], at_disk[name]
        there, back = (max(io.size, 1), request_bytes) if io.write else (request_bytes, max(io.size, 1))
        found += [(io.time, host, disk, there), (io.time, disk, host, back)]
    return found


def bursty(
    *, seed: int = 1, hosts: int = 32, disks: int = 32, seconds: float = 0.04, rate: float = 3000.0, skew: float = 0.8
) -> list[Io]:
    """A bursty, self-similar block-I/O trace: a substitute for recorded ones, which are rarely free to use.

    Every host is a source that is on and off for times from a Pareto distribution with infinite variance (shape 1.4).
    The sum of such sources is self-similar (Willinger, Taqqu, Sherman and Wilson, 1997). While it is on, a host sends
    requests at random times to one disk, which changes with every on-time. The popularity of disks follows Zipf's law;
    sizes are those of a file system.

    Args:
        seed: seed of the random numbers.
        hosts: number of hosts.
        disks: number of disks.
        seconds: duration of the trace.
        rate: mean number of requests of a host per second.
        skew: exponent of Zipf's law.
    """
    rng = random.Random(seed)
    shape, shortest, on_share = 1.4, seconds / 200, 0.3
    weights = [1 / (rank + 1) ** skew for rank in range(disks)]
    order = rng.sample(range(disks), disks)
    sizes, shares = (4096, 8192, 16384, 65536), (0.3, 0.5, 0.15, 0.05)
    requests = []
    for host in range(hosts):
        time = -rng.uniform(0, seconds / 4)
        while time < seconds:
            busy = shortest * rng.paretovariate(shape)
            disk = order[rng.choices(range(disks), weights)[0]]
            at = time + rng.expovariate(rate / on_share)
            while at < min(time + busy, seconds):
                if at >= 0:
                    size = rng.choices(sizes, shares)[0]
                    requests.append(Io(at * 1e9, f"h{host:02}", f"d{disk:02}", rng.random() < 0.45, size))
                at += rng.expovariate(rate / on_share)
            idle = shortest * (1 - on_share) / on_share * rng.paretovariate(shape)
            time += busy + idle
    return sorted(requests, key=lambda io: io.time)


def write(requests: Iterable[Io], path: str | Path) -> None:
    """Writes a block-I/O trace as CSV, with times in seconds."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("timestamp", "host", "disk", "type", "offset", "size"))
        for io in requests:
            writer.writerow((f"{io.time / 1e9:.9f}", io.host, io.disk, "Write" if io.write else "Read", 0, io.size))
