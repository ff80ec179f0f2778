"""The cost of contention counters in storage and control bandwidth, and ECtN with its updates sent (section VI-B)."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
from rich import box
from rich.console import Group
from rich.table import Table

from phit.base.errors import InputError
from phit.document import Document
from phit.document.completing import complete
from phit.document.paths import get_path
from phit.drawing.plots import COLOURS
from phit.studies.contention.paper import UNIT, Evidence, by_pattern, note, patterns, scenario, study
from phit.studies.contention.setting import Setting
from phit.studies.kit import tables
from phit.studies.kit.charts import Charts, Look, beside, finished, latency_and_load, seeds_note
from phit.studies.kit.claim import Judgement, NotRunError, Revision
from phit.studies.kit.evidence import percent
from phit.studies.kit.margin import Check, above, all_of, exact
from phit.studies.kit.plan import Case, Done, seeds_of
from phit.studies.kit.uncertain import Value, nominal

PHIT_BITS = 80
"""Bits of a phit: 10 bytes (section IV-B)."""

PACKET_PHITS = 8
"""Phits of a packet (Table I)."""

LOCAL_MINIMAL = 2
"""Virtual channels of a local link for minimal routes: one in the source group, and one in the destination group."""

GLOBAL_MINIMAL = 1
"""Virtual channels of a global link for minimal routes."""

ENGINE_VCS = 2
"""Virtual channels of a link class that a scenario does not list."""


@dataclass(frozen=True)
class Shape:
    """A router of a Dragonfly: its ports and virtual channels."""

    p: int
    a: int
    h: int
    injection_vcs: int = 3
    local_vcs: int = 3
    global_vcs: int = 2

    @property
    def ports(self) -> int:
        """Ports of a router."""
        return self.p + self.a - 1 + self.h

    @property
    def input_vcs(self) -> int:
        """Virtual channels of all input ports, which is the largest sum of all counters of a router."""
        return self.p * self.injection_vcs + (self.a - 1) * self.local_vcs + self.h * self.global_vcs

    @property
    def minimal_vcs(self) -> int:
        """Virtual channels that packets on minimal routes use: all of injection, and one after each hop l, g and l."""
        return self.p * self.injection_vcs + (self.a - 1) * LOCAL_MINIMAL + self.h * GLOBAL_MINIMAL

    @property
    def mean_vcs(self) -> float:
        """Mean number of virtual channels of an input port (section VI-A)."""
        return self.input_vcs / self.ports

    @property
    def global_links(self) -> int:
        """Global links of a group."""
        return self.a * self.h


def table_one() -> Shape:
    """The router of Table I."""
    return Shape(p=8, a=16, h=8)


def counter_bits(threshold: int) -> int:
    """Bits of a counter that saturates at or above a threshold: 4 for 10."""
    return threshold.bit_length()


@dataclass(frozen=True)
class Update:
    """A periodic message from each router to the others of its group."""

    kind: str
    counters: int
    """Maximum number of counters in it."""
    bits: int
    """Maximum number of bits."""
    period: float
    """Cycles between two messages."""
    phit_bits: int = PHIT_BITS

    @property
    def phits(self) -> float:
        """Phits of one message, not rounded."""
        return self.bits / self.phit_bits

    @property
    def share(self) -> float:
        """Share of a local link's cycles that it uses."""
        return self.phits / self.period


@dataclass(frozen=True)
class Notification:
    """ECtN's arrays and the messages that carry the partial ones."""

    shape: Shape
    combined_threshold: int
    period: int = 100
    """Cycles between updates."""
    phit_bits: int = PHIT_BITS

    @property
    def bits(self) -> int:
        """Bits of one counter."""
        return counter_bits(self.combined_threshold)

    @property
    def identifier_bits(self) -> int:
        """Bits that identify one counter of an array."""
        return math.ceil(math.log2(self.shape.global_links))

    @property
    def active(self) -> int:
        """Maximum number of counters above zero in a partial array: a head of each injection and global VC."""
        vcs = self.shape.p * self.shape.injection_vcs + self.shape.h * self.shape.global_vcs
        return min(vcs, self.shape.global_links)

    def _update(self, kind: str, counters: int, bits: int) -> Update:
        return Update(kind, counters, counters * bits, self.period, self.phit_bits)

    def full(self) -> Update:
        """The whole partial array."""
        return self._update("full array", self.shape.global_links, self.bits)

    def nonempty(self, counters: int | None = None) -> Update:
        """Only counters above zero, each with its identifier; by default the maximum number."""
        counters = self.active if counters is None else counters
        return self._update("non-empty only", counters, self.identifier_bits + self.bits)

    def incremental(self, changed: int | None = None) -> Update:
        """Only counters that changed since the last update, each with its identifier.

        By default the maximum number: all that were above zero fall to zero, and as many others rise.
        """
        changed = min(2 * self.active, self.shape.global_links) if changed is None else changed
        return self._update("incremental", changed, self.identifier_bits + self.bits)


