"""Hints: why a run is slow or saturated, from its numbers about where packets wait.

Every hint follows a rule, which the guide's page "Reading a saturated network" explains. The rules use only the summary
of a run, so they serve runs, sweeps and reports alike. With the probe `buffers` they also see queues.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from phit.base.errors import InputError, ScenarioError
from phit.base.numbers import readable
from phit.document import Document, Source
from phit.document.completing import complete
from phit.document.labels import label_of
from phit.document.loading import load
from phit.document.paths import get_path, set_path
from phit.document.schema import described
from phit.store.quantities import SATURATED_BELOW

PAGE = "saturated.md"
"""Page of the guide that explains the rules, each under a heading with its name."""

BUSY = 0.9
"""Utilisation from which a link limits the traffic on it."""

UNEVEN = 0.5
"""Ratio of mean to busiest link below which the links of a class are used unevenly."""

WAITING = 0.5
"""Share of the latency spent waiting from which a run counts as slow."""

FULL = 0.7
"""Mean occupancy from which queues count as full: they are held up by queues ahead of them."""

NEAR, BEYOND = 0.85, 1.1
"""A measured share is at a limit if it is between these two multiples of it: the limit neglects a few cycles."""

UNFAIR = 0.9
"""Jain's index of the injected loads below which some endpoints get clearly less than others."""

BY_OWN_QUEUES = frozenset({"ugal_l"})
"""Routing mechanisms that decide once, by the queues of a packet's first router."""


@dataclass(frozen=True)
class Hint:
    """A statement of a rule about a run."""

    rule: str
    """Name of the rule, which is its heading on the page."""
    text: str
    """The finding in plain words, with its numbers."""

    @property
    def link(self) -> str:
        """The place in the guide that explains the rule."""
        return f"{PAGE}#{self.rule}"

    def __str__(self) -> str:
        return f"{self.text} [{self.rule}]"


def hints(summary: Mapping[str, Any]) -> list[Hint]:
    """Why the run of a summary is slow or saturated; empty if it is neither.

    Args:
        summary: summary of a run, such as `Result.summary` or the `summary` of a stored point, with its scenario.
    """
    seen = _Seen.of(summary)
    found = [hint for rule in _RULES for hint in rule(seen)]
    # A run that is fast and sustained needs no explanation.
    if seen.saturated or any(hint.rule in _REASONS for hint in found):
        return found
    return []


LOOKS = 20
"""Number of observations of a watched run's queues in the measured time."""


