"""BookSim's branches for congestion control, `hotspot_reservation` and `SRP_IAR`: their settings as scenarios.

`SRP_IAR` has the Dragonfly. Its router has output buffers of whole packets for each virtual channel. Here the channels
share a buffer of the size of one of these.

N. Jiang et al. made "Network Congestion Avoidance Through Speculative Reservation" (HPCA 2012) with these branches. The
buffer of a data channel has a queue for each output of the router. A router allocates twice in a cycle, and has an
output queue of 64 flits for each output. A source has a queue for each destination.

Injection is no link in these branches: a flit sent in a cycle is in the router in the next cycle, as with
`router.links.endpoint.latency = 0` here. A packet's latency ends one cycle earlier than in Phit, where the last phit
must have arrived as a whole.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phit.base.nearest import hint
from phit.document import Document

EARLIER = 1
"""Cycles by which a packet's latency is shorter there."""

RESERVING = 5
"""Virtual channels of the reservation protocol."""

DRAGONFLY = "dragonflynew"
"""The topology of the later branch. Each kind of packets has two virtual channels there; grants share those of
acknowledgements."""

DRAGONFLY_CHANNELS = {False: 2, True: 8}
"""Virtual channels on the Dragonfly, without reservations and with them."""

NEVER = 1 << 30
"""A threshold in phits that no backlog reaches."""


class InexpressibleError(ValueError):
    """A setting that Phit cannot express: the key, its value, and the reason."""

    def __init__(self, key: str, value: str, reason: str) -> None:
        super().__init__(f"{key} = {value}: {reason}")
        self.key, self.value, self.reason = key, value, reason


FIXED: Mapping[str, tuple[str, ...]] = {
    "priority": ("other",),
    "voq": ("1",),
    "hold_switch_for_packet": ("1",),
    "cut_through": ("1",),
    "sw_allocator": ("separable_input_first",),
    "alloc_iters": ("1",),
    "internal_speedup": ("2.0", "2"),
    "topology": ("fattree", DRAGONFLY),
    "routing_function": ("nca", "min"),
    "sim_type": ("throughput",),
    "warmup_periods": ("1",),
    "no_drain": ("1",),
    "forced_warmup": ("1",),
    "res_vcs": ("1",),
    "reservation_tail_reserve": ("0",),
    "reservation_spec_vc_size": ("0",),
    "adapt_vc": ("0",),
    "aux_vc": ("1",),
    "reservation_control_overhead": ("0",),
    "reservation_walkin_overhead": ("0",),
}
"""Keys with the only values that can be expressed."""

DEFAULTS: Mapping[str, str] = {
    "hotspot_reservation": "0",
    "ECN": "0",
    "use_voq_size": "0",
    "ecn_timer_only": "1",
    "ecn_aimd": "0",
    "ecn_congestion_threshold": "40",
    "ecn_buffer_threshold": "30",
    "ecn_buffer_hysteresis": "0",
    "ecn_credit_hysteresis": "0",
    "ecn_ird_increase": "4",
    "ecn_ird_limit": "1000",
    "ird_scaling_factor": "1",
    "ird_reset_timer": "100",
    "flow_size": "1",
    "const_flits_per_packet": "1",
    "classes": "1",
    "seed": "0",
    "default_channel_latency": "5",
    "transient_enable": "0",
    "create_permanent_flows": "0",
    "reservation_packet_threshold": "64",
    "reservation_chunk_limit": "256",
    "reservation_overhead_factor": "1.05",
    "reservation_buffer_size_drop": "1",
    "reservation_queuing_drop": "1",
    "reservation_rtt": "1.0",
    "reservation_spec_off": "0",
    "reservation_spec_voq": "0",
    "reservation_post_wait": "0",
    "expiration_time": "200",
    "fast_reservation_transmit": "0",
    "fast_retransmit": "0",
}
"""Defaults of keys that rows may leave out."""

LATER_DEFAULTS: Mapping[str, str] = {
    "reservation_packet_threshold": "128",
    "reservation_overhead_factor": "1.03",
    "reservation_spec_voq": "1",
    "expiration_time": "600",
    "fast_reservation_transmit": "1",
    "output_buffer_control_size": "32",
}
"""Other defaults of the later branch, whose rows have a Dragonfly."""