@dataclass(frozen=True)
class Storage:
    """State that a router keeps for a mechanism."""

    mechanism: str
    what: str
    counters: int
    bits_each: int

    @property
    def bits(self) -> int:
        """Bits of a router."""
        return self.counters * self.bits_each


@dataclass(frozen=True)
class Cost:
    """Storage and control traffic of the mechanisms."""

    shape: Shape
    thresholds: Mapping[str, int]
    storage: list[Storage]
    updates: list[tuple[str, Update]]
    """Updates with the names of their mechanisms."""

    def to_dict(self) -> dict[str, Any]:
        """The cost for JSON."""
        return {
            "router": asdict(self.shape) | {"ports": self.shape.ports, "mean_vcs": self.shape.mean_vcs},
            "thresholds": dict(self.thresholds),
            "storage": [asdict(s) | {"bits": s.bits} for s in self.storage],
            "updates": [
                {"mechanism": name, **asdict(u), "phits": u.phits, "share": u.share} for name, u in self.updates
            ],
        }

    def to_rich(self) -> Group:
        """The cost for a terminal."""
        storage = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Storage of a router", title_justify="left")
        for name, justify in (("mechanism", "left"), ("what", "left"), ("counters", "right"), ("bits each", "right")):
            storage.add_column(name, justify=justify)  # type: ignore[arg-type]
        storage.add_column("bits", justify="right")
        for s in self.storage:
            storage.add_row(s.mechanism, s.what, f"{s.counters:,}", str(s.bits_each), f"{s.bits:,}")
        traffic = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            title="Control traffic on each local link, at most",
            title_justify="left",
        )
        for name in ("mechanism", "update", "counters", "bits", "phits", "period", "share"):
            traffic.add_column(name, justify="left" if name in ("mechanism", "update") else "right")
        for mechanism, u in self.updates:
            row = (mechanism, u.kind, str(u.counters), str(u.bits), f"{u.phits:.2f}", f"{u.period:g}", f"{u.share:.1%}")
            traffic.add_row(*row)
        shape = self.shape
        head = (
            f"Dragonfly p={shape.p} a={shape.a} h={shape.h}: routers of {shape.ports} ports, "
            f"{shape.mean_vcs:.2f} VCs per input port; phits of {self.updates[0][1].phit_bits} bits, periods in cycles"
        )
        return Group(head, "", storage, traffic)


DEFAULT_THRESHOLDS = {"Base": 6, "Hybrid": 7, "ECtN": 6, "ECtN combined": 10}
"""Thresholds of Table I."""


def cost(
    shape: Shape,
    thresholds: Mapping[str, int] = DEFAULT_THRESHOLDS,
    *,
    period: int = 100,
    phit_bits: int = PHIT_BITS,
    packet_phits: int = PACKET_PHITS,
) -> Cost:
    """The costs of all mechanisms on a router."""
    notification = Notification(shape, thresholds["ECtN combined"], period, phit_bits)
    links = shape.global_links
    storage = [
        Storage(name, "counters, one per output port", shape.ports, counter_bits(thresholds[name]))
        for name in ("Base", "Hybrid", "ECtN")
    ]
    storage += [
        Storage("ECtN", "partial array, one per global link of the group", links, notification.bits),
        Storage("ECtN", "combined array", links, notification.bits),
        Storage("ECtN", "partial arrays received", (shape.a - 1) * links, notification.bits),
        Storage("PB", "saturation flags, one per global link of the group", links, 1),
    ]
    updates = [("ECtN", u) for u in (notification.full(), notification.nonempty(), notification.incremental())]
    flags = Update("flags on every packet", shape.h, shape.h, packet_phits, phit_bits)
    return Cost(shape, thresholds, storage, [*updates, ("PB", flags)])


@study.cost_model
def of_scenario(source: Document | None) -> Cost:
    """The cost on the routers of a scenario, with its mechanism's thresholds; by default for Table I."""
    if source is None:
        return cost(table_one())
    document = complete(source)
    topology = document["topology"]
    if topology["kind"] != "dragonfly":
        raise InputError(f'topology.kind = "{topology["kind"]}": the costs of section VI-B are those of a "dragonfly"')
    links = document["router"]["links"]
    vcs = {name: _vcs(links, name) for name in ("endpoint", "local", "global")}
    shape = Shape(topology["p"], topology["a"], topology["h"], vcs["endpoint"], vcs["local"], vcs["global"])
    thresholds = dict(DEFAULT_THRESHOLDS)
    own = {"contention_base": "Base", "contention_hybrid": "Hybrid", "ectn": "ECtN"}.get(document["routing"]["kind"])
    for key, name in (("threshold", own), ("combined_threshold", "ECtN combined")):
        value = document["routing"].get(key)
        if own and name and isinstance(value, int):
            thresholds[name] = value
    size = get_path(document, "traffic.packet_size.phits", PACKET_PHITS)
    period = document["routing"].get("period", 100)
    return cost(shape, thresholds, period=period, packet_phits=size)


def _vcs(links: Mapping[str, Any], name: str) -> int:
    """Virtual channels of a link class. A class that is not listed is like `default`, if that is listed."""
    return int(links.get(name, links.get("default", {})).get("vcs", ENGINE_VCS))