def watched(scenario: Source) -> Document:
    """The scenario with the probe `buffers`, which shows queues to hints and changes no other number.

    A scenario that has the probe, or cannot be probed, is returned unchanged.
    """
    document = load(scenario)
    probes = get_path(document, "measure.probes", [])
    if not isinstance(probes, list) or any(isinstance(one, Mapping) and one.get("kind") == PROBE for one in probes):
        return document
    try:
        cycles = get_path(complete(document), "measure.cycles")
        every = max(1, int(cycles) // LOOKS) if isinstance(cycles, int | float) else 1000
        own = load(document)
        set_path(own, "measure.probes", [*probes, {"kind": PROBE, "every": every}])
        complete(own)
    except (ScenarioError, InputError):
        return document
    return own


PROBE = "buffers"


@dataclass(frozen=True)
class _Seen:
    """The numbers that rules use, as far as the summary has them."""

    summary: Mapping[str, Any]
    scenario: Mapping[str, Any]
    offered: float
    accepted: float
    links: dict[str, tuple[float, float]]
    """Utilisation of each class of links: of the mean and of the busiest link."""

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> "_Seen":
        used = summary.get("link_utilisation") or {}
        links = {name: (float(use["mean"]), float(use["max"])) for name, use in used.items() if isinstance(use, dict)}
        offered, accepted = (float(summary.get(key) or 0.0) for key in ("offered_load", "accepted_load"))
        return cls(summary, summary.get("scenario", {}), offered, accepted, links)

    @property
    def saturated(self) -> bool:
        return bool(self.summary.get("saturated"))

    def number(self, key: str) -> float | None:
        """A number of the summary."""
        value = self.summary.get(key)
        return float(value) if isinstance(value, int | float) else None

    def given(self, path: str) -> float | None:
        """A number of the scenario."""
        value = get_path(dict(self.scenario), path, None)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def link(self, name: str, key: str) -> float | None:
        """A number of a class of links: its own, or that of the class `default`, or the schema's default."""
        own, inherited = (self.given(f"router.links.{of}.{key}") for of in (name, "default"))
        return next((found for found in (own, inherited) if found is not None), _defaults().get(key))

    @property
    def packet(self) -> float | None:
        """Phits of a packet, if all packets have equal sizes."""
        return self.given("traffic.packet_size.phits")

    def busiest(self, name: str) -> str:
        """The busiest link of a class in words, such as `, leaf0 port 3`; empty if routers have no names."""
        use = (self.summary.get("link_utilisation") or {}).get(name)
        link = use.get("busiest") if isinstance(use, dict) else None
        return f", {link}" if isinstance(link, str) else ""

    @property
    def networks(self) -> dict[str, tuple[float, float]]:
        """Utilisation of the links between routers."""
        return {name: use for name, use in self.links.items() if name != "endpoint"}

    def credits(self, name: str) -> float | None:
        """The largest share of a link of a class that one virtual channel can use, if its buffer is the limit.

        A packet occupies its room from the moment it is sent. The room is free again when the packet has arrived and
        moved on, and the credit has returned.
        """
        buffer, latency = (self.link(name, key) for key in ("buffer", "latency"))
        router = self.given("router.latency")
        if not buffer or latency is None or self.packet is None or router is None:
            return None
        share = buffer / (2 * latency + router + 2 * self.packet)
        return share if share < 1 else None

    @property
    def held_by_credits(self) -> list[str]:
        """Classes whose busiest link carries the most that one virtual channel can, because credits return late."""
        limits = {name: self.credits(name) for name in self.networks} if self.saturated else {}
        return [name for name, limit in limits.items() if limit and NEAR <= self.links[name][1] / limit <= BEYOND]


@cache
def _defaults() -> dict[str, float]:
    """Default numbers of a class of links that the scenario does not name."""
    (keys,) = (
        found["properties"] for found in described()["$defs"].values() if found.get("properties", {}).keys() >= _LINK
    )
    return {name: key["default"] for name, key in keys.items() if isinstance(key.get("default"), int | float)}


_LINK = {"latency", "vcs", "buffer", "bandwidth"}
"""Keys by which the schema's table for a class of links is recognised."""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _saturated(seen: _Seen) -> Iterator[Hint]:
    if seen.saturated and seen.offered:
        yield Hint(
            "saturated",
            f"saturated: {readable(seen.accepted)} of {readable(seen.offered)} phits/(endpoint·cycle) accepted, less "
            f"than {_percent(SATURATED_BELOW)}; beyond saturation latencies grow with the time measured",
        )


def _waiting(seen: _Seen) -> Iterator[Hint]:
    """Where the mean latency is spent: at the source, in queues of the network, or on links."""
    total, source = seen.number("latency_mean"), seen.number("source_latency_mean")
    if not total or source is None:
        return
    way = _way(seen)
    queues = None if way is None else max(total - source - way, 0.0)
    if source + (queues or 0.0) < WAITING * total and not seen.saturated:
        return
    inside = (
        f"{_percent((total - source) / total)} in the network"
        if queues is None or way is None
        else f"{_percent(queues / total)} in queues of the network, {_percent(min(way / total, 1.0))} on links and in "
        "routers"
    )
    text = f"of a mean latency of {readable(total)} cycles {_percent(source / total)} pass at the source, {inside}"
    yield Hint("where-packets-wait", text)


def _way(seen: _Seen) -> float | None:
    """Zero-load latency of the mean packet in cycles; `None` if it is unknown."""
    hops, router = seen.summary.get("hops"), seen.given("router.latency")
    if not isinstance(hops, dict) or seen.packet is None or router is None:
        return None
    passed = [*hops.items(), ("endpoint", 2)]
    links = sum(count * (seen.link(name, "latency") or 0.0) for name, count in passed)
    return float(links + (1 + sum(hops.values())) * router + seen.packet)


def _endpoints(seen: _Seen) -> Iterator[Hint]:
    mean, most = seen.links.get("endpoint", (0.0, 0.0))
    if most >= BUSY:
        which = "links of endpoints are" if mean >= UNEVEN * most else "the link of an endpoint is"
        yield Hint(
            "full-endpoints",
            f"{which} full ({_percent(most)} used at most{seen.busiest('endpoint')}, {_percent(mean)} on average): "
            "no routing carries more to or from that endpoint",
        )


def _links(seen: _Seen) -> Iterator[Hint]:
    for name, (mean, most) in seen.networks.items():
        if most < BUSY:
            continue
        if mean < UNEVEN * most:
            yield Hint(
                "few-links",
                f"a few {name} links are full ({_percent(most)} used{seen.busiest(name)}) while the mean is "
                f"{_percent(mean)}: the routes of this traffic meet there",
            )
        else:
            yield Hint(
                "all-links",
                f"{name} links are full ({_percent(most)} used at most{seen.busiest(name)}, {_percent(mean)} on "
                "average): the network is at its limit for these routes",
            )


def _credits(seen: _Seen) -> Iterator[Hint]:
    for name in seen.held_by_credits:
        buffer, limit, (_, most) = seen.link(name, "buffer"), seen.credits(name) or 0.0, seen.links[name]
        yield Hint(
            "shallow-buffers",
            f"a virtual channel of a {name} link holds {readable(buffer)} phits, and its credits return so late "
            f"that it alone carries at most {_percent(limit)} of the link; {_percent(most)} are used: larger "
            "buffers, or more virtual channels on these routes, carry more",
        )


def _signal(seen: _Seen) -> Iterator[Hint]:
    kind = get_path(dict(seen.scenario), "routing.kind", "")
    if not seen.saturated or kind not in BY_OWN_QUEUES:
        return
    buffers = {name: seen.link(name, "buffer") for name in seen.networks}
    known = {name: buffer for name, buffer in buffers.items() if buffer}
    if len(known) < 2:
        return
    least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    if known[least] < UNEVEN * known[most]:
        yield Hint(
            "blind-adaptivity",
            f"{label_of(kind)} compares the queues of its own router: behind a {least} link of "
            f"{readable(known[least])} phits a full queue of {readable(known[most])} phits of a {most} link looks "
            f"short, so that packets are sent minimally to where they wait; try larger buffers on {least} links, "
            "or another mechanism",
        )


def _queues(seen: _Seen) -> Iterator[Hint]:
    """Which queues are full, if the probe `buffers` is present."""
    probes = seen.summary.get("probes") or {}
    for name in seen.links:
        held, buffer = probes.get(f"input {name}"), seen.link(name, "buffer")
        if isinstance(held, int | float) and buffer and held >= FULL * buffer:
            words = "injection queues" if name == "endpoint" else f"input queues behind {name} links"
            yield Hint(
                "full-queues",
                f"{words} are full: {readable(float(held))} of {readable(buffer)} phits on average; the cause "
                "is ahead of them",
            )


def _elsewhere(seen: _Seen) -> Iterator[Hint]:
    if seen.held_by_credits:
        return
    if seen.saturated and seen.links and all(most < BUSY for _, most in seen.links.values()):
        name, (_, most) = max(seen.links.items(), key=lambda item: item[1][1])
        yield Hint(
            "no-full-link",
            f"no link is full (the busiest, of the class {name}{seen.busiest(name)}, is used {_percent(most)}): "
            "packets wait for room in buffers, for the crossbar, or behind others in their queue",
        )


def _unfair(seen: _Seen) -> Iterator[Hint]:
    fairness = seen.summary.get("fairness") or {}
    jain = fairness.get("jain")
    if seen.saturated and isinstance(jain, int | float) and jain < UNFAIR:
        yield Hint(
            "unfair",
            f"endpoints do not get equal shares: from {readable(fairness.get('min'))} to "
            f"{readable(fairness.get('max'))} phits/cycle (Jain's index {readable(float(jain))}); means hide this",
        )


def _unsteady(seen: _Seen) -> Iterator[Hint]:
    if seen.saturated:
        return
    if seen.summary.get("steady") in ("no", "unknown"):
        known = "not steady" if seen.summary["steady"] == "no" else "not known to be steady"
        yield Hint(
            "not-steady",
            f"the run is {known}: {seen.summary.get('steady_reason')}; its numbers belong to this length of warm-up "
            "and measurement: measure more cycles",
        )
    elif seen.summary.get("converged") is False:
        yield Hint("not-steady", "the run ended before it reached the requested convergence")


_RULES = (
    _saturated,
    _waiting,
    _endpoints,
    _links,
    _credits,
    _signal,
    _queues,
    _elsewhere,
    _unfair,
    _unsteady,
)

_REASONS = frozenset({"where-packets-wait", "full-endpoints", "not-steady"})
"""Rules that by themselves make a run worth explaining."""

RULES = (
    "saturated",
    "where-packets-wait",
    "full-endpoints",
    "few-links",
    "all-links",
    "shallow-buffers",
    "blind-adaptivity",
    "full-queues",
    "no-full-link",
    "unfair",
    "not-steady",
)
"""The names of all rules."""