READ = frozenset(
    {
        "k",
        "n",
        "vc_buf_size",
        "output_buffer_size",
        "output_buffer_control_size",
        "spec_output_buffer_size",
        "dragonfly_local_latency",
        "dragonfly_global_latency",
        "num_vcs",
        "max_samples",
        "warmup_cycles",
        "sample_period",
        "traffic",
        "injection_process",
        "injection_rate",
        "hotspot_nodes",
        "hotspot_rates",
        "hotspot_senders",
        "transient_burst",
        "transient_start",
        "transient_duration",
        "transient_granularity",
        "transient_stat_size",
    }
)
"""Further keys that are read."""

WITHOUT_EFFECT: Mapping[str, str] = {
    "vc_allocator": "with `voq` each output takes turns among all queues",
    "vc_busy_when_full": "with `cut_through` a channel needs room for the whole packet",
    "deadlock_warn_timeout": "a warning only",
    "reservation_always_succeed": "it is read and never used",
    "remove_credit_rtt": "minimal routes do not depend on credits",
    "track_routing_commitment": "minimal routes do not depend on credits",
}
"""Keys that change nothing with the values of `FIXED`, with the reason."""

KNOWN = frozenset({*FIXED, *DEFAULTS, *READ, *WITHOUT_EFFECT})
"""All keys."""

MOST_MESSAGES = 2_000_000
"""Most messages of a trace."""


def settings(text: str) -> dict[str, str]:
    """The settings of a row's column `config`: `key=value`, with spaces between them."""
    return dict(part.split("=", 1) for part in text.split())


def listed(value: str) -> list[str]:
    """The elements of a list in braces, or the value itself."""
    return [part for part in value.strip("{}").split(",") if part]


def is_branch(keys: Sequence[str]) -> bool:
    """Whether a configuration has keys that only these branches know."""
    own = {"ECN", "hotspot_reservation", "const_flits_per_packet", "flow_size", "voq"}
    return bool(own.intersection(keys))


@dataclass(frozen=True)
class Flows:
    """The messages of one class: who sends them, where to, and how many."""

    senders: Sequence[int]
    destinations: Sequence[int]
    load: float
    """Flits per cycle of each sender."""
    packets: int
    """Packets of a message."""
    start: int = 0
    """Cycle from which on they send."""
    stop: int | None = None
    """Cycle in which they stop; at the end of the run if `None`."""
    once: bool = False
    """Whether each sends a single message, in cycle `start`."""