UPDATES = ("free", "full")
"""Partial arrays of section VI-B: free of charge, as in the paper's simulations, or sent over the local links."""


def _with_control(labels: pl.DataFrame, done: Done) -> pl.DataFrame:
    """The steady states, with the share of links that control messages use."""
    return tables.with_control(tables.steady(labels, done), labels, done)


@study.figure(
    "overhead",
    title="The traffic of ECtN's updates",
    caption="ECtN with the full partial arrays sent over the local links, and for nothing as in the paper (section "
    "VI-B).",
    table=_with_control,
)
def overhead(setting: Setting, seeds: int | None) -> list[Case]:
    """Section VI-B: ECtN with and without the traffic of its updates."""
    plans = {"UN": setting.threshold_uniform_loads, "ADV+1": setting.threshold_adversarial_loads}
    return [
        Case(
            {"mechanism": name, "pattern": pattern, "updates": updates, "load": load, "seed": seed},
            scenario(setting, name, patterns(setting)[pattern], load, seed, updates=updates),
        )
        for name in ("ECtN",)
        for pattern, loads in plans.items()
        for updates in UPDATES
        for load in loads
        for seed in seeds_of(seeds, setting.seeds)
    ]


@overhead.draw
def _overhead_charts(table: pl.DataFrame, setting: Setting) -> Charts:
    look = Look({"free": COLOURS[1], "full": COLOURS[0]}, {"free": "circle", "full": "diamond"})
    columns = [latency_and_load(rows, "updates", look, UNIT, title=pattern) for pattern, rows in by_pattern(table)]
    notes = (f"{note(setting)}; {seeds_note(table)}", "full: the partial arrays are sent over the local links")
    return {"overhead": finished(beside(*columns), "Section VI-B: ECtN's updates on the wire", notes)}


def _array() -> tuple[Check, str]:
    """The full array of Table I is 128 counters of 4 bits, about 6 phits, 6 % of a link."""
    full = Notification(table_one(), combined_threshold=10).full()
    holds = (full.counters, full.bits) == (128, 512) and int(full.phits) == 6 and int(100 * full.share) == 6
    words = f"{full.counters} counters, {full.bits} bits, {full.phits:.1f} phits, {full.share:.1%} of a local link"
    return exact(holds), words


@dataclass(frozen=True)
class Sent:
    """ECtN with its updates sent, compared with free updates at loads that are not saturated."""

    latency: list[Value]
    """Ratios of latency at loads where neither is saturated."""
    accepted: list[Value]
    """Ratios of the accepted loads."""
    gone: list[str]
    """Loads where only the first is saturated."""
    share: float
    """Measured share of the local links that updates use."""


def _sent(evidence: Evidence) -> Sent:
    curves = evidence.curves("overhead")
    latency: list[Value] = []
    accepted: list[Value] = []
    shares: list[float] = []
    gone: list[str] = []
    for pattern in ("UN", "ADV+1"):
        for load in curves.loads(mechanism="ECtN", pattern=pattern):
            where = {"mechanism": "ECtN", "pattern": pattern, "load": load}
            free, sent = ({**where, "updates": updates} for updates in UPDATES)
            if curves.saturated(**free):
                continue
            accepted.append(curves.accepted(**sent) / curves.accepted(**free))
            shares.append(nominal(curves.value("control", **sent)))
            if curves.saturated(**sent):
                gone.append(f"{pattern} {load:g}")
            else:
                latency.append(curves.latency(**sent) / curves.latency(**free))
    if not latency:
        raise NotRunError("overhead: no run of ECtN without saturation")
    return Sent(latency, accepted, gone, max(shares))


def _words(array: str, sent: Sent) -> str:
    gone = f", saturated at {', '.join(sent.gone)}" if sent.gone else ""
    return (
        f"{array}; with it sent, {sent.share:.1%} of the local links, latency {percent(sent.latency)}, accepted load "
        f"{percent(sent.accepted)}{gone}"
    )


def _first_update_traffic(evidence: Evidence) -> Judgement:
    (check, array), sent = _array(), _sent(evidence)
    return Judgement(all_of([check, exact(not sent.gone)]), _words(array, sent))


LOST = 0.02
"""Share of its throughput that ECtN may lose to its updates."""


@study.claim(
    "C18",
    figure="VI-B",
    statement="The full partial array costs about 6 phits per 100 cycles, 6 % of a link",
    paper="128 counters × 4 bit; with this traffic really sent ECtN accepts as much within 2 % at every load that it "
    "carries without",
    first=Revision(
        _first_update_traffic, "128 counters × 4 bit; with this traffic really sent no load saturates that did not"
    ),
)
def update_traffic(evidence: Evidence) -> Judgement:
    """The full array has the size given in the paper, and ECtN carries an equal load with it sent."""
    (check, array), sent = _array(), _sent(evidence)
    return Judgement(all_of([check, *(above(ratio, 1 - LOST) for ratio in sent.accepted)]), _words(array, sent))