@dataclass(frozen=True)
class Branch:
    """A configuration of one of the branches."""

    given: Mapping[str, str]

    def refusals(self) -> list[InexpressibleError]:
        """The keys that are not known here, and the values that cannot be expressed."""
        found = []
        for key, value in self.given.items():
            if key in FIXED and value not in FIXED[key]:
                expected = f"cannot be expressed; expected {' or '.join(FIXED[key])}"
                found.append(InexpressibleError(key, value, expected))
            elif key not in KNOWN:
                reason = f"not known as a key of these branches{hint(key, sorted(KNOWN))}"
                found.append(InexpressibleError(key, value, reason))
        return found

    def __getitem__(self, key: str) -> str:
        value = self.given.get(key, {**DEFAULTS, **(LATER_DEFAULTS if self.is_dragonfly else {})}.get(key))
        if value is None:
            raise InexpressibleError(key, "(not given)", "expected a value")
        return value

    def whole(self, key: str) -> int:
        """A whole number."""
        return int(self._number(key, self[key]))

    def _number(self, key: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InexpressibleError(key, text, "expected a number") from None
        if not 0 <= value < 1 << 31:
            raise InexpressibleError(key, text, "expected a number from 0 to 2147483647")
        return value

    def numbers(self, key: str) -> list[float]:
        """The numbers of a list, or a single one."""
        return [self._number(key, part) for part in listed(self[key])]

    @property
    def endpoints(self) -> int:
        """Endpoints of the network."""
        k = self.whole("k")
        endpoints: int = 2 * k * k * (2 * k * k + 1) if self.is_dragonfly else k ** self.whole("n")
        return endpoints

    @property
    def is_dragonfly(self) -> bool:
        """Whether the topology is the Dragonfly of the later branch."""
        return self.given.get("topology") == DRAGONFLY

    @property
    def notifies(self) -> bool:
        """Whether ECN is on."""
        return self["ECN"] == "1"

    @property
    def changes(self) -> bool:
        """Whether the traffic changes during the run."""
        return self["transient_enable"] == "1"

    @property
    def reserves(self) -> bool:
        """Whether some messages are large enough to make a reservation."""
        largest = max(self.numbers("flow_size")) * self.whole("const_flits_per_packet")
        return self["hotspot_reservation"] == "1" and largest >= self.whole("reservation_packet_threshold")

    def _check_reservations(self) -> None:
        """Refuses settings of the reservation protocol with a fault of the program that Phit does not have."""
        sizes = [packets * self.whole("const_flits_per_packet") for packets in self.numbers("flow_size")]
        small = min(sizes) < self.whole("reservation_packet_threshold")
        if small and self["fast_reservation_transmit"] == "1":
            reason = "with messages of both kinds, messages without a reservation stop their sources for good"
            raise InexpressibleError("reservation_packet_threshold", self["reservation_packet_threshold"], reason)

    def scenario(self, *, drawn: bool = True) -> Document:
        """The scenario, whose seed draws the messages that a pattern cannot describe; without them if not `drawn`."""
        for refusal in self.refusals():
            raise refusal
        if self.whole("max_samples") < 2 and not self.changes:
            raise InexpressibleError("max_samples", self["max_samples"], "measures the warm-up; expected 2")
        if self.reserves:
            self._check_reservations()
        self._check_topology()
        return {
            "topology": self._topology(),
            "router": self._router(),
            "routing": "minimal",
            "queueing": {"kind": "voqsw", "memory": "shared"},
            "congestion": self._congestion(),
            "traffic": self._traffic(drawn),
            "measure": {
                "warmup": self.whole("warmup_cycles"),
                "cycles": self.whole("sample_period"),
                "endpoints": True,
            },
        }

    def _check_topology(self) -> None:
        """Refuses routing functions of other topologies, and ECN on the Dragonfly."""
        if self.is_dragonfly and self.notifies:
            raise InexpressibleError("ECN", self["ECN"], "its notifications share virtual channels with data there")
        fitting = "min" if self.is_dragonfly else "nca"
        given = self.given.get("routing_function", fitting)
        if given != fitting:
            raise InexpressibleError("routing_function", given, f"expected {fitting} with this topology")

    def _topology(self) -> Document:
        if self.is_dragonfly:
            k = self.whole("k")
            return {"kind": "dragonfly", "p": k, "a": 2 * k, "h": k, "arrangement": "consecutive"}
        arity, levels = self.whole("k"), self.whole("n")
        if levels == 1:
            return {"kind": "single", "endpoints": arity}
        return {"kind": "k_ary_n_tree", "arity": arity, "levels": levels}

    def _router(self) -> Document:
        # The channels of the reservation protocol stay empty where no message is large enough.
        reserving = self["hotspot_reservation"] == "1"
        expected = RESERVING if reserving else 2 if self.notifies else 1
        if self.is_dragonfly:
            expected = DRAGONFLY_CHANNELS[reserving]
        if self.whole("num_vcs") != expected:
            raise InexpressibleError("num_vcs", self["num_vcs"], f"expected {expected}, as voq needs")
        room = self.whole("vc_buf_size")
        link = {"vcs": RESERVING if self.reserves else 2 if self.notifies else 1, "buffer": room}
        ends: Document = {**link, "latency": 0, "injection_credit_latency": 5, "ejection_latency": 5}
        # Credits take five cycles there. Here a flit stays at its endpoint for one of them.
        ends["credit_latency"] = 4
        if self.reserves:
            # A speculative packet is dropped if much is on its way to its endpoint, too.
            ends["ejection_buffer"] = room
        allocator = {"kind": "separable_input_first", "among": "outputs"}
        router: Document = {
            "latency": 2,
            "allocator": allocator,
            "switching": "wormhole",
            "flit_size": 1,
            "vc_allocation": "stage",
            "vc_eligible": "with_packet_room",
            "connection": "packet",
            "cut_through": "neither",
            "clock": "crossbar",
            "speedup": 2,
            "output_buffer": self.whole("output_buffer_size"),
            "output_room": "crossed",
            "credit_channel": "unlimited" if self.is_dragonfly else "one_per_cycle",
            "links": {"default": {**link, "latency": self.whole("default_channel_latency")}, "endpoint": ends},
        }
        if self.is_dragonfly:
            router |= self._dragonfly_router(link, ends)
        elif self.reserves or self.notifies:
            router["control_buffer"] = self.whole("output_buffer_size")
            router |= {"control_crossing": "beside", "control_room": "both"}
        if self.reserves:
            allocator["priority"] = "class"
        return router

    def _dragonfly_router(self, link: Document, ends: Document) -> Document:
        """What differs in the later branch: output buffers of whole packets, and links from endpoints."""
        packets = self.whole("output_buffer_size") * self.whole("const_flits_per_packet")
        router: Document = {
            "output_buffer": packets,
            "output_order": "packets",
            "links": {
                "local": {**link, "vcs": 2 * link["vcs"], "latency": self.whole("dragonfly_local_latency")},
                "global": {**link, "latency": self.whole("dragonfly_global_latency")},
                "endpoint": {
                    **ends,
                    "latency": 1,
                    "injection_credit_latency": 1,
                    "ejection_latency": 1,
                    "credit_latency": 0,
                },
            },
        }
        if self.reserves:
            router["control_buffer"] = self.whole("output_buffer_control_size")
        return router

    def _reservations(self) -> Document:
        def flag(key: str) -> bool:
            if self[key] not in ("0", "1"):
                raise InexpressibleError(key, self[key], "expected 0 or 1")
            return self[key] == "1"

        return {
            "kind": "srp",
            "time_to_live": self.whole("expiration_time"),
            "expiry": "queueing" if flag("reservation_queuing_drop") else "since_sending",
            "estimate": flag("reservation_buffer_size_drop"),
            "round_trip": self.is_dragonfly,
            "yields": self.is_dragonfly,
            "in_flight": 2 * self.whole("default_channel_latency"),
            "overhead": self._number("reservation_overhead_factor", self["reservation_overhead_factor"]),
            "chunk": self.whole("reservation_chunk_limit"),
            "least": self.whole("reservation_packet_threshold"),
            "deduction": self._number("reservation_rtt", self["reservation_rtt"]),
            "speculation": not flag("reservation_spec_off"),
            "sorted": flag("reservation_spec_voq"),
            "reservations": "with_data" if flag("fast_reservation_transmit") else "in_turn",
            "resend": flag("fast_retransmit"),
            "post_wait": flag("reservation_post_wait"),
            "late_refusals": "send",
            "injection": "link" if self.is_dragonfly else "beside",
        }

    def _congestion(self) -> Document:
        if self.reserves:
            return self._reservations()
        if not self.notifies:
            # Without marks a control only gives each source a queue for each destination.
            return {"kind": "ecn", "threshold": NEVER, "turns": "numbers"}
        for key in ("use_voq_size", "ecn_timer_only"):
            if self[key] != "1":
                raise InexpressibleError(key, self[key], "cannot be expressed; expected 1")
        return {
            "kind": "ecn",
            "threshold": self.whole("ecn_congestion_threshold"),
            "hysteresis": self.whole("ecn_buffer_hysteresis"),
            "root_threshold": self.whole("ecn_buffer_threshold"),
            "root_hysteresis": self.whole("ecn_credit_hysteresis"),
            "increase": self.whole("ecn_ird_increase"),
            "doubling": self["ecn_aimd"] == "1",
            "limit": self.whole("ecn_ird_limit"),
            "delay": self.whole("ird_scaling_factor"),
            "timer": self.whole("ird_reset_timer"),
            "channels": "own",
            "injection": "beside",
            "turns": "numbers",
            "counting": "while_delayed",
        }

    def _traffic(self, drawn: bool) -> Document:
        classes = self.flows()
        size = self.whole("const_flits_per_packet")
        if self["create_permanent_flows"] == "1":
            return {"load": 0.0, "packet_size": size, "trace": self._once(classes, size)}
        if len(classes) > 1:
            messages = self.messages(classes, size) if drawn else []
            return {"load": 0.0, "packet_size": size, "trace": messages}
        (flows,) = classes
        found: Document = {"load": flows.load, "packet_size": size}
        if self["traffic"] == "uniform":
            found["pattern"] = {"kind": "uniform", "include_self": True}
        else:
            hot = {"kind": "hotspot", "targets": list(flows.destinations), "share": 1.0}
            found["pattern"] = {"kind": "by_endpoint", "parts": [{"endpoints": list(flows.senders), "pattern": hot}]}
        if flows.packets > 1:
            found["message"] = {"packets": flows.packets}
        return found

    def flows(self) -> list[Flows]:
        """The classes of traffic."""
        traffic, rates = listed(self["traffic"]), self.numbers("injection_rate")
        packets = [int(number) for number in self.numbers("flow_size")]
        count = self.whole("classes")
        if not len(traffic) == len(rates) == len(packets) == count:
            expected = "expected as many of traffic, injection_rate and flow_size"
            raise InexpressibleError("classes", self["classes"], expected)
        everyone = range(self.endpoints)
        hot = self._endpoints("hotspot_nodes") if "hotspot_nodes" in self.given else []
        senders = self._endpoints("hotspot_senders") if "hotspot_senders" in self.given else []
        found = []
        for pattern, load, each in zip(traffic, rates, packets, strict=True):
            if pattern == "uniform":
                found.append(Flows(everyone, everyone, load, each))
            elif pattern == "noself_hotspot":
                found.append(Flows(senders, hot, load, each, *self._change()))
            elif pattern == "background_uniform":
                others = [endpoint for endpoint in everyone if endpoint not in hot]
                found.append(Flows(self._background(senders, hot), others, load, each))
            else:
                expected = "expected uniform, noself_hotspot or background_uniform"
                raise InexpressibleError("traffic", pattern, expected)
        return found

    def _change(self) -> tuple[int, int | None, bool]:
        """When the hot spot begins and stops, and whether each sender has a single message."""
        if not self.changes:
            return 0, None, False
        start = self.whole("transient_start")
        return start, start + self.whole("transient_duration"), self["transient_burst"] == "1"

    def _background(self, senders: Sequence[int], hot: Sequence[int]) -> list[int]:
        """The senders of the background: with the process `background` those that are in no list."""
        processes = listed(self["injection_process"])
        beside = "background" in processes
        return [e for e in range(self.endpoints) if not beside or (e not in senders and e not in hot)]

    def _endpoints(self, key: str) -> list[int]:
        found = [int(number) for number in self.numbers(key)]
        for endpoint in found:
            if endpoint >= self.endpoints:
                raise InexpressibleError(key, str(endpoint), f"expected endpoints below {self.endpoints}")
        return found

    def _once(self, classes: Sequence[Flows], size: int) -> list[list[int]]:
        """A message of every sender to each destination, in cycle 0."""
        return [
            [0, source, to, flows.packets * size]
            for flows in classes
            for source in flows.senders
            for to in flows.destinations
        ]

    def messages(self, classes: Sequence[Flows], size: int) -> list[list[int]]:
        """Messages by Bernoulli trials in every cycle, until the end of the measured time."""
        end = self.whole("warmup_cycles") + self.whole("sample_period")
        rng = random.Random(self["seed"])
        found = []
        expected = sum(len(f.senders) * f.load * end / (f.packets * size) for f in classes)
        if expected > MOST_MESSAGES:
            raise InexpressibleError("classes", self["classes"], f"a trace of {expected:.0f} messages is too long")
        for flows in classes:
            phits = flows.packets * size
            for source in flows.senders:
                cycles = [flows.start] if flows.once else trials(rng, flows.load / phits, end)
                stop = end if flows.stop is None else flows.stop
                cycles = [cycle for cycle in cycles if flows.start <= cycle < stop]
                found += [[cycle, source, rng.choice(flows.destinations), phits] for cycle in cycles]
        found.sort()
        return found


def trials(rng: random.Random, probability: float, end: int) -> list[int]:
    """The cycles before `end` in which a trial succeeds."""
    if probability >= 1:
        return list(range(end))
    found, cycle, scale = [], -1, math.log1p(-probability) if probability > 0 else 0.0
    while scale:
        cycle += 1 + int(math.log(1.0 - rng.random()) / scale)
        if cycle >= end:
            break
        found.append(cycle)
    return found


def with_seed(config: Mapping[str, str], seed: int) -> dict[str, Any]:
    """The scenario of a configuration with another seed."""
    return {"seed": seed, **Branch({**config, "seed": str(seed)}).scenario()}
